import type { InPlaceState } from './in-place-update-hash.ts'

/** Changes that a resource needs; empty when it needs none. */
export interface InPlaceChange {
  /** All tags that the resource is to have: Azure replaces them together. */
  readonly tags?: Readonly<Record<string, string>>
  readonly identities?: readonly string[]
}

/**
 * Returns the changes that a resource needs which Azure has as `actual`. Tags that Joiner set before (`ours`, by name) and no longer wants are removed;
 * other tags stay, unless a wanted one has their name. Identities are added and never removed, since others may have assigned them.
 * Upstream (reference/azure-provider.md 8.3) replaces all tags: a tag by Azure Policy or for cost accounting would be lost. Azure's tag names and ids are
 * case-insensitive.
 */
export function inPlaceChange(actual: InPlaceState, ours: readonly string[], wanted: InPlaceState): InPlaceChange {
  const settled = new Set([...ours, ...Object.keys(wanted.tags)].map(lower))
  const foreign = Object.entries(actual.tags).filter(([key]) => !settled.has(lower(key)))
  const tags = { ...Object.fromEntries(foreign), ...wanted.tags }
  const assigned = new Set(actual.identities.map(lower))
  const missing = wanted.identities.filter((id) => !assigned.has(lower(id)))
  return { ...(isSame(tags, actual.tags) ? {} : { tags }), ...(missing.length === 0 ? {} : { identities: missing }) }
}

/** Whether a change is empty. */
export function isNothing({ tags, identities }: InPlaceChange): boolean {
  return tags === undefined && identities === undefined
}

const lower = (text: string): string => text.toLowerCase()

/** Tags that differ only in the case of their names are the same tag. */
function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const byName = new Map(Object.entries(other).map(([key, value]) => [lower(key), value]))
  const entries = Object.entries(one)
  return entries.length === byName.size && entries.every(([key, value]) => byName.get(lower(key)) === value)
}
