import type { ImageReference } from '@azure/arm-compute'
import type { NodeClass } from '../../../api/objects.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { requirements, sharedKeysIntersect } from '../../../core/requirements/requirements.ts'
import { compareVersions } from './kubernetes-version.ts'
import type { NodeClassSettings } from './node-class-settings.ts'

/** An image as the status of an AKSNodeClass names it. */
export interface ResolvedImage {
  readonly id: string
  readonly requirements: readonly RequirementSpec[]
}

/** Families of node images. `Ubuntu` alone is 20.04, which exists with FIPS only. */
type Family = 'Ubuntu' | 'Ubuntu2204' | 'Ubuntu2404' | 'AzureLinux2' | 'AzureLinux3'

/** The settings of a node class that decide its images. */
export type ImageSettings = Pick<NodeClassSettings, 'imageFamily' | 'fips' | 'trustedLaunch'>

/** Returns the family of a node class' image family on this Kubernetes version (reference/azure-provider.md 6.1). */
export function resolveImageFamily(
  { imageFamily, fips, trustedLaunch }: ImageSettings,
  kubernetesVersion: string,
): Family {
  if (imageFamily === 'Ubuntu2204' || imageFamily === 'Ubuntu2404') return imageFamily
  if (imageFamily === 'AzureLinux') return isAtLeast(kubernetesVersion, '1.32.0') ? 'AzureLinux3' : 'AzureLinux2'
  if (fips) return trustedLaunch ? 'Ubuntu2204' : 'Ubuntu'
  if (trustedLaunch) return 'Ubuntu2204'
  return isAtLeast(kubernetesVersion, '1.34.0') ? 'Ubuntu2404' : 'Ubuntu2204'
}

/** Compares versions. One may begin with "v" and leave out its patch. A text that is no version is older than all. */
function isAtLeast(version: string, minimum: string): boolean {
  const plain = version.replace(/^v/, '')
  return compareVersions(/^\d+\.\d+$/.test(plain) ? `${plain}.0` : plain, minimum) >= 0
}

/** A gallery of AKS, by its names as a community gallery and as a shared one (6.3). */
interface Gallery {
  readonly community: string
  readonly resourceGroup: string
  readonly shared: string
}

const ubuntu: Gallery = {
  community: 'AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2',
  resourceGroup: 'AKS-Ubuntu',
  shared: 'AKSUbuntu',
}
const azureLinux: Gallery = {
  community: 'AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b',
  resourceGroup: 'AKS-AzureLinux',
  shared: 'AKSAzureLinux',
}

/** Names of AKS' shared galleries. */
export const sharedGalleries: ReadonlySet<string> = new Set([ubuntu.shared, azureLinux.shared])

export interface ImageDefinition {
  readonly name: string
  readonly gallery: Gallery
  readonly arch: 'amd64' | 'arm64'
  readonly generation: '1' | '2'
}

type Kind = 'plain' | 'trustedLaunch' | 'fips' | 'fipsTrustedLaunch'

const linux = { plain: ['gen2', '', 'gen2arm64'], trustedLaunch: ['gen2TL'], fips: ['gen2fips', 'fips'] } as const

const fips3 = [...linux.fips, 'gen2arm64fips']

/** Definition names of a family: the text around the kind, and the available kinds in order of priority (6.2). */
const definitionNames: Readonly<
  Record<
    Family,
    {
      readonly gallery: Gallery
      readonly prefix: string
      readonly suffix: string
      readonly kinds: Readonly<Partial<Record<Kind, readonly string[]>>>
    }
  >
> = {
  Ubuntu: { gallery: ubuntu, prefix: '2004', suffix: 'containerd', kinds: { fips: linux.fips } },
  Ubuntu2204: {
    gallery: ubuntu,
    prefix: '2204',
    suffix: 'containerd',
    kinds: { plain: linux.plain, trustedLaunch: linux.trustedLaunch, fipsTrustedLaunch: ['gen2fipsTL'] },
  },
  Ubuntu2404: {
    gallery: ubuntu,
    prefix: '2404',
    suffix: 'containerd',
    kinds: { plain: linux.plain, trustedLaunch: linux.trustedLaunch },
  },
  AzureLinux2: { gallery: azureLinux, prefix: 'V2', suffix: '', kinds: { ...linux, fipsTrustedLaunch: linux.fips } },
  AzureLinux3: {
    gallery: azureLinux,
    prefix: 'V3',
    suffix: '',
    kinds: { ...linux, fips: fips3, fipsTrustedLaunch: fips3 },
  },
}

/**
 * Returns definitions of a family in the order in which a VM size uses the first that suits it (reference/azure-provider.md 6.2); none where
 * AKS publishes no image of that kind.
 */
export function imageDefinitions({ fips, trustedLaunch }: ImageSettings, family: Family): readonly ImageDefinition[] {
  const { gallery, prefix, suffix, kinds } = definitionNames[family]
  const secure = trustedLaunch ? 'fipsTrustedLaunch' : 'fips'
  const kind = fips ? secure : trustedLaunch ? 'trustedLaunch' : 'plain'
  return (kinds[kind] ?? []).map((middle) => ({
    name: `${prefix}${middle}${suffix}`,
    gallery,
    arch: middle.includes('arm64') ? 'arm64' : 'amd64',
    generation: middle.includes('gen2') ? '2' : '1',
  }))
}

/** Returns the id of an image in a community gallery, which everybody may read. */
export function communityImageId({ name, gallery }: ImageDefinition, version: string): string {
  return `/CommunityGalleries/${gallery.community}/images/${name}/versions/${version}`
}

/** Returns the id of an image in a shared gallery, in the subscription that AKS shares it from. */
export function sharedImageId({ name, gallery }: ImageDefinition, version: string, subscriptionId: string): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${gallery.resourceGroup}/providers/Microsoft.Compute/galleries/${gallery.shared}/images/${name}/versions/${version}`
}

/** Returns an image as the status names it. Requirements are sorted by the length of their keys, so that the status is stable (6.4). */
export function resolvedImage(id: string, { arch, generation }: ImageDefinition): ResolvedImage {
  const needed = [
    { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In' as const, values: [generation] },
    { key: labels.arch, operator: 'In' as const, values: [arch] },
  ]
  return { id, requirements: needed.toSorted((a, b) => a.key.length - b.key.length || (a.key < b.key ? -1 : 1)) }
}

/** Returns the definition of an image: its id without the version, in lower case, since ARM's ids know no case. */
function baseImageId(id: string): string {
  return id.toLowerCase().replace(/\/versions\/.*$/, '')
}

/** Returns the id of another version of an image. */
export const withImageVersion = (id: string, version: string) =>
  id.replace(/\/versions\/[^/]+$/i, `/versions/${version}`)

/** Returns the version of an image, such as `202512.18.0`, by its id or as AKS machines name it; empty where that names none. */
export const imageVersion = (id: string) => /(?:\/versions\/|^AKS\w+-[^/]+-)([^-/]+)$/i.exec(id)?.[1] ?? ''

/**
 * Returns images to keep outside of a maintenance window: each definition that is still requested stays at its version. A new one comes
 * at its newest; one that is not requested goes (reference/azure-provider.md 6.4).
 */
export function keptImages(
  existing: readonly ResolvedImage[],
  newest: readonly ResolvedImage[],
): readonly ResolvedImage[] {
  const versions = new Map(existing.map(({ id }) => [baseImageId(id), id]))
  return newest.map((image) => ({ ...image, id: versions.get(baseImageId(image.id)) ?? image.id }))
}

/** Returns the first image that suits an instance type. */
export function selectImage(
  images: NodeClass['status']['images'],
  instanceType: InstanceType,
): ResolvedImage | undefined {
  return images.find((image) => sharedKeysIntersect(instanceType.requirements, requirements(image.requirements)))
}

/** Returns the id by which a VM names its image; a marketplace image is publisher:offer:sku:version. Empty when it names none. */
export function imageIdOf(reference: ImageReference | undefined): string {
  if (reference === undefined) return ''
  const { id, communityGalleryImageId, sharedGalleryImageId, publisher, offer, sku, version } = reference
  const named = id || communityGalleryImageId || sharedGalleryImageId
  if (named) return named
  const parts = [publisher, offer, sku, version]
  return parts.every((part) => part) ? parts.join(':') : ''
}
