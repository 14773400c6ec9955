import { describe, expect, it } from 'vitest'
import { inPlaceUpdateHash } from '../../../core/node-class/in-place-update-hash.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { type GoldenOptions, goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { mergedTags, nodeTags, tagKeys, tagOf } from './tags.ts'

type Tags = Readonly<Record<string, string>>

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
    'Karpenter.Azure.com_cluster',
    'karpenter.sh/nodepool',
    'KARPENTER.SH_NODEPOOL',
    'Joiner.sh/attempt',
    'compute.aks.billing',
    'Compute.AKS.Billing',
  ])('never say whose a VM is: %s', (name) => {
    expect(tagsOf({ [name]: 'other' })).toEqual(cluster)
  })

  it('are kept otherwise, also where every object has such a name', () => {
    expect(tagsOf({ 'team/a': 'b', constructor: 'c' })).toEqual({ ...cluster, team_a: 'b', constructor: 'c' })
  })
})

describe('tags of a class and of the settings', () => {
  const tagsOf = (additionalTags: Readonly<Record<string, string>>, tags: Readonly<Record<string, string>>) => {
    const {
      'karpenter.azure.com_cluster': _cluster,
      'compute.aks.billing': _billing,
      ...rest
    } = nodeTags({ additionalTags, clusterName: 'mine' }, { tags }, undefined)
    return rest
  }

  it.each<[string, Tags, Tags, Tags]>([
    ['both count', { a: '1' }, { b: '2' }, { a: '1', b: '2' }],
    ['that of the class counts', { a: '1' }, { a: '2' }, { a: '2' }],
    ['also in another case, and it alone', { Owner: '1' }, { owner: '2' }, { owner: '2' }],
    ['also with a slash', { team_a: '1' }, { 'Team/A': '2' }, { Team_A: '2' }],
  ])('%s', (_what, additional, own, expected) => {
    expect(tagsOf(additional, own)).toEqual(expected)
  })
})

describe('a tag', () => {
  it.each<[string, Tags | undefined, string | undefined]>([
    ['by its name', { 'joiner.sh_nodeclaim-uid': 'a' }, 'a'],
    ['by its name in another case', { 'Joiner.sh_NodeClaim-UID': 'a' }, 'a'],
    ['by its own name first', { 'Joiner.sh_NodeClaim-UID': 'b', 'joiner.sh_nodeclaim-uid': 'a' }, 'a'],
    ['that is not there', { 'joiner.sh_nodeclaim': 'a' }, undefined],
    ['of a resource without tags', undefined, undefined],
  ])('is found %s', (_how, tags, value) => {
    expect(tagOf(tags, tagKeys.claimUid)).toBe(value)
  })

  it('of a higher layer replaces its twins of lower ones', () => {
    expect(mergedTags({ A: '1', B: '2' }, { a: '3' }, { A: '4', b: '5' })).toEqual({ A: '4', b: '5' })
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
