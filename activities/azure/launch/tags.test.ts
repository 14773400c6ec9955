import { describe, expect, it } from 'vitest'
import { inPlaceUpdateHash } from '../../../core/node-class/in-place-update-hash.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { type GoldenOptions, goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { nodeTags } from './tags.ts'

interface CreateCase {
  readonly name: string
  readonly region: string
  readonly options: GoldenOptions
  readonly nodeClass: { readonly defaultedSpec: Readonly<Record<string, unknown>> }
  readonly nodeClaim: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }
  readonly expected?: {
    readonly vm: { readonly tags: Readonly<Record<string, string>> }
    readonly returnedNodeClaim: { readonly annotations: Readonly<Record<string, string>> }
  }
}

describe('tags of users', () => {
  const cluster = { 'karpenter.azure.com_cluster': 'mine', 'compute.aks.billing': 'linux' }
  const tagsOf = (tags: Readonly<Record<string, string>>) =>
    nodeTags({ additionalTags: tags, clusterName: 'mine' }, { tags }, undefined)

  it.each([
    'karpenter.azure.com_aksmachine_nodeclaim',
    'karpenter.azure.com/aksmachine_nodeclaim',
    'KARPENTER.AZURE.COM_AKSMACHINE_NODECLAIM',
    'joiner.sh/cluster-uid',
    'Joiner.sh_nodeclaim-uid',
    'joiner.sh_abandoned',
    'karpenter.azure.com/cluster',
    'compute.aks.billing',
  ])('never say whose a VM is: %s', (name) => {
    expect(tagsOf({ [name]: 'other' })).toEqual(cluster)
  })

  it('are kept otherwise, also where every object has such a name', () => {
    expect(tagsOf({ 'team/a': 'b', constructor: 'c' })).toEqual({ ...cluster, team_a: 'b', constructor: 'c' })
  })
})

describe('tags and their hash', () => {
  const { cases } = readVectors('azure/vm-create') as {
    readonly cases: readonly CreateCase[]
  }
  const created = cases.filter(({ expected }) => expected !== undefined)

  it.each(created)('are as upstream: $name', ({ region, options, nodeClass, nodeClaim, expected }) => {
    const config = goldenConfig(region, options)
    const { spec } = goldenNodeClass(nodeClass.defaultedSpec)
    const tags = nodeTags(config, spec, nodeClaim.metadata.labels?.[labels.nodePool])
    expect(tags).toEqual(expected?.vm.tags)
    expect(inPlaceUpdateHash({ identities: config.nodeIdentities, tags })).toBe(
      expected?.returnedNodeClaim.annotations[annotations.inPlaceUpdateHash],
    )
  })

  it('are of several kinds', () => {
    const hashes = created.map(({ expected }) => expected?.returnedNodeClaim.annotations[annotations.inPlaceUpdateHash])
    expect(new Set(hashes).size).toBeGreaterThan(3)
  })
})
