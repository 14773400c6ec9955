import type { ManagedClusterSettings } from '../access/cluster-settings.ts'
import type { HeldRole, RoleName } from '../access/roles.ts'
import type { CapacityPool, Restriction } from '../catalogue/capacity-settings.ts'
import type { NetworkSettings } from '../network/network-settings.ts'
import type { Duration } from '../server/durations.ts'
import type { ThrottlingSetting } from '../throttling/throttling.ts'

/** How long Azure takes. */
export interface Timing {
  /** Time from an accepted PUT to a created VM. Default 0. */
  readonly createMs?: Duration
  /** Time from a created VM to its kubelet's first request. Default 0. */
  readonly bootMs?: Duration
  /** Time from an accepted PATCH to a VM that is updated. Default 0. */
  readonly updateMs?: Duration
  /** Time from an accepted DELETE to a VM that is gone. Default 0. */
  readonly deleteMs?: Duration
  /** Time from an accepted PUT, PATCH or DELETE of an extension to its end. Default 0. */
  readonly extensionMs?: Duration
}

/** What may be set again while the simulator runs: by its admin endpoint and by a scenario. What is given replaces what was. */
export interface LiveSettings extends Timing {
  /** Token buckets that requests draw from. Default `off`. */
  readonly throttling?: ThrottlingSetting
  /** Limits in vCPUs by the names of the usages API: `cores`, `lowPriorityCores` and families. Default: more than anybody needs. */
  readonly quotas?: Readonly<Record<string, number>>
  /** Room for VMs. Default: without end. */
  readonly pools?: readonly CapacityPool[]
  /** Sizes that the subscription may not have. Default: none. */
  readonly restrictions?: readonly Restriction[]
  /** Spot VMs that Azure takes back. */
  readonly evictions?: EvictionSettings
  /** Networks, security groups and load balancers. */
  readonly network?: NetworkSettings
  /** How long Azure keeps the NIC of a VM that it could not make, after which it can be deleted; Azure's own time is 180 s. Default 0. */
  readonly nicReservationMs?: number
  /** Ids of disk encryption sets that are there. Default: none is checked. */
  readonly diskEncryptionSets?: readonly string[]
  /** Time from a joined Node to its provider id, which cloud-node-manager sets then. Default 0: the kubelet registers the Node with it. */
  readonly providerIdMs?: number
  /** Preview features that the subscription registered, such as `Microsoft.Compute/UseStandardSecurityType`. Default: none. */
  readonly features?: readonly string[]
  /** How much later Resource Graph learns of a change. Default 0. */
  readonly graphLagMs?: number
  /**
   * Roles that the configured identity has. Built-in ones are names: what they do not allow in the node resource group is refused. Custom ones hold at their
   * scope, and with one of them everything is checked, wherever it lies.
   */
  readonly roles?: readonly (RoleName | HeldRole)[]
  /** AKS clusters. Default: one, with the configured name. */
  readonly managedClusters?: readonly ManagedClusterSettings[]
}

/** How Azure takes spot VMs back. */
interface EvictionSettings {
  /**
   * Time from the notice on the Node to the end of the VM; Azure promises up to 30 s and often gives less (reference/azure-limits.md 4).
   * Default 0: without a notice.
   */
  readonly noticeMs?: Duration
  /** How often an hour Azure takes back each spot VM, on average. Default 0. */
  readonly perHour?: number
}
