import { describe, expect, it } from 'vitest'
import { Pauses } from '../../core/pauses/pauses.ts'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
} from '../../test/samples/sample-objects.ts'
import { plainText } from '../document/text.ts'
import type { NodePicture } from '../picture/node-picture.ts'
import { stillHeldUpBy } from './drain-story.ts'
import { nodeDocument, nodeReport } from './node-report.ts'

const now = Date.parse('2026-01-02T00:00:00Z')

function running(name: string, annotations: Readonly<Record<string, string>> = {}) {
  return samplePod(name, {
    nodeName: 'n1',
    phase: 'Running',
    conditions: [],
    metadata: { namespace: 'shop', labels: { app: name }, annotations, ...ownedBy('ReplicaSet') },
  })
}

const facts: NodePicture = {
  now,
  node: sampleNode('n1'),
  pool: samplePool(),
  pods: [],
  budgets: [
    {
      kind: 'PodDisruptionBudget',
      metadata: sampleMeta('web', { namespace: 'shop' }),
      selector: { matchLabels: { app: 'web' } },
      minAvailable: 2,
      disruptionsAllowed: 0,
      healthy: 2,
      wanted: 2,
      pods: 2,
    },
  ],
  pauses: new Pauses([]),
  events: [],
}

describe('why node on a node that is being drained', () => {
  const draining = sampleClaim('n1', {
    metadata: { labels: { 'karpenter.sh/nodepool': 'default' }, deletionTimestamp: '2026-01-01T23:58:00Z' },
    status: {
      conditions: [
        ...['Launched', 'Registered', 'Initialized'].map((type) => sampleCondition(type)),
        { ...sampleCondition('DisruptionReason'), reason: 'Drifted' },
        {
          ...sampleCondition('Drained', 'Unknown'),
          reason: 'Draining',
          message: '1 pods are waiting to be evicted: ..., since 2026-01-01T23:58:05Z',
        },
      ],
    },
  })
  const attachment = {
    kind: 'VolumeAttachment' as const,
    metadata: sampleMeta('csi-1'),
    nodeName: 'n1',
    persistentVolumeName: 'pv-1',
  }
  const story = (change: Partial<NodePicture> = {}) => {
    const drain = { evicted: ['shop/a', 'shop/b'], attachments: [attachment] }
    return plainText(
      nodeDocument(nodeReport({ ...facts, claim: draining, drain, pods: [running('web')], ...change }), now),
    ).split('\n')
  }

  it('tells what was evicted, what holds it, and the remedy for a budget before force-finish', () => {
    const lines = story()
    const at = lines.indexOf('its drain:')
    expect(lines.slice(at, at + 6)).toEqual([
      'its drain:',
      '  draining since 2026-01-01T23:58:00Z (Drifted)',
      '  evicted 2 pods: shop/a, shop/b',
      '  1 pod to be evicted: shop/web',
      '  1 volume attached: pv-1 (csi-1)',
      '  Drained: 1 pods are waiting to be evicted: ..., since 2026-01-01T23:58:05Z',
    ])
    const remedies = lines.slice(lines.indexOf('what would let it go:') + 1)
    expect(remedies[0]).toMatch(/PodDisruptionBudget shop\/web \(minAvailable 2\).* none may go; let more of its pods/)
    expect(remedies[1]).toBe('  as a last resort, without eviction: joiner node force-finish n1-claim --reason WHY')
  })

  it('names protected pods, and volumes once the pods are gone', () => {
    const guarded = running('guarded', { 'karpenter.sh/do-not-disrupt': 'true' })
    expect(story({ pods: [guarded], budgets: [] }).join('\n')).toContain(
      'kubectl annotate pod --namespace shop guarded karpenter.sh/do-not-disrupt-\n  as a last resort',
    )
    expect(story({ pods: [] }).join('\n')).toContain('kubectl describe volumeattachment csi-1')
    expect(story({ pods: [], drain: { evicted: [] } }).join('\n')).not.toContain('force-finish')
  })

  it('takes of what its lifecycle waits for what the cluster still shows', () => {
    const pods = [
      running('web'),
      running('guarded', { 'karpenter.sh/do-not-disrupt': 'true' }),
      { ...running('going'), metadata: { ...running('going').metadata, deletionTimestamp: '2026-01-02T00:00:20Z' } },
    ]
    const budget = (pod: string) => `evicting pod violates a PDB (Pod=shop/${pod}, PodDisruptionBudget=[shop/web])`
    const on = (...whats: readonly string[]) => whats.map((what) => ({ what, sinceMs: now }))
    const still = (drain: NodePicture['drain'], ...whats: readonly string[]) =>
      stillHeldUpBy({ on: on(...whats), more: 9 }, { ...facts, claim: draining, pods, ...(drain && { drain }) })
    const kept = [
      budget('web'),
      'pod shop/guarded has the annotation karpenter.sh/do-not-disrupt',
      'pod shop/going is terminating',
      'VolumeAttachment csi-1 of PersistentVolume pv-1 is not detached',
    ]
    const over = [budget('gone'), budget('going'), 'pod shop/web has the annotation karpenter.sh/do-not-disrupt']
    const attached = { evicted: [], attachments: [attachment] }
    expect(still(attached, ...kept, ...over)).toEqual({ on: on(...kept), more: 0 })
    expect(still(attached, budget('gone'))).toEqual({ on: [], more: 4 })
    // Volumes could not be read.
    expect(still({ evicted: [] }, ...kept.slice(2))).toEqual({ on: on(...kept.slice(2)), more: 1 })
  })
})
