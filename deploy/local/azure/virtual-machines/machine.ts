import type { KubeletStart } from '../boot/kubelet-start.ts'
import type { BootResult } from '../boot/provision.ts'
import type { VmSize } from '../catalogue/sku-catalogue.ts'
import type { Address } from '../network/addresses.ts'

/** What a kubelet is started with by AKS itself, which writes the configuration of its machines' nodes. */
export type AksKubelet = Omit<KubeletStart, 'server' | 'ca' | 'identity'>

type ProvisioningState = 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'

/** A VM as the simulator keeps it: the body of its PUT, and what became of it. */
export interface Machine {
  readonly name: string
  readonly vmId: string
  /** What a PUT or PATCH changes is replaced whole. */
  body: MachineBody
  readonly timeCreated: string
  /** Of its NICs' IP configurations, in their order. */
  readonly addresses: readonly Address[]
  readonly size: VmSize
  state: ProvisioningState
  failure?: AsyncFailure
  /** Its deletion was accepted, and comes to this. */
  deleteFailure?: AsyncFailure
  /** Until when Azure keeps the NICs of a VM that failed, in epoch milliseconds. */
  nicsReservedUntilMs?: number
  /** By name in lower case. */
  extensions?: Readonly<Record<string, Extension>>
  power: 'running' | 'stopped' | 'deallocated' | 'frozen'
  joins: boolean
  /** The kubelet that AKS starts on it, where it is the VM of an AKS machine; others are configured by their custom data. */
  aksKubelet?: AksKubelet
  /** When the last operation on it ended, as its instance view says; RFC 3339. */
  provisionedAt?: string
  /** Of its last boot; unset before the first restart. */
  bootId?: string
  /** How it was provisioned, once it has booted. */
  boot?: BootResult
  /** Its kubelet has registered the Node. */
  joined?: boolean
  /** When Azure takes a spot VM back, in epoch milliseconds. */
  evictAtMs?: number
  /** That time was drawn by the rate of evictions. */
  isEvictionDrawn?: boolean
  /** Azure has given notice that it takes the VM back. */
  preemption?: { readonly atMs: number; readonly eventId: string }
  /** Its NIC stays when the VM goes, whatever its delete option says. */
  keepsNics?: boolean
  /** Tags of its NICs and disks that were changed after the VM was made, by their names. */
  partTags?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The Node's client certificate, once it has one: a restarted simulator goes on being that kubelet. */
  credential?: { readonly cert: string; readonly key: string }
}

/** An extension as the simulator keeps it: the body of its PUT, and what became of it. */
export interface Extension {
  readonly name: string
  readonly tags?: Readonly<Record<string, string>>
  readonly properties: Readonly<Record<string, unknown>>
  readonly state: 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'
  readonly failure?: AsyncFailure
}

/** Why a VM could not be made, reported after its PUT was accepted. */
export interface AsyncFailure {
  readonly code: string
  readonly message: string
}

export interface MachineBody {
  readonly location: string
  readonly tags?: Record<string, string>
  readonly zones?: readonly string[]
  readonly identity?: unknown
  readonly properties: {
    readonly hardwareProfile: { readonly vmSize: string }
    readonly priority?: 'Spot' | 'Regular'
    readonly evictionPolicy?: 'Deallocate' | 'Delete'
    readonly securityProfile?: { readonly securityType?: string }
    readonly capacityReservation?: { readonly capacityReservationGroup?: { readonly id?: string | null } | null }
    readonly storageProfile?: {
      readonly osDisk?: {
        readonly name?: string
        readonly diskSizeGB?: number
        readonly deleteOption?: string
        readonly diffDiskSettings?: { readonly placement?: string }
        readonly managedDisk?: {
          readonly storageAccountType?: string
          readonly diskEncryptionSet?: { readonly id: string }
        }
      }
      readonly dataDisks?: readonly unknown[]
      readonly imageReference?: { readonly id?: string; readonly communityGalleryImageId?: string }
    }
    readonly networkProfile?: { readonly networkInterfaceConfigurations?: readonly NetworkInterfaceConfiguration[] }
    readonly osProfile?: {
      readonly computerName?: string
      readonly customData?: string
      readonly adminUsername?: string
    }
    readonly [key: string]: unknown
  }
}

export interface NetworkInterfaceConfiguration {
  readonly name: string
  readonly tags?: Record<string, string>
  readonly properties?: {
    readonly primary?: boolean
    readonly deleteOption?: string
    readonly networkSecurityGroup?: { readonly id: string }
    readonly ipConfigurations?: readonly IpConfiguration[]
  }
}

interface IpConfiguration {
  readonly name: string
  readonly properties?: {
    readonly subnet?: { readonly id: string }
    readonly loadBalancerBackendAddressPools?: readonly { readonly id: string }[]
    readonly [key: string]: unknown
  }
}

/** A NIC or disk whose VM is gone and that stayed, by its delete option or by a fault. */
export interface Leftover {
  readonly type: 'networkInterfaces' | 'disks'
  readonly name: string
  /** As ARM shows it. */
  readonly resource: Record<string, unknown>
  readonly addresses?: readonly Address[]
  /** Azure keeps the NIC of a VM that it could not make for that VM, for a while. */
  readonly reserved?: { readonly untilMs: number; readonly vm: string }
}

/** A NIC or disk, by what it hangs on. */
export type Part =
  | { readonly kind: 'attached'; readonly name: string; readonly machine: Machine }
  | { readonly kind: 'leftover'; readonly name: string; readonly leftover: Leftover }

export type PartType = Leftover['type']

/** Configurations of the NICs that come with a VM. */
export function nicConfigurations({ body }: Pick<Machine, 'body'>): readonly NetworkInterfaceConfiguration[] {
  return body.properties.networkProfile?.networkInterfaceConfigurations ?? []
}
