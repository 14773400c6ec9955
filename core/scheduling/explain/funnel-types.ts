import type { InstanceType } from '../../instance-type.ts'
import { allows, describe, type Requirement } from '../../requirements/requirement.ts'
import { sharedKeysIntersect } from '../../requirements/requirements.ts'
import { entryOf } from '../../values/records.ts'
import type { Amounts } from '../offerings/amounts.ts'
import { addBit, type Bits, hasBit, keep, membersOf, noBits } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet, RequirementSets } from '../offerings/requirement-sets.ts'

/** Number of a pool's instance types that are left after each further stage. */
export interface Funnel {
  readonly types: number
  /** Their labels meet all requirements: the pool's, the pods' and what volumes and topology add. */
  readonly requirements: number
  /** They have room for the requests beside the daemons. */
  readonly resources: number
  /** They have a launchable offering for it. */
  readonly offerings: number
  /** They are within the pool's limits. */
  readonly limits: number
}

/** The types that each stage leaves. */
export interface Stages {
  readonly requirements: Bits
  readonly resources: Bits
  readonly offerings: Bits
  readonly limits: Bits
}

interface TypeQuestion {
  readonly requests: Float64Array
  /** The types that limits leave. */
  readonly within: Bits
}

/** Evaluates a placement's conditions on a pool's types one by one, where the pass evaluates them together. Slow: for explanations only. */
export class TypeQuestions {
  readonly #sets: RequirementSets
  readonly #amounts: Amounts
  readonly #spare = new Map<PoolIndex, readonly Float64Array[]>()
  readonly #room = new Map<PoolIndex, Map<Float64Array, Bits>>()

  constructor({ sets, amounts }: { readonly sets: RequirementSets; readonly amounts: Amounts }) {
    this.#sets = sets
    this.#amounts = amounts
  }

  ask(pool: PoolIndex, set: RequirementSet, { requests, within }: TypeQuestion): Stages {
    const { index } = pool
    const requirements = index.meeting(set).slice()
    const resources = noBits(index.types.length)
    const offerings = noBits(index.types.length)
    const matching = index.matching(set)
    const room = this.#slotsWithRoom(pool, requests)
    index.slots.forEach(({ type }, slot) => {
      if (!hasBit(room, slot) || !hasBit(requirements, type)) return
      addBit(resources, type)
      if (hasBit(matching, slot)) addBit(offerings, type)
    })
    const limits = offerings.slice()
    keep(limits, within)
    return { requirements, resources, offerings, limits }
  }

  /** Explanations ask about the same requests many times, with other requirements. */
  #slotsWithRoom(pool: PoolIndex, requests: Float64Array): Bits {
    const known = this.#room.get(pool) ?? new Map<Float64Array, Bits>()
    this.#room.set(pool, known)
    let room = known.get(requests)
    if (room === undefined) {
      room = noBits(pool.index.slots.length)
      for (let slot = 0; slot < pool.index.slots.length; slot++)
        if (this.hasRoom(pool, slot, requests)) addBit(room, slot)
      known.set(requests, room)
    }
    return room
  }

  /** Returns what a node of this slot leaves for pods. */
  spareOf(pool: PoolIndex, slot: number): Float64Array {
    let spare = this.#spare.get(pool)
    if (spare === undefined) {
      const overheads = pool.groups.map(({ overhead }) => this.#amounts.vector(overhead))
      spare = pool.index.slots.map(({ type, free }) => {
        const group = pool.groups.findIndex(({ types }) => hasBit(types, type))
        const overhead = overheads[group]
        return overhead === undefined ? free : free.map((amount, at) => amount - (overhead[at] as number))
      })
      this.#spare.set(pool, spare)
    }
    return spare[slot] as Float64Array
  }

  hasRoom(pool: PoolIndex, slot: number, requests: Float64Array): boolean {
    return this.spareOf(pool, slot).every((amount, at) => amount >= Math.max(0, requests[at] as number))
  }

  /** Returns the set without one key. */
  without(set: RequirementSet, key: string): RequirementSet {
    return this.#sets.intern(new Map([...set.map].filter(([other]) => other !== key)))
  }
}

export function funnelOf(pool: PoolIndex, stages: Stages): Funnel {
  return {
    types: pool.index.types.length,
    requirements: countOf(stages.requirements),
    resources: countOf(stages.resources),
    offerings: countOf(stages.offerings),
    limits: countOf(stages.limits),
  }
}

export const countOf = (bits: Bits) => membersOf(bits).length

/** Returns the values that these types can have for a key within the set, by their offerings where those define it. */
export function valuesOf(types: readonly InstanceType[], key: string, set: RequirementSet): readonly string[] {
  const values = new Set<string>()
  const asked = set.map.get(key)
  for (const { requirements, offerings } of types) {
    const fitting = offerings.filter(
      ({ available, requirements: own }) => available && sharedKeysIntersect(set.map, own),
    )
    const offered = fitting.map(({ requirements: own }) => own.get(key))
    const reported = offered.some((own) => own !== undefined) ? offered : [requirements.get(key)]
    for (const own of reported)
      for (const value of own?.values ?? []) if (asked === undefined || allows(asked, value)) values.add(value)
  }
  return [...values].sort()
}

export function typesOf(pool: PoolIndex, bits: Bits): readonly InstanceType[] {
  return membersOf(bits).map((type) => pool.index.types[type] as InstanceType)
}

/** Returns `key In [a b]`, or only the rest of a well-known key: `zone In [a b]`. */
export function shortly(one: Requirement): string {
  return describe(one).replace(/^\S+/, shortKey(one.key))
}

const shortKeys: Readonly<Record<string, string>> = {
  'topology.kubernetes.io/zone': 'zone',
  'karpenter.sh/capacity-type': 'capacity type',
  'node.kubernetes.io/instance-type': 'instance type',
  'kubernetes.io/arch': 'arch',
  'kubernetes.io/os': 'os',
}

export const shortKey = (key: string) => entryOf(shortKeys, key) ?? key

/** Returns a few of many. */
export function some(values: readonly string[], most = 4): string {
  return values.length <= most
    ? values.join(', ')
    : `${values.slice(0, most).join(', ')} and ${values.length - most} more`
}
