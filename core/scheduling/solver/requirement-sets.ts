import { intersect, type Requirement } from '../../requirement.ts'
import { isCompatible, merge, type Requirements, sharedKeysIntersect } from '../../requirements.ts'

/** Requirements that exist once: two are the same exactly when their ids are. The hostname is never among them. */
export interface RequirementSet {
  readonly id: number
  readonly map: Requirements
  /** Ids of the single requirements, by label key. */
  readonly ids: ReadonlyMap<string, number>
  readonly hasMinValues: boolean
  /** What became of this set with others, by their ids; see `RequirementSets.merged`. */
  readonly merges: { readonly lenient: Map<number, Merge>; readonly strict: Map<number, Merge> }
}

/**
 * The set of both; or why there is none: `disjoint` stays so however much the first is narrowed, `unknown` (a key without known values)
 * does not, since a later pod's NotIn makes a key known.
 */
export type Merge = RequirementSet | 'disjoint' | 'unknown'

const noKeys: ReadonlySet<string> = new Set()

/** All requirement sets of a pass, each once, so that what was found out about a pair of them is looked up by two integers. */
export class RequirementSets {
  readonly empty: RequirementSet
  readonly #wellKnown: ReadonlySet<string>
  readonly #byText = new Map<string, RequirementSet>()
  readonly #requirementIds = new Map<string, number>()
  readonly #requirements: Requirement[] = []
  readonly #singles: RequirementSet[] = []
  readonly #known = new WeakMap<Requirement, number>()

  /** `wellKnown`: keys that a NodeClaim may be asked for although its pool says nothing of them. */
  constructor(wellKnown: ReadonlySet<string>) {
    this.#wellKnown = wellKnown
    this.empty = this.intern(new Map())
  }

  /** The id of a single requirement. */
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

  intern(map: Requirements): RequirementSet {
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
      merges: { lenient: new Map(), strict: new Map() },
    }
    this.#byText.set(text, set)
    return set
  }

  /** The set of this requirement alone. */
  single(requirement: Requirement): RequirementSet {
    const id = this.idOf(requirement)
    this.#singles[id] ??= this.intern(new Map([[requirement.key, requirement]]))
    return this.#singles[id]
  }

  /** The set with one more requirement, whether or not both can be met. */
  both(set: RequirementSet, requirement: Requirement): RequirementSet {
    const own = set.map.get(requirement.key)
    return this.intern(
      new Map(set.map).set(requirement.key, own === undefined ? requirement : intersect(own, requirement)),
    )
  }

  /**
   * What a place of `base` becomes with `added`. `lenient` as for NodeClaims, where well-known keys need not be defined; `strict` as for
   * nodes, whose labels are all there is (reference/karpenter-core.md 2).
   */
  merged(base: RequirementSet, added: RequirementSet, mode: 'lenient' | 'strict'): Merge {
    if (added === this.empty) return base
    const memo = base.merges[mode]
    const known = memo.get(added.id)
    if (known !== undefined) return known
    const found = this.#merge(base, added, mode === 'lenient' ? this.#wellKnown : noKeys)
    memo.set(added.id, found)
    return found
  }

  #merge(base: RequirementSet, added: RequirementSet, allowUndefined: ReadonlySet<string>): Merge {
    if (isCompatible(base.map, added.map, allowUndefined)) return this.intern(merge(base.map, added.map.values()))
    return sharedKeysIntersect(base.map, added.map) ? 'unknown' : 'disjoint'
  }
}

function textOf({ key, complement, values, gte, lte, minValues }: Requirement): string {
  return `${key}\u0000${complement ? '!' : ''}${[...values].sort().join('\u0000')}\u0001${gte ?? ''}\u0001${lte ?? ''}\u0001${minValues ?? ''}`
}
