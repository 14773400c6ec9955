import type { NodeClass } from '../../../api/objects.ts'
import { type ConditionChange, conditionOf } from '../../../core/conditions.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { readConfigMap } from '../../kubernetes/client/config-map.ts'
import type { AzureParts } from '../parts.ts'
import { type Finding, unread } from './finding.ts'
import { cachedImages, type ImageCacheDeps } from './image-cache.ts'
import { type ImageStandingDeps, withWorkingImages } from './image-standing.ts'
import { imageDefinitions, keptImages, type ResolvedImage, resolveImageFamily, withImageVersion } from './images.ts'
import { type NodeClassSettings, nodeClassSettings } from './node-class-settings.ts'

export interface ImagesStatusDeps extends MaintenanceWindowDeps, ImageCacheDeps, ImageStandingDeps {}

const type = 'ImagesReady'
const unknown = 'ImagesUnknownError'
const open = { kind: 'open' } as const
type OpenOrClosed = Exclude<MaintenanceWindow, { kind: 'invalid' }> | { readonly kind: 'held' }

/**
 * Finds the newest images for a Kubernetes version, and decides which of them new nodes get. Without a known version there is nothing to
 * search (reference/azure-provider.md 1.6 and 6.4).
 */
export async function findImages(
  deps: ImagesStatusDeps,
  nodeClass: NodeClass,
  kubernetesVersion: { readonly version: string; readonly isNew: boolean } | undefined,
): Promise<Finding> {
  if (kubernetesVersion === undefined) return {}
  const { version, isNew } = kubernetesVersion
  const settings = nodeClassSettings(nodeClass, deps.config)
  const definitions = imageDefinitions(settings, resolveImageFamily(settings, version))
  if (settings.fips && deps.config.sharedGallery === undefined) return fipsRefused(settings)
  try {
    // Outside of a window only valid images are kept: none after an upgrade of Kubernetes, and none that were not found.
    const window = isNew || !hasImages(nodeClass) ? open : await readMaintenanceWindow(deps)
    if (window.kind === 'invalid') throw new Error(window.message)
    const newest = await cachedImages(deps, definitions, version)
    const pinned = pinnedImages(nodeClass, newest)
    if (pinned !== undefined) return pinned
    const found = imagesFinding(settings, { existing: nodeClass.status.images, newest }, heldOr(nodeClass, window))
    return withFallbacks(deps, nodeClass, found)
  } catch (error) {
    // Images of the earlier version must not be used for new nodes, so the condition shows the upgrade until new ones are found.
    const before = conditionOf(nodeClass.status.conditions, type)
    if (isNew || before?.reason === 'KubernetesUpgrade') return { error }
    return unread(nodeClass, { type, reason: unknown, what: 'images' }, error)
  }
}

/** Returns whether its images were valid when they were found. A failure to read them since is no reason to use others. */
function hasImages({ status }: NodeClass): boolean {
  const ready = conditionOf(status.conditions, type)
  return ready?.status === 'True' || ready?.reason === unknown
}

/** Returns the finding for found images. Without any, the earlier ones go as well: they do not match the spec. */
export function imagesFinding(
  settings: NodeClassSettings,
  { existing, newest }: { readonly existing: readonly ResolvedImage[]; readonly newest: readonly ResolvedImage[] },
  window: OpenOrClosed,
): Finding {
  if (newest.length === 0) {
    const message = `no image of family "${settings.imageFamily}" is published in this region${settings.fips ? ' with FIPS' : ''}; choose another imageFamily`
    return { conditions: [refusal(settings, 'ImagesNotFound', message)], status: { images: [] } }
  }
  if (window.kind === 'open') return { conditions: [{ type, status: 'True' }], status: { images: newest } }
  const images = keptImages(existing, newest)
  const waiting = newest.some(({ id }, i) => id !== images[i]?.id)
  const message =
    window.kind === 'held'
      ? `newer images wait until annotation ${annotations.holdImages} is removed`
      : `newer images wait for the maintenance window from ${window.from} to ${window.to}`
  return { conditions: [{ type, status: 'True', ...(waiting ? { message } : {}) }], status: { images } }
}

/** Returns the images of the version that an annotation names; undefined without the annotation. Whether they are there shows when a VM is made. */
export function pinnedImages({ metadata }: NodeClass, newest: readonly ResolvedImage[]): Finding | undefined {
  const version = metadata.annotations[annotations.imageVersion]
  if (version === undefined || newest.length === 0) return undefined
  if (!/^[0-9]+(\.[0-9]+){2}$/.test(version)) {
    const message = `AKSNodeClass ${metadata.name}: annotation ${annotations.imageVersion} "${version.slice(0, 60)}" is not the version of a node image; write one such as 202512.18.0, or remove it`
    return { conditions: [{ type, status: 'False', reason: 'ImageVersionInvalid', message }] }
  }
  const images = newest.map((image) => ({ ...image, id: withImageVersion(image.id, version) }))
  const message = `annotation ${annotations.imageVersion} keeps version ${version}`
  return { conditions: [{ type, status: 'True', message }], status: { images } }
}

/** Returns the window, closed while an annotation holds the images. */
function heldOr(nodeClass: NodeClass, window: OpenOrClosed): OpenOrClosed {
  const isHeld = nodeClass.metadata.annotations[annotations.holdImages] === 'true'
  return isHeld && hasImages(nodeClass) ? { kind: 'held' } : window
}

/** Replaces images that were given up with versions that work, where there are any. */
function withFallbacks(deps: ImagesStatusDeps, nodeClass: NodeClass, finding: Finding): Finding {
  if (finding.status?.images === undefined) return finding
  const { images, replaced } = withWorkingImages(deps, nodeClass, finding.status.images)
  const [first] = replaced
  const mark = first === undefined ? undefined : deps.unavailable.imageMarkOf(first, nodeClass.metadata.name)
  if (mark === undefined) return finding
  const message = `node image ${mark.image} is given up until ${new Date(mark.untilMs).toISOString()} (${mark.reason}: ${mark.cause}); new nodes get ${images[0]?.id}`
  return { ...finding, conditions: [{ type, status: 'True', message }], status: { images } }
}

function fipsRefused(settings: NodeClassSettings): Finding {
  const message =
    'spec.fipsMode "FIPS" needs images from shared galleries; set USE_SIG, SIG_SUBSCRIPTION_ID and SIG_ACCESS_TOKEN_SERVER_URL, or use fipsMode: Disabled'
  return { conditions: [refusal(settings, 'SIGRequiredForFIPS', message)], status: { images: [] } }
}

function refusal({ name }: NodeClassSettings, reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message: `AKSNodeClass ${name}: ${message}` }
}

type MaintenanceWindowDeps = Pick<AzureParts, 'client' | 'now' | 'config'>

/** Written by AKS where a maintenance configuration for node images exists (reference/azure-provider.md 6.4). */
const configMapName = 'upcoming-maintenance-window'
const startKey = 'aksManagedNodeOSUpgradeSchedule-start'
const endKey = 'aksManagedNodeOSUpgradeSchedule-end'

type MaintenanceWindow =
  | { readonly kind: 'open' }
  /** New images wait. `from` is the time as it is written. */
  | { readonly kind: 'closed'; readonly from: string; readonly to: string }
  | { readonly kind: 'invalid'; readonly message: string }

/** Returns whether new images may be used now. Errors: the API server's. */
async function readMaintenanceWindow({ client, config, now }: MaintenanceWindowDeps): Promise<MaintenanceWindow> {
  const ref = { name: configMapName, namespace: config.systemNamespace }
  return maintenanceWindow(await readConfigMap(client, ref), config.systemNamespace, now())
}

/** Returns the window in the entries of the ConfigMap. Without ConfigMap, or without both entries, there is no schedule: it is open. */
export function maintenanceWindow(
  entries: Readonly<Record<string, string>> | undefined,
  namespace: string,
  nowMs: number,
): MaintenanceWindow {
  const { [startKey]: from, [endKey]: to } = entries ?? {}
  if (from === undefined && to === undefined) return { kind: 'open' }
  const invalid = (message: string): MaintenanceWindow => ({
    kind: 'invalid',
    message: `ConfigMap ${namespace}/${configMapName}: ${message}`,
  })
  if (from === undefined || to === undefined) {
    const [there, missing] = from === undefined ? [endKey, startKey] : [startKey, endKey]
    return invalid(`entry ${missing} is missing beside ${there} "${from ?? to}"; add it, or remove both`)
  }
  const [startMs, endMs] = [timeOf(from), timeOf(to)]
  if (startMs === undefined || endMs === undefined) {
    const [key, value] = startMs === undefined ? [startKey, from] : [endKey, to]
    return invalid(`entry ${key} "${value}" is not a time such as 2026-01-31T22:00:00Z; correct it`)
  }
  return nowMs > startMs && nowMs < endMs ? { kind: 'open' } : { kind: 'closed', from, to }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Returns epoch milliseconds of an RFC 3339 time; undefined when it is none. */
function timeOf(text: string): number | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
