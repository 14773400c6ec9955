import { type LocalDisk, wholeGib } from '../../../activities/azure/catalogue/os-disk.ts'
import { isUnknownPrice } from '../../../activities/azure/catalogue/pricing.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { allocatable, capacityTypeOf, type InstanceType, type Offering, zoneOf } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { operatorOf, type Requirement, sortedValues } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'
import { formatResources } from '../../../core/resources.ts'
import { type Quantity, quantityMilliValue } from '../../../core/values/quantity.ts'
import { type Column, type Table, tableOf } from '../../document/document.ts'

const columns: readonly Column<ListedType>[] = [
  ['NAME', ({ type }) => type.name],
  ['ARCH', ({ size }) => size.arch],
  ['VCPU', ({ size }) => String(size.vCpus)],
  ['MEMORY', ({ size }) => `${size.memoryGib}Gi`],
  ['ALLOCATABLE', ({ type }) => allocatableText(allocatable(type))],
  ['GPU', gpuText],
  ['ZONES', ({ offerings }) => zonesText(offerings)],
  ['ON-DEMAND', ({ offerings }) => priceText(offerings, 'on-demand')],
  ['SPOT', ({ offerings }) => priceText(offerings, 'spot')],
  ['AVAILABLE', ({ offerings }) => `${offerings.filter((one) => one.available).length}/${offerings.length}`],
]

const wideColumns: readonly Column<ListedType>[] = [
  ...columns,
  ['PODS', ({ type }) => String(quantityMilliValue(type.capacity['pods'] as Quantity) / 1000n)],
  ['SERIES', ({ size }) => size.series],
  ['QUOTA FAMILY', ({ size }) => size.family],
  ['GENERATIONS', ({ size }) => size.hyperVGenerations.join(',')],
  ['OS DISK', ({ osDisk: { placement, sizeGib } }) => `${sizeGib}Gi ${placement}`],
  ['LOCAL DISKS', localDisksText],
  ['PREMIUM', ({ size }) => yesNo(size.premiumStorage)],
  ['ACCELERATED', ({ size }) => yesNo(size.acceleratedNetworking)],
  ['ENCRYPTED', ({ size }) => yesNo(size.encryptionAtHost)],
]

/** A row for each type. `isWide`: with more of each size. */
export function typesTable(listed: readonly ListedType[], isWide: boolean): Table {
  return tableOf(listed, isWide ? wideColumns : columns)
}

/** Sizes with the reason why no node can have them, by reason. */
export function byReason(excluded: readonly ExcludedSize[]): readonly ExcludedSize[] {
  return excluded.toSorted((a, b) => (`${a.reason} ${a.name}` < `${b.reason} ${b.name}` ? -1 : 1))
}

function allocatableText({ cpu, memory }: Readonly<Record<string, Quantity>>): string {
  const mebibytes = (memory?.nano ?? 0n) / 1_000_000_000n / 2n ** 20n
  return `${quantityMilliValue(cpu as Quantity)}m ${mebibytes}Mi`
}

function gpuText({ size: { gpus, gpu, gpuName } }: ListedType): string {
  return gpu === undefined || gpus === 0 ? '-' : `${gpus} ${gpuName ?? gpu.vendor}`
}

/** The disks that can keep an OS disk, in the order in which they are tried. */
function localDisksText({ size: { localDisks = [] } }: ListedType): string {
  return localDisks.map(({ placement, size }) => `${wholeGib(size)}Gi ${placement}`).join(', ') || '-'
}

/** The numbers of zones in which it can be had; 0 stands for the region, without a zone. */
function zonesText(offerings: readonly Offering[]): string {
  const zones = new Set(offerings.filter(({ available }) => available).map(zoneOf))
  return [...zones].map((zone) => zone.slice(zone.lastIndexOf('-') + 1)).join(',') || '-'
}

/** The lowest price of what is left of a capacity type, in parentheses where none of it can be had. */
function priceText(offerings: readonly Offering[], capacityType: string): string {
  const own = offerings.filter((offering) => capacityTypeOf(offering) === capacityType)
  if (own.length === 0) return '-'
  const available = own.filter((offering) => offering.available)
  const price = Math.min(...(available.length > 0 ? available : own).map((offering) => offering.price))
  const text = isUnknownPrice(price) ? 'unknown' : String(Number(price.toFixed(5)))
  return available.length > 0 ? text : `(${text})`
}

const yesNo = (is: boolean) => (is ? 'yes' : 'no')

/** An instance type with the offerings that the requirements leave, and its lowest price; without one it cannot be had. */
export interface ListedType {
  readonly type: InstanceType
  readonly size: VmSize
  /** Where a node of the class would have its OS disk. */
  readonly osDisk: { readonly placement: LocalDisk['placement'] | 'Managed'; readonly sizeGib: number }
  readonly offerings: InstanceType['offerings']
  readonly price: number | undefined
}

/** A size that no node can have. */
export interface ExcludedSize {
  readonly name: string
  readonly reason: string
}

/** The types as `joiner simulate --catalog` takes them, with what is allocatable and the OS disk beside it. */
export function catalogJson(listed: readonly ListedType[]) {
  return {
    instanceTypes: listed.map(({ type, offerings, price, osDisk }) => ({
      name: type.name,
      ...(price === undefined ? {} : { price }),
      requirements: specs(type.requirements),
      offerings: offerings.map((offering) => ({
        requirements: specs(offering.requirements),
        price: offering.price,
        available: offering.available,
      })),
      capacity: formatResources(type.capacity),
      allocatable: formatResources(allocatable(type)),
      osDisk,
      overhead: Object.fromEntries(
        Object.entries(type.overhead).map(([part, resources]) => [part, formatResources(resources)]),
      ),
    })),
    wellKnownLabels: [...wellKnownLabels],
  }
}

const specs = (sets: Requirements) => [...sets.values()].map(spec)

function spec(set: Requirement): RequirementSpec {
  const operator = operatorOf(set)
  return operator === 'In' ? { key: set.key, operator, values: sortedValues(set) } : { key: set.key, operator }
}
