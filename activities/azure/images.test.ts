import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass, hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
import { imageDefinitions, resolveImageFamily } from './images.ts'
import { nodeClassSettings } from './node-class-settings.ts'

interface ImageCase {
  readonly name: string
  readonly imageFamily: string
  readonly kubernetesVersion: string
  readonly useSIG: boolean
  readonly fips: boolean
  readonly trustedLaunch: boolean
  readonly effectiveFamily: string
  readonly images: readonly { readonly id: string }[] | null
}

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})

function resolve({
  imageFamily,
  kubernetesVersion,
  fips,
  trustedLaunch,
}: Omit<ImageCase, 'name' | 'useSIG' | 'effectiveFamily' | 'images'>) {
  const settings = nodeClassSettings(
    goldenNodeClass({
      ...(imageFamily === '' ? {} : { imageFamily }),
      ...(fips ? { fipsMode: 'FIPS' } : {}),
      ...(trustedLaunch ? { security: { trustedLaunch: { vtpm: true } } } : {}),
    }),
    config,
  )
  const family = resolveImageFamily(settings, kubernetesVersion)
  return { family, definitions: imageDefinitions(settings, family).map(({ name, gallery }) => `${gallery}/${name}`) }
}

describe('the image of a family', () => {
  it.each([
    ['Ubuntu', '1.33.4', false, 'Ubuntu2204'],
    ['Ubuntu', '1.34.0', false, 'Ubuntu2404'],
    ['Ubuntu', '1.36.3', true, 'Ubuntu2204'],
    ['AzureLinux', '1.31.9', false, 'AzureLinux2'],
    ['AzureLinux', '1.32.0', false, 'AzureLinux3'],
  ])('%s on %s (trusted launch: %s) is %s', (imageFamily, kubernetesVersion, trustedLaunch, family) => {
    expect(resolve({ imageFamily, kubernetesVersion, fips: false, trustedLaunch }).family).toBe(family)
  })

  it.skipIf(!hasGoldenCases)('is that of the reference, from community galleries', () => {
    const { cases } = readGolden('vectors/image-resolution.json') as { readonly cases: readonly ImageCase[] }
    for (const golden of cases.filter(({ useSIG }) => !useSIG)) {
      const { family, definitions } = resolve(golden)
      const expected = (golden.images ?? []).map(({ id }) => {
        const [, , gallery, , definition] = id.split('/')
        return `${gallery}/${definition}`
      })
      expect({ name: golden.name, family, definitions }).toEqual({
        name: golden.name,
        family: golden.effectiveFamily,
        definitions: expected,
      })
    }
  })
})
