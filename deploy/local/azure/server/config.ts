import { anyOf, type Checked, list, numberFrom, record, strictRecord, text } from '../../../../api/shapes/shape.ts'
import { settingFields } from '../admin/settings.ts'

/** The configuration of the process, as it stands in the file that `--config` names. */
export const configShape = strictRecord(
  {
    ...settingFields,
    /** 0: any that is free; the address is printed. */
    port: numberFrom(0, 65_535),
    /** Address that it listens on. Default 127.0.0.1. */
    host: text,
    /** VMs and their NICs and disks are kept here, so that they outlive the process. */
    stateDir: text,
    certFile: text,
    keyFile: text,
    /** The API server that booted VMs join; absent: VMs boot without joining anything. */
    kubernetes: record(
      {
        server: text,
        caFile: text,
        /** Bearer token of the cluster's operator: Nodes are made with it, without token and certificate of their own. Absent: kubelets bootstrap. */
        operatorTokenFile: text,
        /** Bearer token with which AKS itself registers the Nodes of its machines. Absent: they join as `operatorTokenFile` says, or not at all. */
        aksTokenFile: text,
      },
      ['server', 'caFile'],
    ),
    subscriptionId: text,
    tenantId: text,
    clientId: text,
    nodeResourceGroup: text,
    location: text,
    subnetId: text,
    clusterName: text,
    /** Entries on a page of a list. Default 100. */
    pageSize: numberFrom(1),
    /** How long an access token is good for. Default one hour. */
    tokenSeconds: numberFrom(1),
    /** The ServiceAccount that the identity trusts, such as `system:serviceaccount:joiner:joiner-azure`; absent: any. */
    federatedSubject: text,
    /** Secret of the application. Default `simulated-secret`. */
    clientSecret: text,
    /** What a managed identity's own endpoint wants in the header X-IDENTITY-HEADER. Default `simulated-header`. */
    identityHeader: text,
    /** An answer of `GET Microsoft.Compute/skus` with the sizes of the location. Default: the simulator's own table. */
    catalogueFile: text,
    /** Zones in which the own table's zonal sizes are sold. Default: 1, 2 and 3. */
    zones: list(text),
    /** Answers of the retail price API. Default: the own table's prices, and none for a catalogue from a file. */
    pricesFiles: list(text),
    /** What happens when, as YAML; see docs/simulator.md. */
    scenarioFile: text,
    /** What drawn durations and evictions follow from. Default 1. */
    seed: anyOf('write a number or a text', numberFrom(Number.NEGATIVE_INFINITY), text),
  },
  [
    'port',
    'stateDir',
    'certFile',
    'keyFile',
    'subscriptionId',
    'tenantId',
    'clientId',
    'nodeResourceGroup',
    'location',
    'subnetId',
    'clusterName',
  ],
)

export type ProcessConfig = Checked<typeof configShape>

/** Configuration of the Azure simulator. In one process with its tests it may keep its state in memory, and has no port. */
export interface SimulatorConfig
  extends Omit<ProcessConfig, 'port' | 'host' | 'stateDir' | 'certFile' | 'keyFile'>,
    Partial<Pick<ProcessConfig, 'stateDir' | 'certFile'>> {
  /** Most vCPUs of the own table's sizes that the region sells. Default: it sells all. */
  readonly mostVCpus?: number
}
