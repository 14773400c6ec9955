import type { Affinity, RequirementSpec } from '../objects.ts'
import { labels, normalizedLabel, normalizedValue } from './labels.ts'
import {
  describe,
  intersect,
  intersects,
  inValues,
  operatorOf,
  type Requirement,
  requirement,
  serialize,
} from './requirement.ts'

/** Requirements on a node's labels: one set per key. A missing key may have any value. */
export type Requirements = ReadonlyMap<string, Requirement>

/** Folds entries by intersection into one set per key; keys get their stable names. */
export function requirements(entries: Iterable<RequirementSpec>): Requirements {
  return merge(
    new Map(),
    [...entries].map((entry) => requirement(entry)),
  )
}

/** Returns the requirements that exactly these labels meet. */
export function requirementsOfLabels(labels: Readonly<Record<string, string>>): Requirements {
  return merge(
    new Map(),
    Object.entries(labels).map(([key, value]) => inValues(normalizedLabel(key), [normalizedValue(key, value)])),
  )
}

/** Returns `base` with more sets, each intersected with the set of its key. */
export function merge(base: Requirements, added: Iterable<Requirement>): Requirements {
  const merged = new Map(base)
  for (const set of added) {
    const before = merged.get(set.key)
    merged.set(set.key, before === undefined ? set : intersect(before, set))
  }
  return merged
}

/** Whether a node without the label meets the requirement. */
export function canBeAbsent(set: Requirement): boolean {
  const operator = operatorOf(set)
  return operator === 'NotIn' || operator === 'DoesNotExist'
}

/** Why requirements cannot be met together. `meant`: a known key that an unknown one may be a misspelling of. */
export type Incompatibility =
  | { readonly kind: 'unknown-label'; readonly key: string; readonly meant: string | undefined }
  | { readonly kind: 'disjoint'; readonly pairs: readonly DisjointPair[] }

/** Two sets for one key that have no value in common. */
interface DisjointPair {
  readonly wanted: Requirement
  readonly own: Requirement
}

/**
 * Returns why `existing` cannot meet `incoming`; undefined when it can. Keys of `incoming` that `existing` does not define are an error unless they
 * may be absent or are in `allowUndefined`. Only the first such key, in the order given, is named (reference/karpenter-core.md 2, "Compatible").
 */
export function incompatibility(
  existing: Requirements,
  incoming: Requirements,
  allowUndefined: ReadonlySet<string> = noKeys,
): Incompatibility | undefined {
  for (const key of incoming.keys()) {
    if (allowUndefined.has(key) || existing.has(key) || canBeAbsent(incoming.get(key) as Requirement)) continue
    return { kind: 'unknown-label', key, meant: similarKey(key, existing, allowUndefined) }
  }
  return disjointness(existing, incoming)
}

const noKeys: ReadonlySet<string> = new Set()

/** The same decision as `incompatibility`, without its facts. */
export function isCompatible(
  existing: Requirements,
  incoming: Requirements,
  allowUndefined: ReadonlySet<string> = noKeys,
): boolean {
  for (const [key, set] of incoming) {
    const own = existing.get(key)
    if (own === undefined) {
      if (!allowUndefined.has(key) && !canBeAbsent(set)) return false
    } else if (!intersects(own, set) && !(canBeAbsent(own) && canBeAbsent(set))) return false
  }
  return true
}

/** Returns why the keys that both define cannot be met together; undefined when they can. */
export function disjointness(existing: Requirements, incoming: Requirements): Incompatibility | undefined {
  const pairs: DisjointPair[] = []
  for (const key of [...incoming.keys()].sort()) {
    const own = existing.get(key)
    const wanted = incoming.get(key) as Requirement
    if (own === undefined || intersects(own, wanted) || (canBeAbsent(own) && canBeAbsent(wanted))) continue
    pairs.push({ wanted, own })
  }
  return pairs.length === 0 ? undefined : { kind: 'disjoint', pairs }
}

/** Returns an incompatibility in upstream's words. */
export function incompatibilityText(found: Incompatibility): string {
  if (found.kind === 'disjoint')
    return found.pairs
      .map(({ wanted, own }) => `key ${wanted.key}, ${describe(wanted)} not in ${describe(own)}`)
      .join('; ')
  const hint = found.meant === undefined ? '' : ` (typo of "${found.meant}"?)`
  return `label "${found.key}" does not have known values${hint}`
}

/** Whether the keys that both define can be met together. */
export function sharedKeysIntersect(existing: Requirements, incoming: Requirements): boolean {
  for (const [key, set] of incoming) {
    const own = existing.get(key)
    if (own !== undefined && !intersects(own, set) && !(canBeAbsent(own) && canBeAbsent(set))) return false
  }
  return true
}

function similarKey(key: string, existing: Requirements, wellKnown: ReadonlySet<string>): string | undefined {
  const afterSlash = key.slice(key.lastIndexOf('/') + 1)
  return [...wellKnown, ...existing.keys()].find((known) => known.includes(key) || known.endsWith(afterSlash))
}

/** Returns all sets as list entries, by key. */
export function serializeAll(sets: Requirements): readonly RequirementSpec[] {
  return [...sets.keys()].sort().flatMap((key) => serialize(sets.get(key) as Requirement))
}

/** Returns the text for logs and errors. The hostname is a placeholder of planning and is left out. */
export function describeAll(sets: Requirements): string {
  return [...sets.values()]
    .filter(({ key }) => key !== labels.hostname)
    .map(describe)
    .sort()
    .join(', ')
}

interface PodSelection {
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly affinity?: Affinity | undefined
}

/**
 * Returns a pod's requirements on its node: node selector and the first required term of its node affinity. Unless `strict`, they include its
 * heaviest preferred term, treated as required until it is relaxed (reference/karpenter-core.md 2, "Pod requirements").
 */
export function podRequirements(pod: PodSelection, options: { readonly strict: boolean }): Requirements {
  const entries: RequirementSpec[] = []
  for (const [key, value] of Object.entries(pod.nodeSelector ?? {}))
    entries.push({ key, operator: 'In', values: [value] })
  const affinity = pod.affinity?.nodeAffinity
  if (!options.strict) {
    const preferred = [...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])].sort(
      (a, b) => b.weight - a.weight,
    )[0]
    entries.push(...(preferred?.preference.matchExpressions ?? []))
  }
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms?.[0]
  entries.push(...(required?.matchExpressions ?? []))
  return requirements(entries)
}

/** Whether a pod has a preferred node affinity. */
export function hasPreferredNodeAffinity(pod: PodSelection): boolean {
  return (pod.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0
}
