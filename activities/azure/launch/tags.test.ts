import { describe, expect, it } from 'vitest'
import { inPlaceUpdateHash } from '../../../core/in-place-update-hash.ts'
import { annotations, labels } from '../../../core/labels.ts'
import { type GoldenOptions, goldenConfig, goldenNodeClass } from '../../../test/golden-cases.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
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

describe('tags and their hash', () => {
  const { cases } = readVectors('azure/vm-create') as {
    readonly cases: readonly CreateCase[]
  }
  const created = cases.filter(({ expected }) => expected !== undefined)

  it.each(created)('are as upstream: $name', ({ region, options, nodeClass, nodeClaim, expected }) => {
    const config = goldenConfig(region, options)
    const settings = nodeClassSettings(goldenNodeClass(nodeClass.defaultedSpec), config)
    const tags = nodeTags(config, settings, nodeClaim.metadata.labels?.[labels.nodePool])
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
