import { utf8 } from '../values/struct-hash.ts'

/** Properties of a VM that are changed in place, so that no node is replaced for them. */
export interface InPlaceState {
  /** ARM ids of the user-assigned identities. */
  readonly identities: readonly string[]
  readonly tags: Readonly<Record<string, string>>
}

/**
 * Returns the hash of a VM's wanted identities and tags, as stored on the NodeClaim: 32-bit FNV-1a, in decimal, of upstream's exact JSON. So nodes
 * that were taken over are not changed (reference/azure-provider.md 8.3).
 */
export function inPlaceUpdateHash({ identities, tags }: InPlaceState): string {
  const json = {
    ...(identities.length === 0 ? {} : { identities: sorted(identities.map((id) => [id, {}])) }),
    ...(Object.keys(tags).length === 0 ? {} : { tags: sorted(Object.entries(tags)) }),
  }
  return String(fnv1a32(utf8(goJson(json))))
}

function sorted(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

/** Go escapes in JSON what HTML and JavaScript misread; outside of texts these characters do not occur. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function fnv1a32(bytes: readonly number[]): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
