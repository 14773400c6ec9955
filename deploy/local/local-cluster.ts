import type { MorePki, Pki } from './pki.ts'
import type { ServerName } from './server-versions.ts'
import type { Supervisor } from './supervisor.ts'

export interface Ports {
  readonly etcd: number
  readonly etcdPeer: number
  readonly apiserver: number
  readonly temporal: number
  /** Where clients of Temporal connect that must show a certificate. */
  readonly temporalTls: number
  readonly temporalUi: number
  readonly azure: number
  /** Where Joiner converts old API versions. */
  readonly conversion: number
}

/** Where the servers of a cluster are reached by nodes and pods. */
export interface Place extends MorePki {
  /** Address that the API server and Azure listen on. */
  readonly host: string
  /** More arguments of the API server. */
  readonly apiserverArgs: (pki: string) => readonly string[]
}

export interface LocalCluster {
  readonly stateDir: string
  /** Address that the API server and Azure listen on. */
  readonly host: string
  readonly ports: Ports
  readonly pki: Pki
  /** Bearer token of the cluster's operator. */
  readonly adminToken: string
  readonly adminKubeconfig: string
  readonly binaries: Readonly<Record<ServerName, string>>
  readonly supervisor: Supervisor
  readonly server: string
  readonly temporalAddress: string
  /** What a client of Temporal needs in its environment: the address, and certificates where they are demanded. */
  readonly temporalEnv: Readonly<Record<string, string>>
  readonly temporalUi: string
  readonly azureEndpoint: string
  stop(): Promise<void>
}
