import { allocatableGroups, type InstanceType, type Offering } from '../../instance-type.ts'
import { labels } from '../../requirements/labels.ts'
import { isCompatible, sharedKeysIntersect } from '../../requirements/requirements.ts'
import type { Amounts } from './amounts.ts'
import { addAll, addBit, allBits, type Bits, hasBit, keep, membersOf, noBits } from './bits.ts'
import { PriceList } from './price-list.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'
import { Room } from './room.ts'

/** Healthy offerings of one type that leave the same room. */
interface Slot {
  readonly type: number
  /** Allocatable, without daemons. */
  readonly free: Float64Array
  readonly offerings: readonly Offering[]
}

/** What daemons take of each node of some types. */
interface Overhead {
  readonly types: Bits
  readonly overhead: Float64Array
}

/** Rooms to keep: NodePools share a list of types and may have other daemons, which change now and then. */
const mostRooms = 32

/** Types that share a requirement on one key. */
interface SameRequirement {
  readonly requirement: RequirementSet
  readonly types: Bits
}

/**
 * Offers of one list's types, as bits: which meet a requirement set with a healthy offering, and which have room. Types are in order of their names.
 * A slot is a type with offerings of the same room; most types have one.
 */
export class TypeIndex {
  readonly types: readonly InstanceType[]
  readonly slots: readonly Slot[]
  /** Whether each slot is the type of the same number. */
  readonly plain: boolean
  /** Slots with capacity for pods: nothing fits where overhead exceeds capacity. */
  readonly sound: Bits
  readonly prices: PriceList
  /** Of each type. */
  readonly capacity: readonly Float64Array[]
  readonly hasReserved: boolean
  /** Labels that a type or an offering decides. */
  readonly defined: ReadonlySet<string>
  readonly #sets: RequirementSets
  readonly #wellKnown: ReadonlySet<string>
  readonly #byKey = new Map<string, SameRequirement[]>()
  readonly #undefinedByKey = new Map<string, Bits>()
  /** Slots by their offerings' requirements; equal requirements are one entry. */
  readonly #offered: { readonly requires: RequirementSet; readonly slots: Bits }[] = []
  readonly #meeting = new Map<number, Bits>()
  readonly #matching = new Map<number, Bits>()
  readonly #resources: number
  /** By overheads. */
  readonly #rooms = new Map<string, Room>()

  constructor(
    types: readonly InstanceType[],
    { sets, amounts, wellKnown }: { sets: RequirementSets; amounts: Amounts; wellKnown: ReadonlySet<string> },
  ) {
    this.types = [...types].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    this.#sets = sets
    this.#wellKnown = wellKnown
    this.prices = new PriceList(this.types, sets, wellKnown)
    this.slots = this.types.flatMap((type, index) => slotsOf(type, index, amounts))
    this.plain = this.slots.length === this.types.length && this.slots.every(({ type }, index) => type === index)
    this.sound = noBits(this.slots.length)
    this.slots.forEach(({ free }, slot) => {
      if (free.every((amount) => amount >= 0)) addBit(this.sound, slot)
    })
    this.#resources = amounts.size
    this.capacity = this.types.map(({ capacity }) => amounts.vector(capacity))
    this.hasReserved = this.types.some(({ offerings }) =>
      offerings.some(({ requirements }) => requirements.get(labels.capacityType)?.values.has('reserved')),
    )
    this.#indexRequirements()
    this.#indexOfferings()
    this.defined = new Set([
      ...this.#byKey.keys(),
      ...this.#offered.flatMap(({ requires }) => [...requires.map.keys()]),
    ])
  }

  /** Returns types whose own labels can meet the set; keys that a type does not define are ignored. */
  meeting(set: RequirementSet): Bits {
    const known = this.#meeting.get(set.id)
    if (known !== undefined) return known
    const met = allBits(this.types.length)
    for (const [key, id] of set.ids) {
      const groups = this.#byKey.get(key)
      if (groups !== undefined) keep(met, this.#meetingRequirement(key, id, groups))
    }
    this.#meeting.set(set.id, met)
    return met
  }

  /** Returns slots whose type meets the set and that have a healthy offering for it. */
  matching(set: RequirementSet): Bits {
    const known = this.#matching.get(set.id)
    if (known !== undefined) return known
    const matching = noBits(this.slots.length)
    for (const { requires, slots } of this.#offered)
      if (isCompatible(set.map, requires.map, this.#wellKnown)) addAll(matching, slots)
    const met = this.meeting(set)
    if (this.plain) keep(matching, met)
    else
      for (const slot of membersOf(matching))
        if (!hasBit(met, (this.slots[slot] as Slot).type))
          matching[slot >>> 5] = (matching[slot >>> 5] as number) & ~(1 << (slot & 31))
    this.#matching.set(set.id, matching)
    return matching
  }

  /** Returns what the slots leave beside daemons, of which each type is in one group at most. From one pass to the next they are mostly the same. */
  roomBeside(daemons: readonly Overhead[]): Room {
    const key = daemons.map(({ types, overhead }) => `${types.join()}:${overhead.join()}`).join(';')
    const known = this.#rooms.get(key)
    if (known !== undefined) return known
    const free = this.slots.map(({ type, free: all }) => {
      const overhead = daemons.find(({ types }) => hasBit(types, type))?.overhead
      return overhead === undefined ? all : all.map((amount, at) => amount - (overhead[at] as number))
    })
    const room = new Room(free, this.#resources)
    if (this.#rooms.size >= mostRooms) this.#rooms.clear()
    this.#rooms.set(key, room)
    return room
  }

  /** Returns types of at least one of the slots. */
  typesOf(slots: Bits): Bits {
    if (this.plain) return slots
    const types = noBits(this.types.length)
    for (const slot of membersOf(slots)) addBit(types, (this.slots[slot] as Slot).type)
    return types
  }

  readonly #byRequirement = new Map<number, Bits>()

  #meetingRequirement(key: string, id: number, groups: readonly SameRequirement[]): Bits {
    const known = this.#byRequirement.get(id)
    if (known !== undefined) return known
    const wanted = new Map([[key, this.#sets.requirement(id)]])
    const met = (this.#undefinedByKey.get(key) as Bits).slice()
    for (const { requirement, types } of groups) if (sharedKeysIntersect(requirement.map, wanted)) addAll(met, types)
    this.#byRequirement.set(id, met)
    return met
  }

  #indexRequirements(): void {
    const byKey = new Map<string, Map<number, SameRequirement>>()
    this.types.forEach(({ requirements }, index) => {
      for (const [key, requirement] of requirements) {
        const groups = byKey.get(key) ?? new Map<number, SameRequirement>()
        byKey.set(key, groups)
        const id = this.#sets.idOf(requirement)
        let group = groups.get(id)
        if (group === undefined) {
          group = { requirement: this.#sets.intern(new Map([[key, requirement]])), types: noBits(this.types.length) }
          groups.set(id, group)
        }
        addBit(group.types, index)
      }
    })
    for (const [key, groups] of byKey) {
      const defined = noBits(this.types.length)
      for (const { types } of groups.values()) addAll(defined, types)
      const all = allBits(this.types.length)
      this.#undefinedByKey.set(
        key,
        all.map((word, at) => word & ~(defined[at] as number)),
      )
      this.#byKey.set(key, [...groups.values()])
    }
  }

  #indexOfferings(): void {
    const byRequirements = new Map<number, { requires: RequirementSet; slots: Bits }>()
    this.slots.forEach(({ offerings }, slot) => {
      for (const offering of offerings) {
        const requires = this.#sets.intern(offering.requirements)
        let entry = byRequirements.get(requires.id)
        if (entry === undefined) {
          entry = { requires, slots: noBits(this.slots.length) }
          byRequirements.set(requires.id, entry)
          this.#offered.push(entry)
        }
        addBit(entry.slots, slot)
      }
    })
  }
}

/** A type without a healthy offering still has one slot, which nothing matches. */
function slotsOf(type: InstanceType, index: number, amounts: Amounts): Slot[] {
  const groups = allocatableGroups(type)
  const sold = groups.filter(({ offerings }) => offerings.length > 0)
  return (sold.length > 0 ? sold : groups).map(({ allocatable, offerings }) => ({
    type: index,
    free: amounts.vector(allocatable),
    offerings,
  }))
}
