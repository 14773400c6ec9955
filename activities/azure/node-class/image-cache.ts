import { z } from 'zod'
import { type Entries, instant, mapOf, readEntries, readJson, words } from '../../../api/kept/document.ts'
import { type KeptSource, readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import type { ImageVersionsDeps } from './image-versions.ts'
import { type ImageDefinition, type ResolvedImage, resolvedImage } from './images.ts'

export interface ImageCacheDeps extends ImageVersionsDeps, KeptSource {}

/**
 * The ConfigMap with the images that galleries were found to hold. It is in the cluster, not in a process, so that all replicas agree and
 * a restart changes no image. Deleting it makes Joiner read the galleries at once.
 */
export const imageVersionsMap = 'joiner-image-versions'

/** Time that found images are kept, per definitions and Kubernetes version (reference/azure-provider.md 6.3). */
const keptMs = 3 * 24 * 3_600_000

const keptImages = z.object({
  readAt: instant,
  /** Id of the image of each definition; null when the gallery has none. */
  images: mapOf(words(1000).nullable(), 100),
})
type Entry = z.infer<typeof keptImages>

/** Returns the images of a ConfigMap's entries. */
export function parseImages(data: Entries) {
  return readEntries<Entry>(data, (_, text) => readJson(keptImages, text))
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
  const ref = { name: imageVersionsMap, namespace: deps.namespace }
  const entries = (await readConfigMap(deps.client, ref)) ?? {}
  const key = entryKey(deps, definitions, kubernetesVersion)
  const { documents, faults } = parseImages(entries)
  deps.note?.(imageVersionsMap, faults)
  const isCurrent = (each: string) => isYoung(documents.get(each), deps.now())
  const known = documents.get(key)
  const images = known && isCurrent(key) ? imagesOf(known, definitions) : undefined
  if (images !== undefined) return images
  // Whoever only looks at what is kept does without Azure's clients.
  const { newestImages } = await import('./image-versions.ts')
  const newest = await newestImages(deps, definitions)
  if (newest.length === 0) return newest
  const expired = Object.keys(entries).filter((other) => !isCurrent(other))
  await writeConfigMap(deps.client, ref, {
    ...Object.fromEntries(expired.map((other) => [other, null])),
    [key]: JSON.stringify({ ...entryOf(definitions, newest), readAt: new Date(deps.now()).toISOString() }),
  })
  return newest
}

/** Returns an entry's key. Keys of ConfigMaps hold letters, digits, dots, dashes and underscores only. */
function entryKey({ config }: ImageCacheDeps, [first]: readonly ImageDefinition[], kubernetesVersion: string): string {
  const gallery = config.sharedGallery === undefined ? 'community' : 'shared'
  return `${gallery}.${first?.name ?? ''}.${kubernetesVersion}`.replaceAll(/[^-._a-zA-Z0-9]/g, '_')
}

function isYoung(entry: Entry | undefined, nowMs: number): boolean {
  return entry !== undefined && entry.readAt <= nowMs && nowMs - entry.readAt < keptMs
}

/** Returns an entry's images; undefined when it lacks one of the definitions. */
function imagesOf({ images }: Entry, definitions: readonly ImageDefinition[]): readonly ResolvedImage[] | undefined {
  if (definitions.some(({ name }) => images[name] === undefined)) return undefined
  return definitions.flatMap((definition) => {
    const id = images[definition.name]
    return id == null ? [] : [resolvedImage(id, definition)]
  })
}

function entryOf(definitions: readonly ImageDefinition[], found: readonly ResolvedImage[]): Pick<Entry, 'images'> {
  const idOf = (name: string) => found.find(({ id }) => id.split('/images/')[1]?.startsWith(`${name}/`))?.id ?? null
  return { images: Object.fromEntries(definitions.map(({ name }) => [name, idOf(name)])) }
}
