import { allocatableGroups, type InstanceType } from '../../instance-type.ts'
import { allows, describe, type Requirement } from '../../requirements/requirement.ts'
import { sharedKeysIntersect } from '../../requirements/requirements.ts'
import { mergeResources, noResources, type Resources } from '../../resources.ts'
import { type Quantity, subtractQuantity, zero } from '../../values/quantity.ts'
import { emptyRecord, entryOf } from '../../values/records.ts'
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

/** The type that comes nearest to having room, with its missing resources. */
export interface NearestType {
  readonly type: string
  readonly lacks: Resources
}

/** Returns the type with the fewest missing resources, and of those the one with the smallest share. */
export function nearestByRoom(pool: PoolIndex, types: Bits, requests: Resources): NearestType | undefined {
  let best: { readonly nearest: NearestType; readonly distance: number } | undefined
  const wantedWith = new Map<Resources, Wanted>()
  for (const number of membersOf(types)) {
    const type = pool.index.types[number] as InstanceType
    const daemons = daemonsOn(pool, number)
    const wanted = wantedWith.get(daemons) ?? wantedOf(mergeResources(requests, daemons))
    wantedWith.set(daemons, wanted)
    for (const { allocatable } of allocatableGroups(type)) {
      const lacks = lackOf(wanted, allocatable)
      const distance = distanceOf(lacks, wanted.amounts)
      if (best === undefined || distance < best.distance) best = { nearest: { type: type.name, lacks }, distance }
    }
  }
  return best?.nearest
}

function daemonsOn(pool: PoolIndex, type: number): Resources {
  return pool.groups.find(({ types }) => hasBit(types, type))?.overhead ?? noResources
}

/** What a node has to have room for, and the names of it in order: there are many types to compare it with. */
interface Wanted {
  readonly amounts: Resources
  readonly names: readonly string[]
}

function wantedOf(amounts: Resources): Wanted {
  return { amounts, names: Object.keys(amounts).sort() }
}

function lackOf({ amounts, names }: Wanted, available: Resources): Resources {
  const lacks = emptyRecord<Quantity>()
  const compare = (name: string) => {
    const [wanted, own] = [entryOf(amounts, name) ?? zero, entryOf(available, name) ?? zero]
    if (wanted.nano > own.nano) lacks[name] = subtractQuantity(wanted, own)
  }
  for (const name of names) compare(name)
  // A type whose overhead exceeds its capacity lacks what nobody asks for.
  for (const name in available) if ((available[name] as Quantity).nano < 0n && !names.includes(name)) compare(name)
  return lacks
}

/** Grows with each missing resource, and by at most 1 for the largest missing share. */
function distanceOf(lacks: Resources, wanted: Resources): number {
  const shares = Object.entries(lacks).map(
    ([name, { nano }]) => Number(nano) / Number((entryOf(wanted, name) ?? zero).nano || 1n),
  )
  return shares.length * 2 + Math.max(0, ...shares)
}

/** `3 GiB more memory and 2 more cpu`. */
export function lackText(lacks: Resources): string {
  return Object.entries(lacks)
    .map(([name, amount]) => moreText(name, amount))
    .join(' and ')
}

function moreText(name: string, amount: Quantity): string {
  return isBytes(name) ? `${bytesText(amount)} more ${name}` : `${numberText(amount)} more ${name}`
}

/** `4 cpu`, `16 GiB memory`. */
export function amountText(name: string, amount: Quantity): string {
  return `${isBytes(name) ? bytesText(amount) : numberText(amount)} ${name}`
}

const isBytes = (name: string) => name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-')

function numberText({ nano }: Quantity): string {
  return String(Math.ceil(Number(nano) / 1e6) / 1000)
}

function bytesText({ nano }: Quantity): string {
  const mib = Number(nano) / 1e9 / 2 ** 20
  return mib >= 1024 ? `${Math.ceil((mib / 1024) * 100) / 100} GiB` : `${Math.ceil(mib * 10) / 10} MiB`
}
