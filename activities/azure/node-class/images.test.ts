import { describe, expect, it } from 'vitest'
import type { ImageTable } from '../../../test/vectors/azure-tables.ts'
import { goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { newestImages, newestOfShared } from './image-versions.ts'
import {
  type ImageSettings,
  imageDefinitions,
  imageIdOf,
  keptImages,
  type ResolvedImage,
  resolvedImage,
  resolveImageFamily,
} from './images.ts'
import { nodeClassSettings } from './node-class-settings.ts'

const config = goldenConfig('eastus', {
  nodeResourceGroup: 'rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})

interface ImageCase {
  readonly name: string
  readonly imageFamily: string
  readonly kubernetesVersion: string
  readonly useSIG: boolean
  readonly fips: boolean
  readonly trustedLaunch: boolean
  readonly effectiveFamily: string
  readonly images: readonly ResolvedImage[] | null
}

/** Galleries that hold the images of the table: the SDK's calls in use, answered from it. */
function galleries({ communityGalleryVersions, nodeImageVersions }: ImageTable) {
  const list = async function* (_location: string, gallery: string, definition: string) {
    const found = communityGalleryVersions.find(
      (entry) => entry.communityGallery === gallery && entry.definition === definition,
    )
    for (const { name, publishedDate } of found?.versions ?? []) yield { name, publishedDate: new Date(publishedDate) }
  }
  const sendRequest = async () => ({ status: 200, bodyAsText: JSON.stringify(nodeImageVersions) })
  return { compute: { communityGalleryImageVersions: { list }, pipeline: { sendRequest } } } as never
}

function settingsOf({ imageFamily, fips, trustedLaunch }: Pick<ImageCase, 'imageFamily' | 'fips' | 'trustedLaunch'>) {
  const spec = {
    ...(imageFamily === '' ? {} : { imageFamily }),
    ...(fips ? { fipsMode: 'FIPS' } : {}),
    ...(trustedLaunch ? { security: { trustedLaunch: { vtpm: true } } } : {}),
  }
  return nodeClassSettings(goldenNodeClass(spec), config)
}

goldenSuite(
  'azure/image-resolution',
  109,
  (file: { readonly cases: readonly ImageCase[]; readonly sigSubscriptionID: string }) => {
    const azure = galleries(readVectors('azure-tables/images') as ImageTable)
    const shared = { subscriptionId: file.sigSubscriptionID, tokenServerUrl: 'http://localhost' }

    it.each(file.cases)('$name', async (golden) => {
      const settings = settingsOf(golden)
      const family = resolveImageFamily(settings, golden.kubernetesVersion)
      const deps = { azure, now: () => 0, config: golden.useSIG ? { ...config, sharedGallery: shared } : config }
      // Images with FIPS are in shared galleries only. A class that requests them elsewhere is rejected before any read.
      const isRefused = settings.fips && !golden.useSIG
      const images = isRefused ? [] : await newestImages(deps, imageDefinitions(settings, family))
      expect({ family, images }).toEqual({ family: golden.effectiveFamily, images: golden.images ?? [] })
    })
  },
)

interface FunctionCase {
  readonly function: string
  readonly name: string
  readonly input: never
  readonly output: unknown
}

goldenSuite('azure/functions', 170, ({ cases }: { readonly cases: readonly FunctionCase[] }) => {
  const functions: Readonly<Record<string, (input: never) => unknown>> = {
    imageReferenceToString: ({ imageReference }: { imageReference: never }) => imageIdOf(imageReference),
    osSkuLabelFromImageFamily: ({ imageFamily }: { imageFamily: string }) =>
      settingsOf({ imageFamily, fips: false, trustedLaunch: false }).osSku,
    filterNodeImageVersions: ({ versions }: { versions: never }) =>
      [...newestOfShared(versions)].map(([key, version]) => `${key.replace('/', '-')}-${version}`),
  }
  const known = cases.filter((golden) => golden.function in functions)
  it.each(known)('$name', (golden) => {
    const output = functions[golden.function]?.(golden.input)
    // A list of versions has no order.
    if (Array.isArray(golden.output)) expect(new Set(output as string[])).toEqual(new Set(golden.output))
    else expect(output).toEqual(golden.output)
  })
})

describe('the family of images', () => {
  const of = (imageFamily: ImageSettings['imageFamily'], version: string, change: Partial<ImageSettings> = {}) =>
    resolveImageFamily({ imageFamily, fips: false, trustedLaunch: false, ...change }, version)

  it.each([
    ['Ubuntu', '1.33.4', {}, 'Ubuntu2204'],
    ['Ubuntu', 'v1.34.0', {}, 'Ubuntu2404'],
    ['Ubuntu', '1.34.0-rc.1', {}, 'Ubuntu2204'],
    ['Ubuntu', '1.34', {}, 'Ubuntu2404'],
    ['Ubuntu', '2.0.0', {}, 'Ubuntu2404'],
    ['Ubuntu', 'unknown', {}, 'Ubuntu2204'],
    ['Ubuntu', '1.36.3', { trustedLaunch: true }, 'Ubuntu2204'],
    ['Ubuntu', '1.36.3', { fips: true }, 'Ubuntu'],
    ['Ubuntu', '1.36.3', { fips: true, trustedLaunch: true }, 'Ubuntu2204'],
    ['AzureLinux', '1.31.9', {}, 'AzureLinux2'],
    ['AzureLinux', '1.32.0', {}, 'AzureLinux3'],
  ] as const)('%s on %s with %j is %s', (imageFamily, version, change, family) => {
    expect(of(imageFamily, version, change)).toBe(family)
  })
})

describe('the newest version in shared galleries', () => {
  const newest = (...versions: readonly string[]) =>
    newestOfShared(versions.map((version) => ({ os: 'AKSUbuntu', sku: 'a', version }))).get('AKSUbuntu/a')

  it.each([
    [['202512.18.0', '202512.9.3'], '202512.18.0'],
    [['2022.10.03', '202210.03.1'], '202210.03.1'],
    [['202512.18', '202512.18.0'], '202512.18.0'],
    [['202512.18.0', '202512.18'], '202512.18.0'],
    [['202512.18.0', '202601.x.0'], '202601.x.0'],
  ])('of %j is %s', (versions, expected) => {
    expect(newest(...versions)).toBe(expected)
  })
})

describe('images outside of a maintenance window (reference/azure-provider.md 6.4)', () => {
  const definitions = imageDefinitions({ imageFamily: 'Ubuntu2404', fips: false, trustedLaunch: false }, 'Ubuntu2404')
  const at = (version: string, which: readonly number[]) =>
    which.map((i) => {
      const definition = definitions[i]
      if (definition === undefined) throw new Error(`no definition ${i}`)
      return resolvedImage(`/CommunityGalleries/g/images/${definition.name}/versions/${version}`, definition)
    })

  it('stay at their version; new definitions come, others go, in the order of priority', () => {
    expect(keptImages(at('1', [2, 0]), at('2', [0, 1]))).toEqual([...at('1', [0]), ...at('2', [1])])
  })

  it('are found again whatever the case of their ids', () => {
    const [existing] = at('1', [0])
    const upper = { id: existing?.id.replace('/images/', '/Images/') ?? '', requirements: [] }
    expect(keptImages([upper], at('2', [0]))[0]?.id).toBe(upper.id)
  })
})

describe('the image id of a VM', () => {
  it.each([
    [undefined, ''],
    [{ id: '/subscriptions/s/galleries/g' }, '/subscriptions/s/galleries/g'],
    [{ id: '', communityGalleryImageId: '/CommunityGalleries/g' }, '/CommunityGalleries/g'],
    [{ publisher: 'p', offer: 'o', sku: 's', version: 'v' }, 'p:o:s:v'],
    [{ publisher: 'p', offer: 'o', sku: 's' }, ''],
  ])('%j is %s', (reference, id) => {
    expect(imageIdOf(reference)).toBe(id)
  })
})
