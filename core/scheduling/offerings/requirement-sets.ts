import { unclaimable } from '../../requirements/claim-requirements.ts'
import { labels as labelKeys } from '../../requirements/labels.ts'
import { allows, intersect, intersects, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import {
  canBeAbsent,
  isCompatible,
  merge,
  type Requirements,
  requirementsOfLabels,
} from '../../requirements/requirements.ts'

/** Requirements that exist once: two are the same exactly when their ids are. The hostname is never among them. */
export interface RequirementSet {
  readonly id: number
  readonly map: Requirements
  /** Ids of the single requirements, by label key. */
  readonly ids: ReadonlyMap<string, number>
  readonly hasMinValues: boolean
  /** Results of merging this set with others, by their ids; see `RequirementSets.merged`. */
  readonly merges: Readonly<Record<MergeMode, Map<number, Merge>>>
  /** Whether a NodeClaim can be created with it; unset until the first query. */
  claimable: boolean | undefined
}

/**
 * The merged set, or why there is none. `disjoint` holds however much the first is narrowed; `open` may change. As upstream, a later pod's NotIn
 * defines a key without known values, and turns a key that must exist into one that may be absent. Requirements that no NodeClaim can have are
 * `open`: values that are left out later shorten them.
 */
export type Merge = RequirementSet | 'disjoint' | 'open'

/**
 * How sets are merged. `strict`: for a node, which has all of its labels. `lenient`: for a new node, where well-known keys need not be defined.
 * `claim`: the same, limited to requirements that a NodeClaim can be created with.
 */
export type MergeMode = 'strict' | 'lenient' | 'claim'

const noKeys: ReadonlySet<string> = new Set()

/** All requirement sets of a pass, each once, so that results for a pair of them are found by two integers. */
export class RequirementSets {
  readonly empty: RequirementSet
  readonly #wellKnown: ReadonlySet<string>
  readonly #byText = new Map<string, RequirementSet>()
  readonly #requirementIds = new Map<string, number>()
  readonly #requirements: Requirement[] = []
  readonly #singles: RequirementSet[] = []
  readonly #ofMap = new WeakMap<Requirements, RequirementSet>()
  readonly #ofLabels = new WeakMap<Readonly<Record<string, string>>, RequirementSet>()
  readonly #known = new WeakMap<Requirement, number>()

  /** `wellKnown`: keys that a NodeClaim may require although its pool does not define them. */
  constructor(wellKnown: ReadonlySet<string>) {
    this.#wellKnown = wellKnown
    this.empty = this.intern(new Map())
  }

  get size(): number {
    return this.#byText.size
  }

  /** Returns the id of a single requirement. */
  idOf(requirement: Requirement): number {
    const known = this.#known.get(requirement)
    if (known !== undefined) return known
    const text = textOf(requirement)
    let id = this.#requirementIds.get(text)
    if (id === undefined) {
      id = this.#requirements.length
      this.#requirementIds.set(text, id)
      this.#requirements.push(requirement)
    }
    this.#known.set(requirement, id)
    return id
  }

  requirement(id: number): Requirement {
    return this.#requirements[id] as Requirement
  }

  /** Returns the set that exactly these labels meet, except for the hostname. One object's labels are converted once. */
  ofLabels(labels: Readonly<Record<string, string>>): RequirementSet {
    const known = this.#ofLabels.get(labels)
    if (known !== undefined) return known
    const set = this.intern(withoutHostname(requirementsOfLabels(labels)))
    this.#ofLabels.set(labels, set)
    return set
  }

  intern(map: Requirements): RequirementSet {
    const met = this.#ofMap.get(map)
    if (met !== undefined) return met
    const set = this.#intern(map)
    this.#ofMap.set(map, set)
    return set
  }

  #intern(map: Requirements): RequirementSet {
    const ids = new Map<string, number>()
    let hasMinValues = false
    for (const [key, requirement] of map) {
      ids.set(key, this.idOf(requirement))
      hasMinValues ||= requirement.minValues !== undefined
    }
    const text = [...ids.values()].sort((a, b) => a - b).join()
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    const set: RequirementSet = {
      id: this.#byText.size,
      map,
      ids,
      hasMinValues,
      merges: { strict: new Map(), lenient: new Map(), claim: new Map() },
      claimable: undefined,
    }
    this.#byText.set(text, set)
    return set
  }

  /** Returns the set of this requirement alone. */
  single(requirement: Requirement): RequirementSet {
    const id = this.idOf(requirement)
    this.#singles[id] ??= this.intern(new Map([[requirement.key, requirement]]))
    return this.#singles[id]
  }

  /** Returns the set with one more requirement, whether or not both can be met. */
  both(set: RequirementSet, requirement: Requirement): RequirementSet {
    const own = set.map.get(requirement.key)
    return this.intern(
      new Map(set.map).set(requirement.key, own === undefined ? requirement : intersect(own, requirement)),
    )
  }

  /** Returns the set with other minValues for some of its keys. */
  withMinValues(set: RequirementSet, achievable: ReadonlyMap<string, number>): RequirementSet {
    const map = new Map(set.map)
    for (const [key, value] of achievable) map.set(key, { ...(map.get(key) as Requirement), minValues: value })
    return this.intern(map)
  }

  /** Returns what a place of `base` becomes with `added` (reference/karpenter-core.md 2). */
  merged(base: RequirementSet, added: RequirementSet, mode: MergeMode): Merge {
    if (added === this.empty) return mode !== 'claim' || isClaimable(base) ? base : 'open'
    const memo = base.merges[mode]
    const known = memo.get(added.id)
    if (known !== undefined) return known
    const both = this.#merge(base, added, mode === 'strict' ? noKeys : this.#wellKnown)
    const found = mode === 'claim' && typeof both !== 'string' && !isClaimable(both) ? 'open' : both
    memo.set(added.id, found)
    return found
  }

  /**
   * Returns what a place of `base` becomes with the domains that topology chose. As upstream, exclusions of `base` are removed from them before the
   * comparison. If none is left, a key that may be absent must be absent.
   */
  narrowed(base: RequirementSet, chosen: RequirementSet, mode: MergeMode): Merge {
    const direct = this.merged(base, chosen, mode)
    if (typeof direct !== 'string') return direct
    const left = new Map<string, Requirement>()
    for (const [key, wanted] of chosen.map) {
      const own = base.map.get(key)
      if (own !== undefined && !intersects(own, wanted) && !canBeAbsent(own)) return direct
      left.set(key, own === undefined ? wanted : intersect(own, wanted))
    }
    return this.merged(base, this.intern(left), mode)
  }

  #merge(base: RequirementSet, added: RequirementSet, allowUndefined: ReadonlySet<string>): Merge {
    if (isWithin(base, added)) return base
    if (isCompatible(base.map, added.map, allowUndefined)) return this.intern(merge(base.map, added.map.values()))
    return stayDisjoint(base.map, added.map) ? 'disjoint' : 'open'
  }
}

function isClaimable(set: RequirementSet): boolean {
  set.claimable ??= unclaimable(set.map) === undefined
  return set.claimable
}

/** Whether a key of both can never be met, however much `base` is narrowed. */
function stayDisjoint(base: Requirements, added: Requirements): boolean {
  for (const [key, wanted] of added) {
    const own = base.get(key)
    if (own === undefined || intersects(own, wanted)) continue
    if (!canBeAbsent(wanted) || operatorOf(own) === 'In') return true
  }
  return false
}

function textOf({ key, complement, values, gte, lte, minValues }: Requirement): string {
  return `${key}\u0000${complement ? '!' : ''}${[...values].sort().join('\u0000')}\u0001${gte ?? ''}\u0001${lte ?? ''}\u0001${minValues ?? ''}`
}

/** Whether the base has one matching value for each added key: the usual case of labels and a selector. */
function isWithin(base: RequirementSet, added: RequirementSet): boolean {
  for (const [key, wanted] of added.map) {
    const own = base.map.get(key)
    if (own === undefined || own.complement || own.values.size !== 1) return false
    if (wanted.minValues !== undefined || !allows(wanted, own.values.values().next().value as string)) return false
  }
  return true
}

export function withoutHostname(all: Requirements): Requirements {
  if (!all.has(labelKeys.hostname)) return all
  return new Map([...all].filter(([key]) => key !== labelKeys.hostname))
}
