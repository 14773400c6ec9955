import { labels, wellKnownLabels } from './requirements/labels.ts'
import { allows, inValues, operatorOf, type Requirement } from './requirements/requirement.ts'
import { isCompatible, type Requirements, sharedKeysIntersect } from './requirements/requirements.ts'
import { mergeResources, noResources, type Resources, subtractResources } from './resources.ts'
import { type Quantity, subtractQuantity, zero } from './values/quantity.ts'

/** One way to buy an instance type. The price is in USD an hour. */
export interface Offering {
  readonly requirements: Requirements
  readonly price: number
  readonly available: boolean
  readonly reservationCapacity?: number
  /** Amounts that replace the type's for this offering. */
  readonly capacityOverride?: Resources
  readonly overheadOverride?: Overhead
  /** The price is from a NodeOverlay. */
  readonly isPriceOverlaid?: true
}

/** What a node reserves for itself. */
export interface Overhead {
  readonly kubeReserved?: Resources
  readonly systemReserved?: Resources
  readonly evictionThreshold?: Resources
}

/** A VM size with its capacity and its offerings. */
export interface InstanceType {
  readonly name: string
  readonly requirements: Requirements
  readonly offerings: readonly Offering[]
  readonly capacity: Resources
  readonly overhead: Overhead
  /** How many volumes a node can attach, by CSI driver; a driver without an entry has no limit. */
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>
  /** A NodeOverlay added to the capacity. */
  readonly isCapacityOverlaid?: true
}

const typesByName = new WeakMap<readonly InstanceType[], ReadonlyMap<string, InstanceType>>()

/** Returns the type of a name in a list; undefined when it is missing. A list is indexed once. */
export function typeNamed(types: readonly InstanceType[], name: string | undefined): InstanceType | undefined {
  let known = typesByName.get(types)
  if (known === undefined) {
    known = new Map(types.map((type) => [type.name, type]))
    typesByName.set(types, known)
  }
  return known.get(name ?? '')
}

const totalOverhead = ({
  kubeReserved = noResources,
  systemReserved = noResources,
  evictionThreshold = noResources,
}: Overhead): Resources => mergeResources(kubeReserved, systemReserved, evictionThreshold)

/** Returns capacity less overhead; huge pages are taken from memory, which is never negative (reference/karpenter-core.md 1.8). */
export function allocatable({ capacity, overhead }: InstanceType): Resources {
  return withoutOverhead(capacity, totalOverhead(overhead))
}

function withoutOverhead(capacity: Resources, overhead: Resources): Resources {
  const result: Record<string, Quantity> = { ...subtractResources(capacity, overhead) }
  const memory = result['memory']
  if (memory === undefined) return result
  let left = memory
  for (const name in capacity)
    if (name.startsWith('hugepages-')) left = subtractQuantity(left, capacity[name] as Quantity)
  result['memory'] = left.nano < 0n ? { ...zero, format: left.format } : left
  return result
}

/** Healthy offerings of one type that leave a node the same amounts. */
export interface AllocatableGroup {
  readonly allocatable: Resources
  readonly offerings: readonly Offering[]
}

const groupsOfType = new WeakMap<InstanceType, readonly AllocatableGroup[]>()

/** Returns a type's healthy offerings by allocatable amounts. The first group has the type's own amounts and may have no offering. */
export function allocatableGroups(type: InstanceType): readonly AllocatableGroup[] {
  let groups = groupsOfType.get(type)
  if (groups === undefined) {
    const healthy = type.offerings.filter(({ available }) => available)
    const [plain = [], special = []] = [false, true].map((wanted) =>
      healthy.filter((offering) => hasOverride(offering) === wanted),
    )
    const own = { allocatable: allocatable(type), offerings: plain }
    groups = [own, ...special.map((offering) => ({ allocatable: overridden(type, offering), offerings: [offering] }))]
    groupsOfType.set(type, groups)
  }
  return groups
}

function hasOverride({ capacityOverride, overheadOverride }: Offering): boolean {
  return Object.keys(capacityOverride ?? {}).length > 0 || overheadOverride !== undefined
}

function overridden(type: InstanceType, { capacityOverride, overheadOverride }: Offering): Resources {
  const overhead = { ...totalOverhead(type.overhead), ...totalOverhead(overheadOverride ?? {}) }
  return withoutOverhead({ ...type.capacity, ...capacityOverride }, overhead)
}

/** Whether an offering can be launched now: healthy, and with room if it is a reservation. */
export function isLaunchable(offering: Offering): boolean {
  return offering.available && (capacityTypeOf(offering) !== 'reserved' || (offering.reservationCapacity ?? 0) > 0)
}

/** Returns `spot`, `on-demand` or `reserved`; empty when an offering has none. */
export function capacityTypeOf(offering: Offering): string {
  return singleValue(offering.requirements, labels.capacityType)
}

/** Returns the zone label of an offering; empty when it has none. */
export function zoneOf(offering: Offering): string {
  return singleValue(offering.requirements, labels.zone)
}

function singleValue(sets: Requirements, key: string): string {
  const set = sets.get(key)
  return set !== undefined && operatorOf(set) === 'In' && set.values.size === 1 ? ([...set.values][0] as string) : ''
}

/** Returns the offerings that a request may use: the request must define custom keys of an offering. */
export function compatibleOfferings(
  type: InstanceType,
  wanted: Requirements,
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): readonly Offering[] {
  return type.offerings.filter((offering) => isCompatible(wanted, offering.requirements, wellKnown))
}

/** Returns the lowest price at which a type can be launched for a request; undefined when it cannot. */
export function cheapestPrice(
  type: InstanceType,
  wanted: Requirements,
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): number | undefined {
  let best: number | undefined
  for (const offering of type.offerings) {
    if (!isLaunchable(offering) || (best !== undefined && offering.price >= best)) continue
    if (isCompatible(wanted, offering.requirements, wellKnown)) best = offering.price
  }
  return best
}

const capacityTypes = ['reserved', 'spot', 'on-demand'].map(
  (name) => new Map([[labels.capacityType, inValues(labels.capacityType, [name])]]),
)

/**
 * Returns the highest possible price of a launch: the highest price among the first of reserved, spot and on-demand that has compatible offerings
 * (reference/karpenter-core.md 4.7). Undefined when there is none.
 */
export function worstLaunchPrice(
  offerings: readonly Offering[],
  wanted: Requirements,
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): number | undefined {
  const usable = offerings.filter((one) => isCompatible(wanted, one.requirements, wellKnown))
  for (const capacityType of capacityTypes) {
    const own = usable.filter((one) => isCompatible(capacityType, one.requirements, wellKnown))
    if (own.length > 0) return Math.max(...own.map(({ price }) => price))
  }
  return undefined
}

export interface MinValuesResult {
  /** How many types, in the order given, are needed until every minValues holds; all of them when it never does. */
  readonly needed: number
  /** Keys that stay below their minValues, with the number of their distinct values. */
  readonly unsatisfied: ReadonlyMap<string, number>
}

/**
 * Checks minValues over types in their order. A value counts only where the narrowed requirement admits it (reference/karpenter-1.15.md 2). As
 * upstream, nothing is unsatisfied when there are no types.
 */
export function minValues(types: readonly InstanceType[], wanted: Requirements): MinValuesResult {
  const open = [...wanted.values()].filter((set) => set.minValues !== undefined)
  const seen = new Map(open.map((set) => [set.key, new Set<string>()]))
  const isShort = (set: Requirement) => (seen.get(set.key)?.size ?? 0) < (set.minValues ?? 0)
  if (open.length === 0 || types.length === 0) return { needed: 0, unsatisfied: new Map() }
  let needed = 0
  for (const type of types) {
    needed += 1
    for (const set of open) {
      for (const value of type.requirements.get(set.key)?.values ?? [])
        if (allows(set, value)) seen.get(set.key)?.add(value)
    }
    if (!open.some(isShort)) return { needed, unsatisfied: new Map() }
  }
  return { needed, unsatisfied: new Map(open.filter(isShort).map((set) => [set.key, seen.get(set.key)?.size ?? 0])) }
}

/** Whether a type's own labels can meet a request; custom keys that the type does not define are ignored. */
export function typeMatches(type: InstanceType, wanted: Requirements): boolean {
  return sharedKeysIntersect(type.requirements, wanted)
}
