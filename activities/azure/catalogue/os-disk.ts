import type { NodeClassSettings } from '../node-class/node-class-settings.ts'

/**
 * A number of bytes. Azure counts disks in GiB and MiB, also where it writes GB and MB, and the label of a size counts in GB: what is compared
 * is bytes.
 */
export type Bytes = number & { readonly unit: 'bytes' }

/** Returns a number of GiB as bytes. */
export const gib = (count: number) => (count * 2 ** 30) as Bytes
const mib = (count: number) => (count * 2 ** 20) as Bytes
const bytes = (count: number) => count as Bytes

/** Returns the whole GiB. */
export const wholeGib = (size: Bytes) => Math.floor(size / 2 ** 30)
const wholeGb = (size: Bytes) => Math.floor(size / 1e9)

/** A disk of the host that a VM's OS disk can be kept on, by Azure's name of the place. */
export interface LocalDisk {
  readonly placement: 'NvmeDisk' | 'CacheDisk' | 'ResourceDisk'
  readonly size: Bytes
}

export interface LocalDisks {
  /** In the order in which they are tried. Unset: an OS disk is always managed. */
  readonly localDisks?: readonly LocalDisk[]
  /** Value of the label `sku-storage-ephemeralos-maxsize`, in GB. */
  readonly ephemeralOsMaxGb?: number
}

/**
 * Returns the disks of a size that can keep an OS disk: those that it names as placements. A list of sizes from before there were placements names
 * none, and had no NVMe. The label is upstream's, for which the first kind of disk counts that there is (reference/azure-provider.md 3.5).
 */
export function localDisksOf(capability: (name: string) => string | undefined): LocalDisks {
  if (capability('EphemeralOSDiskSupported') !== 'True') return {}
  const amount = (name: string) => Number(capability(name))
  const named = capability('SupportedEphemeralOSDiskPlacements')
    ?.split(',')
    .map((placement) => placement.trim().toLowerCase())
  const isNamed = ({ placement }: LocalDisk) => named?.includes(placement.toLowerCase())
  const all: readonly LocalDisk[] = [
    { placement: 'NvmeDisk', size: mib(amount('NvmeDiskSizeInMiB')) },
    { placement: 'CacheDisk', size: bytes(amount('CachedDiskBytes')) },
    { placement: 'ResourceDisk', size: mib(amount('MaxResourceVolumeMB')) },
  ]
  const present = all.filter(
    (disk) => disk.size > 0 && Number.isFinite(disk.size) && (disk.placement !== 'NvmeDisk' || isNamed(disk) === true),
  )
  const [first] = present
  if (first === undefined) return {}
  return { localDisks: present.filter((disk) => isNamed(disk) ?? true), ephemeralOsMaxGb: wholeGb(first.size) }
}

/** Azure keeps no larger OS disk on a host, whatever the host has. */
const largestEphemeral = gib(2040)
/** What Trusted Launch keeps of a VM beside its OS disk. */
const guestState = gib(1)

/** Returns the first local disk of a size that holds the OS disk of a node class; undefined: the OS disk is a managed one. */
export function osDiskPlacement(
  { localDisks = [] }: LocalDisks,
  { spec, trustedLaunch }: Pick<NodeClassSettings, 'spec' | 'trustedLaunch'>,
): LocalDisk['placement'] | undefined {
  const disk = gib(spec.osDiskSizeGB)
  if (spec.osDiskType === 'Managed' || disk > largestEphemeral) return undefined
  const needed = trustedLaunch ? disk + guestState : disk
  return localDisks.find(({ size }) => size >= needed)?.placement
}
