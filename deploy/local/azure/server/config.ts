import type { LiveSettings } from '../admin/settings.ts'

/** Configuration of the process, as it stands in the file that `--config` names. */
export interface ProcessConfig extends SimulatorConfig {
  /** 0: any that is free; the address is printed. */
  readonly port: number
  /** Address that it listens on. Default 127.0.0.1. */
  readonly host?: string
  readonly stateDir: string
  readonly certFile: string
  readonly keyFile: string
}

/** Configuration of the Azure simulator. */
export interface SimulatorConfig extends LiveSettings {
  /** VMs and their NICs and disks are kept here, so that they outlive the process. Absent: in memory. */
  readonly stateDir?: string
  readonly certFile?: string
  /** The API server that booted VMs join; absent: VMs boot without joining anything. */
  readonly kubernetes?: {
    readonly server: string
    readonly caFile: string
    /** Bearer token of the cluster's operator: Nodes are made with it, without token and certificate of their own. Absent: kubelets bootstrap. */
    readonly operatorTokenFile?: string
    /** Bearer token with which AKS itself registers the Nodes of its machines. Absent: they join as `operatorTokenFile` says, or not at all. */
    readonly aksTokenFile?: string
  }
  readonly subscriptionId: string
  readonly tenantId: string
  readonly clientId: string
  readonly nodeResourceGroup: string
  readonly location: string
  readonly subnetId: string
  readonly clusterName: string
  /** Entries on a page of a list. Default 100. */
  readonly pageSize?: number
  /** How long an access token is good for. Default one hour. */
  readonly tokenSeconds?: number
  /** An answer of `GET Microsoft.Compute/skus` with the sizes of the location. Default: the simulator's own table. */
  readonly catalogueFile?: string
  /** Zones in which the own table's zonal sizes are sold. Default: 1, 2 and 3. */
  readonly zones?: readonly string[]
  /** Answers of the retail price API. Default: the own table's prices, and none for a catalogue from a file. */
  readonly pricesFiles?: readonly string[]
  /** What happens when, as YAML; see docs/simulator.md. */
  readonly scenarioFile?: string
  /** What drawn durations and evictions follow from. Default 1. */
  readonly seed?: number | string
  /** The ServiceAccount that the identity trusts, such as `system:serviceaccount:joiner:joiner-azure`; absent: any. */
  readonly federatedSubject?: string
  /** Secret of the application. Default `simulated-secret`. */
  readonly clientSecret?: string
  /** What a managed identity's own endpoint wants in the header X-IDENTITY-HEADER. Default `simulated-header`. */
  readonly identityHeader?: string
}
