import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleMeta, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import type { Condition, NodeClass } from '../objects.ts'
import { type AzureDriftView, azureDrift } from './azure-drift.ts'

const hash = 'karpenter.azure.com/aksnodeclass-hash'
const version = 'karpenter.azure.com/aksnodeclass-hash-version'
const identity = 'kubernetes.azure.com/kubelet-identity-client-id'
const image = '/CommunityGalleries/g/images/2404gen2containerd/versions/1'

interface Change {
  readonly claim?: Parameters<typeof sampleClaim>[1]
  readonly annotations?: Readonly<Record<string, string>>
  readonly classAnnotations?: Readonly<Record<string, string>>
  readonly status?: Partial<NodeClass['status']>
  readonly node?: Parameters<typeof sampleNode>[1] | 'none'
  readonly view?: Partial<AzureDriftView>
}

const seenAt = (observedGeneration: number, status: Condition['status'] = 'True'): readonly Condition[] =>
  ['KubernetesVersionReady', 'ImagesReady'].map((type) => ({ type, status, observedGeneration }))

/** A node that matches its class, with a test's changes. */
function view({ claim, annotations, classAnnotations, status, node, view: change }: Change = {}): AzureDriftView {
  const nodeClass: NodeClass = {
    kind: 'AKSNodeClass',
    metadata: sampleMeta('general', {
      generation: 3,
      annotations: classAnnotations ?? { [hash]: '1', [version]: 'v3' },
    }),
    spec: {},
    status: {
      images: [{ id: image, requirements: [] }],
      kubernetesVersion: '1.34.2',
      conditions: seenAt(3),
      ...status,
    },
  }
  return {
    claim: sampleClaim('n', {
      metadata: {
        labels: { 'karpenter.sh/nodepool': 'default' },
        annotations: annotations ?? { [hash]: '1', [version]: 'v3' },
        ...claim?.metadata,
      },
      status: { imageId: image, ...claim?.status },
    }),
    nodePool: samplePool(),
    nodeClass,
    node:
      node === 'none'
        ? undefined
        : sampleNode('n', { kubeletVersion: 'v1.34.2', metadata: { labels: { [identity]: 'id-1' } }, ...node }),
    kubeletIdentityClientId: 'id-1',
    ...change,
  }
}

const isDeleting = { deletionTimestamp: '2026-01-02T00:00:00Z' }
const other = { [hash]: '2', [version]: 'v3' }
const newImages = { images: [{ id: image.replace(/1$/, '2'), requirements: [] }] }

describe('drift of an AKS machine (reference/azure-provider.md 8.1)', () => {
  const community = '/CommunityGalleries/AKSUbuntu-38d80f77/images/2404gen2containerd/versions/202610.20.0'
  const shared =
    '/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2404gen2containerd/versions/202610.20.0'
  const annotations = { [hash]: '1', [version]: 'v3', 'karpenter.azure.com/aks-machine-resource-id': 'id' }

  it.each([
    ['the community gallery', community, '202610.20.0', 'none'],
    ['the shared gallery', shared, '202610.20.0', 'none'],
    ['the community gallery', community, '202604.10.0', 'drifted'],
  ])('compares its node image with %s', (_where, id, own, kind) => {
    const imageId = `AKSUbuntu-2404gen2containerd-${own}`
    const seen = view({ annotations, claim: { status: { imageId } }, status: { images: [{ id, requirements: [] }] } })
    expect(azureDrift(seen).kind).toBe(kind)
  })

  const inShared = {
    annotations,
    claim: { status: { imageId: 'AKSUbuntu-2404gen2containerd-202610.20.0' } },
    status: { images: [{ id: shared, requirements: [] }] },
  }

  it.each([
    ['Synced', { kind: 'none' }],
    [undefined, { kind: 'none' }],
    ['Recreate', { kind: 'drifted', reason: 'ClusterConfigDrift' }],
  ])('AKS says %s about the machine', (machineDriftAction, expected) => {
    expect(azureDrift(view({ ...inShared, view: { machineDriftAction } }))).toMatchObject(expected)
  })

  it('what AKS says of machines means nothing for a VM, nor does the identity of kubelets for a machine', () => {
    expect(azureDrift(view({ view: { machineDriftAction: 'Recreate' } })).kind).toBe('none')
    expect(azureDrift(view({ ...inShared, view: { kubeletIdentityClientId: 'id-2' } })).kind).toBe('none')
  })
})

describe('drift from an AKSNodeClass (reference/azure-provider.md 8.1)', () => {
  it.each<[string, Change]>([
    ['a node as its class asks for', {}],
    ['a claim without a pool', { claim: { metadata: { labels: {} } }, annotations: other }],
    ['a pool that is gone', { view: { nodePool: undefined }, annotations: other }],
    ['a class that is gone', { view: { nodeClass: undefined }, annotations: other }],
    ['hashes of two versions', { annotations: { [hash]: '2', [version]: 'v2' } }],
    ['a claim without a hash', { annotations: { [version]: 'v3' } }],
    ['a claim without a version of its hash', { annotations: { [hash]: '2' } }],
    ['a class without a hash', { annotations: other, classAnnotations: { [version]: 'v3' } }],
    ['a class without a version of its hash', { annotations: other, classAnnotations: { [hash]: '1' } }],
    ['neither with a version', { annotations: { [hash]: '2' }, classAnnotations: { [hash]: '1' } }],
    ['a version of an earlier spec', { status: { kubernetesVersion: '1.35.0', conditions: seenAt(2) } }],
    ['a version that is not ready', { status: { kubernetesVersion: '1.35.0', conditions: seenAt(3, 'False') } }],
    ['no version', { status: { kubernetesVersion: '' } }],
    ['a Node that is not there yet', { node: 'none', status: { kubernetesVersion: '1.35.0' } }],
    [
      'a Node that is being deleted',
      {
        node: { metadata: isDeleting },
        status: { kubernetesVersion: '1.35.0' },
        view: { kubeletIdentityClientId: '2' },
      },
    ],
    ['a Node that says no version', { node: { kubeletVersion: '' } }],
    ['a Node without the label of the identity', { node: { kubeletVersion: 'v1.34.2', metadata: { labels: {} } } }],
    ['a Node with an empty one', { node: { kubeletVersion: 'v1.34.2', metadata: { labels: { [identity]: '' } } } }],
    ['an identity that is not configured', { view: { kubeletIdentityClientId: '' } }],
    ['images of an earlier spec', { status: { ...newImages, conditions: seenAt(2) } }],
    ['images that are not ready', { status: { ...newImages, conditions: seenAt(3, 'Unknown') } }],
    ['an image id in other letters', { claim: { status: { imageId: image.toUpperCase() } } }],
  ])('%s is none', (_, change) => {
    expect(azureDrift(view(change))).toEqual({ kind: 'none' })
  })

  it('is none of a class that is being deleted', () => {
    const { nodeClass, ...rest } = view({ annotations: other })
    if (nodeClass === undefined) throw new Error('no class')
    const deleting = { ...nodeClass, metadata: { ...nodeClass.metadata, ...isDeleting } }
    expect(azureDrift({ ...rest, nodeClass: deleting })).toEqual({ kind: 'none' })
  })

  it.each<[string, Change, string, RegExp]>([
    ['another hash', { annotations: other }, 'NodeClassDrift', /AKSNodeClass general/],
    ['an older kubelet', { status: { kubernetesVersion: '1.35.0' } }, 'K8sVersionDrift', /1\.34\.2.*1\.35\.0/],
    ['a newer kubelet', { status: { kubernetesVersion: '1.33.9' } }, 'K8sVersionDrift', /1\.34\.2.*1\.33\.9/],
    ['another identity', { view: { kubeletIdentityClientId: 'id-2' } }, 'KubeletIdentityDrift', /id-1.*id-2/],
    ['another image', { status: newImages }, 'ImageDrift', /versions\/1/],
    ['another image before the Node is there', { node: 'none', status: newImages }, 'ImageDrift', /versions\/1/],
    ['another hash after an edit', { annotations: other, status: { conditions: seenAt(2) } }, 'NodeClassDrift', /spec/],
  ])('%s is %s', (_, change, reason, message) => {
    const drift = azureDrift(view(change))
    expect(drift).toMatchObject({ kind: 'drifted', reason })
    expect(drift.kind === 'drifted' && drift.message).toMatch(message)
  })

  it.each<[string, Change, RegExp]>([
    ['without a provider id', { claim: { status: { providerId: undefined as never } } }, /providerID/],
    ['without an image id', { claim: { status: { imageId: '' } } }, /imageID/],
    ['without images of its class', { status: { images: [] } }, /status.images is empty/],
  ])('cannot be determined for a claim %s', (_, change, message) => {
    const drift = azureDrift(view(change))
    expect(drift.kind === 'unknown' && drift.message).toMatch(message)
  })

  it('is told by the first difference', () => {
    const all = {
      annotations: other,
      status: { kubernetesVersion: '1.35.0', ...newImages },
      view: { kubeletIdentityClientId: 'id-2' },
    }
    const reasons = [
      all,
      { ...all, annotations: { [hash]: '1', [version]: 'v3' } },
      { ...all, annotations: { [hash]: '1', [version]: 'v3' }, status: newImages },
      { status: newImages },
    ].map((change) => azureDrift(view(change)))
    expect(reasons.map((drift) => drift.kind === 'drifted' && drift.reason)).toEqual([
      'NodeClassDrift',
      'K8sVersionDrift',
      'KubeletIdentityDrift',
      'ImageDrift',
    ])
  })
})
