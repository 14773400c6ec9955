import { capacityTypeOf, type InstanceType, typeMatches, zoneOf } from '../../instance-type.ts'
import { isCompatible, type Requirements } from '../../requirements/requirements.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { some } from './funnel-types.ts'

/** An offering that would do and cannot be bought now. */
export interface MissingOffering {
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
}

/** Types that would do if they were for sale. */
export interface Unsold {
  /** How many types meet the requirements, whether they are for sale or not. */
  readonly meeting: number
  /** Names of those with room whose offerings that would do cannot be bought. */
  readonly types: readonly string[]
  /** The first few of these offerings. */
  readonly missing: readonly MissingOffering[]
}

const mostMissing = 50

/** Returns what would do for a node with these requirements if it were for sale. `hasRoom`: whether a type, by its number, has room for the pod. */
export function unsoldOf(
  { index: { types } }: PoolIndex,
  { map }: RequirementSet,
  { wellKnown, hasRoom }: { readonly wellKnown: ReadonlySet<string>; readonly hasRoom: (type: number) => boolean },
): Unsold {
  const meeting = types.flatMap((type, number) =>
    typeMatches(type, withoutOffered(map, type)) ? [{ type, hasRoom: hasRoom(number) }] : [],
  )
  const missing = meeting.flatMap(({ type, hasRoom: fits }) => (fits ? missingOf(type, map, wellKnown) : []))
  return {
    meeting: meeting.length,
    types: [...new Set(missing.map(({ instanceType }) => instanceType))],
    missing: missing.slice(0, mostMissing),
  }
}

/** Says that types would do, and that none of them is for sale. */
export function unsoldText({ types, missing }: Unsold): string {
  const capacityTypes = [...new Set(missing.map(({ capacityType }) => capacityType))].join(' or ')
  const many = types.length === 1 ? 'type would do, and it cannot' : 'types would do, and none of them can'
  return `${types.length} ${many} be bought as ${capacityTypes} now: ${some(types)}`
}

function missingOf(
  { name, offerings }: InstanceType,
  wanted: Requirements,
  wellKnown: ReadonlySet<string>,
): readonly MissingOffering[] {
  return offerings
    .filter(({ available, requirements }) => !available && isCompatible(wanted, requirements, wellKnown))
    .map((offering) => ({ instanceType: name, zone: zoneOf(offering), capacityType: capacityTypeOf(offering) }))
}

/** A type's own zones, capacity types and the like are only those that it can be bought in now. */
function withoutOffered(wanted: Requirements, { offerings }: InstanceType): Requirements {
  const offered = new Set(offerings.flatMap(({ requirements }) => [...requirements.keys()]))
  return new Map([...wanted].filter(([key]) => !offered.has(key)))
}
