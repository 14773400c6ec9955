import { allocatableGroups, type InstanceType } from '../../instance-type.ts'
import { mergeResources, noResources, type Resources } from '../../resources.ts'
import { type Quantity, subtractQuantity, zero } from '../../values/quantity.ts'
import { emptyRecord, entryOf } from '../../values/records.ts'
import { type Bits, hasBit, membersOf } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'

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
