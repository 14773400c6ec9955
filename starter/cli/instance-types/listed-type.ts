import type { LocalDisk } from '../../../activities/azure/catalogue/os-disk.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import type { InstanceType } from '../../../core/instance-type.ts'

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
