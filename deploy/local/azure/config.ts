import type { ThrottlingSetting } from './throttling.ts'

/** Configuration of the Azure simulator, as it stands in the file that `--config` names. */
export interface SimulatorConfig extends Timing {
  readonly port: number
  /** VMs and their NICs and disks are kept here, so that they outlive the process. */
  readonly stateDir: string
  readonly certFile: string
  readonly keyFile: string
  /** The API server that booted VMs join; absent: VMs boot without joining anything. */
  readonly kubernetes?: { readonly server: string; readonly caFile: string }
  readonly subscriptionId: string
  readonly tenantId: string
  readonly clientId: string
  readonly nodeResourceGroup: string
  readonly location: string
  readonly subnetId: string
  readonly clusterName: string
  /** Token buckets that requests draw from. Default `off`. */
  throttling?: ThrottlingSetting
  /** Entries on a page of a list. Default 100. */
  readonly pageSize?: number
  /** How long an access token is good for. Default one hour. */
  readonly tokenSeconds?: number
}

/** How long Azure takes, in milliseconds; set anew while the simulator runs by its admin endpoint. */
export interface Timing {
  /** Time from an accepted PUT to a created VM. Default 0. */
  readonly createMs?: number
  /** Time from a created VM to its kubelet's first request. Default 0. */
  readonly bootMs?: number
  /** Time from an accepted PATCH to a VM that is updated. Default 0. */
  readonly updateMs?: number
  /** Time from an accepted DELETE to a VM that is gone. Default 0. */
  readonly deleteMs?: number
}
