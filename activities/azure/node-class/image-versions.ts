import { apiVersions } from '../arm/api-versions.ts'
import { sendArm } from '../arm/arm-rest.ts'
import type { AzureParts } from '../parts.ts'
import {
  communityImageId,
  type ImageDefinition,
  type ResolvedImage,
  resolvedImage,
  sharedGalleries,
  sharedImageId,
} from './images.ts'

export type ImageVersionsDeps = Pick<AzureParts, 'azure' | 'config' | 'now'>

/**
 * Returns the newest image of each definition, in the order given; a definition without versions is left out (reference/azure-provider.md 6.3).
 * Errors: ARM's.
 */
export async function newestImages(
  deps: ImageVersionsDeps,
  definitions: readonly ImageDefinition[],
): Promise<readonly ResolvedImage[]> {
  if (definitions.length === 0) return []
  const { sharedGallery } = deps.config
  const shared =
    sharedGallery &&
    newestOfShared((await listNodeImageVersions(deps)).filter(({ version = '' }) => isUsable(deps, version)))
  const images = await Promise.all(
    definitions.map(async (definition): Promise<ResolvedImage | undefined> => {
      const { gallery, name } = definition
      const version =
        shared === undefined
          ? await newestOfCommunity(deps, gallery.community, name)
          : shared.get(`${gallery.shared}/${name}`)
      if (version === undefined) return undefined
      const id =
        sharedGallery === undefined
          ? communityImageId(definition, version)
          : sharedImageId(definition, version, sharedGallery.subscriptionId)
      return resolvedImage(id, definition)
    }),
  )
  return images.filter((image) => image !== undefined)
}

/** Whether a version is not below the floor of the settings. A version of another scheme, such as `2022.10.03`, has no floor. */
function isUsable({ config, now }: ImageVersionsDeps, version: string, publishedAt = publishedBy(version)): boolean {
  const { minVersion, minAgeMs } = config.imageFloor ?? { minVersion: '', minAgeMs: 0 }
  if (publishedAt === undefined) return true
  if (minAgeMs > 0 && now() - publishedAt.getTime() < minAgeMs) return false
  return minVersion === '' || publishedBy(version) === undefined || !isNewer(minVersion, version)
}

/** Returns the day that a version such as `202512.18.0` names. */
function publishedBy(version: string): Date | undefined {
  const [, year, month, day] = /^(\d{4})(\d{2})\.(\d{1,2})\.\d+$/.exec(version) ?? []
  return year === undefined ? undefined : new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
}

/** Returns the newest version by publishing date: versions of two schemes cannot be compared otherwise. */
async function newestOfCommunity(
  deps: ImageVersionsDeps,
  gallery: string,
  definition: string,
): Promise<string | undefined> {
  const { azure, config } = deps
  let newest: { readonly name: string; readonly publishedAt: number } | undefined
  for await (const version of azure.compute.communityGalleryImageVersions.list(config.location, gallery, definition)) {
    const publishedAt = version.publishedDate?.getTime() ?? 0
    if (version.name === undefined || !isUsable(deps, version.name, version.publishedDate)) continue
    if (newest === undefined || publishedAt > newest.publishedAt) newest = { name: version.name, publishedAt }
  }
  return newest?.name
}

/** An entry of AKS' list of node images, such as AKSUbuntu, 2204gen2containerd, 202512.18.0. */
export interface NodeImageVersion {
  readonly os?: string
  readonly sku?: string
  readonly version?: string
}

/**
 * Returns the newest version of each image of AKS' Linux galleries, by `gallery/definition`. The list holds more galleries, and images in two
 * schemes of versions, `2022.10.03` and `202512.18.0` (reference/azure-provider.md 6.3).
 */
export function newestOfShared(versions: readonly NodeImageVersion[]): ReadonlyMap<string, string> {
  const newest = new Map<string, string>()
  for (const { os = '', sku = '', version = '' } of versions) {
    if (!sharedGalleries.has(os)) continue
    const key = `${os}/${sku}`
    const before = newest.get(key)
    if (before === undefined || isNewer(version, before)) newest.set(key, version)
  }
  return newest
}

/** Compares the parts between dots as numbers; with equal parts the longer one is newer. A part that is no number is never newer. */
export function isNewer(version: string, other: string): boolean {
  const [own, others] = [version.split('.'), other.split('.')]
  for (let i = 0; i < Math.min(own.length, others.length); i++) {
    const [a = '', b = ''] = [own[i], others[i]]
    if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false
    if (Number(a) !== Number(b)) return Number(a) > Number(b)
  }
  return own.length > others.length
}

interface NodeImageList {
  readonly value?: readonly NodeImageVersion[]
  /** Name of the list in some versions of the API. */
  readonly values?: readonly NodeImageVersion[]
  readonly nextLink?: string
}

/**
 * Reads AKS' list of node images of the region. The compute client's pipeline sends the requests: Microsoft.ContainerService's own client library
 * would be used for this one call only.
 */
async function listNodeImageVersions({ azure, config }: ImageVersionsDeps): Promise<readonly NodeImageVersion[]> {
  const { subscriptionId, location } = config
  const path = `/subscriptions/${subscriptionId}/providers/Microsoft.ContainerService/locations/${location}/nodeImageVersions`
  const all: NodeImageVersion[] = []
  let next: string | undefined = `${path}?api-version=${apiVersions['Microsoft.ContainerService/locations']}`
  while (next !== undefined) {
    const page: NodeImageList = await sendArm({ azure, config }, { path: next })
    all.push(...(page.value ?? page.values ?? []))
    next = page.nextLink || undefined
  }
  return all
}
