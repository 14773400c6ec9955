import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import type { ImageVersionsDeps } from './image-versions.ts'
import { newestImages } from './image-versions.ts'
import { type ImageDefinition, type ResolvedImage, resolvedImage } from './images.ts'

export interface ImageCacheDeps extends ImageVersionsDeps {
  readonly client: KubernetesClient
  readonly namespace: string
}

/**
 * The ConfigMap with the images that galleries were found to hold. It is in the cluster, not in a process, so that all replicas agree and
 * a restart changes no image. Deleting it makes Joiner read the galleries at once.
 */
const imageVersionsConfigMap = 'joiner-image-versions'

/** Time that found images are kept, per definitions and Kubernetes version (reference/azure-provider.md 6.3). */
const keptMs = 3 * 24 * 3_600_000

interface Entry {
  /** RFC 3339. */
  readonly readAt: string
  /** Id of the image of each definition; null when the gallery has none. */
  readonly images: Readonly<Record<string, string | null>>
}

/**
 * Returns the newest image of each definition, as found at most three days ago. Reads the galleries when there is no such result for this
 * Kubernetes version. An empty result is not kept.
 */
export async function cachedImages(
  deps: ImageCacheDeps,
  definitions: readonly ImageDefinition[],
  kubernetesVersion: string,
): Promise<readonly ResolvedImage[]> {
  if (definitions.length === 0) return []
  const ref = { name: imageVersionsConfigMap, namespace: deps.namespace }
  const entries = (await readConfigMap(deps.client, ref)) ?? {}
  const key = entryKey(deps, definitions, kubernetesVersion)
  const known = currentEntry(entries[key], deps.now())
  const images = known && imagesOf(known, definitions)
  if (images !== undefined) return images
  const newest = await newestImages(deps, definitions)
  if (newest.length === 0) return newest
  const expired = Object.keys(entries).filter((other) => currentEntry(entries[other], deps.now()) === undefined)
  await writeConfigMap(deps.client, ref, {
    ...Object.fromEntries(expired.map((other) => [other, null])),
    [key]: JSON.stringify(entryOf(definitions, newest, deps.now())),
  })
  return newest
}

/** Returns an entry's key. Keys of ConfigMaps hold letters, digits, dots, dashes and underscores only. */
function entryKey({ config }: ImageCacheDeps, [first]: readonly ImageDefinition[], kubernetesVersion: string): string {
  const gallery = config.sharedGallery === undefined ? 'community' : 'shared'
  return `${gallery}.${first?.name ?? ''}.${kubernetesVersion}`.replaceAll(/[^-._a-zA-Z0-9]/g, '_')
}

function currentEntry(text: string | undefined, nowMs: number): Entry | undefined {
  if (text === undefined) return undefined
  try {
    const entry = JSON.parse(text) as Partial<Entry>
    const readAt = Date.parse(entry.readAt ?? '')
    return entry.images !== undefined && readAt <= nowMs && nowMs - readAt < keptMs ? (entry as Entry) : undefined
  } catch {
    return undefined
  }
}

/** Returns an entry's images; undefined when it lacks one of the definitions. */
function imagesOf({ images }: Entry, definitions: readonly ImageDefinition[]): readonly ResolvedImage[] | undefined {
  if (definitions.some(({ name }) => images[name] === undefined)) return undefined
  return definitions.flatMap((definition) => {
    const id = images[definition.name]
    return id == null ? [] : [resolvedImage(id, definition)]
  })
}

function entryOf(definitions: readonly ImageDefinition[], found: readonly ResolvedImage[], nowMs: number): Entry {
  const idOf = (name: string) => found.find(({ id }) => id.split('/images/')[1]?.startsWith(`${name}/`))?.id ?? null
  return {
    readAt: new Date(nowMs).toISOString(),
    images: Object.fromEntries(definitions.map(({ name }) => [name, idOf(name)])),
  }
}
