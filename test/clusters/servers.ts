import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Client } from '@temporalio/client'
import { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { ServerOptions } from '../../deploy/local/cluster.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { temporalSettings } from '../../deploy/local/temporal.ts'
import { connectClient, temporalClient } from '../../starter/temporal/connect.ts'
import { ArmSession } from '../arm/arm-session.ts'
import { auditedRequests } from '../audit-log.ts'
import type { FastWorld } from '../fast/world/fast-world.ts'
import type { Gate } from '../faults/gate.ts'
import { cleanUp } from './clean-up.ts'
import { endOthers, type Installed, leaveCluster, takeCluster } from './shared-clusters.ts'

/** The user that `World.joiner` runs commands as. */
export const operatorUser = 'system:serviceaccount:joiner:an-operator'

/** What a world is to be like. */
export interface WorldOptions extends ServerOptions {
  /** Number of events after which Temporal suggests to continue as new. Its default is 4096. */
  readonly suggestNewRunAt?: number
}

/** A VM as the simulator shows it. */
export interface SimulatedVm {
  readonly name: string
  readonly state: string
  readonly size: string
  readonly zone: string
  readonly priority: string
  readonly tags: Readonly<Record<string, string>>
  /** Whether it has made its Node, and how its boot went. */
  readonly joined: boolean
  readonly boot: string
}

/** A write of Joiner at the API server, whether it was refused or not. */
export interface Write {
  /** Verb and resource, such as `patch nodeclaims/status`. */
  readonly what: string
  /** Unset of what is created. */
  readonly name?: string
}

/** The servers of a world, and what people and programs do at them. */
export interface Servers extends Pick<Installed, 'cluster' | 'operator' | 'installation'> {
  readonly temporal: Client
  /** In their order. On real servers they are recorded where verdicts are asked for, and are a second late. */
  readonly writes: () => Promise<readonly Write[]>
  /** The logs of all processes, of those too that are gone. */
  readonly logs: () => Promise<readonly string[]>
  /** Runs a command of Joiner, where it runs in no process of its own. Returns what it printed; errors as `World.joiner`. */
  readonly runCommand?: (settings: Readonly<Record<string, string>>, args: readonly string[]) => Promise<string>
  /** Temporal ends, loses all that it had, and starts again. */
  readonly loseTemporal: () => Promise<void>
  /** What is wrong with Temporal, where it is in this process. */
  readonly temporalFaults?: { isVisibilityDown: boolean }
  /** Requests to Azure by somebody else than Joiner. The caller closes it. */
  readonly arm: () => Promise<ArmSession>
  /** A client with the rights of Joiner's account and no others. Who asks for it closes it. */
  readonly kubernetes: () => Promise<KubernetesClient>
  /** The metrics of a process of Joiner, as Prometheus reads them. Errors: it does not serve them. */
  readonly metrics: (process: string) => Promise<string>
  /** What Resource Manager and the price list answer to GET, where they are in this process. */
  readonly azureGet?: (path: string) => Promise<string>
  /** Before servers in this process, which no other can stand before. */
  readonly gates?: { readonly kubernetes: Gate; readonly azure: Gate }
  /** The whole world in memory, for faults that no real server can be given. */
  readonly fast?: FastWorld
  /** Sets the clock of a process's machine, where that is in this process: it is ahead by so much, or behind. Errors: the process does not run. */
  readonly setClock?: (process: string, aheadMs: number) => void
  /** Ends everything; `check` looks at what Joiner has left in its logs, after its end. */
  readonly end: (check: () => Promise<void>) => Promise<void>
}

/** Real servers with Joiner's CRDs and rights, without Joiner. */
export async function realServers({ suggestNewRunAt, ...options }: WorldOptions): Promise<Servers> {
  const limit = `limit.historyCount.suggestContinueAsNew=${suggestNewRunAt}`
  const temporalArgs = ['--dynamic-config-value', limit]
  const installed = await takeCluster(suggestNewRunAt === undefined ? options : { ...options, temporalArgs })
  const { cluster, installation } = installed
  const connection = await connectClient(temporalSettings(cluster))
  const startedMs = Date.now()
  const running = () => `the end of ${Object.keys(cluster.supervisor.pids).join(', ')}`
  return {
    ...installed,
    arm: () => ArmSession.open(cluster),
    temporal: temporalClient(connection, temporalSettings(cluster)),
    loseTemporal: () => loseTemporal(cluster),
    writes: () => writesSince(startedMs, cluster),
    kubernetes: () => KubernetesClient.load(installation.kubeconfig),
    logs: async () => {
      const folder = dirname(cluster.supervisor.logFile('joiner'))
      return Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    },
    metrics: (process) => metricsOf(cluster, process),
    end: (check) =>
      cleanUp([
        { what: () => 'the connection to Temporal', work: () => connection.close() },
        { what: running, work: () => endOthers(installed) },
        { what: () => 'the logs of Joiner', work: check },
        { what: running, work: () => leaveCluster(installed), ms: 90_000 },
      ]),
  }
}

/** A cluster that several suites have has the writes of all. */
async function writesSince(startedMs: number, { stateDir }: LocalCluster): Promise<readonly Write[]> {
  const requests = await auditedRequests(stateDir)
  return requests
    .filter(
      ({ actor, what, atMs }) =>
        actor === 'joiner' && atMs >= startedMs && /^(?:create|patch|update|delete) /.test(what),
    )
    .map(({ what, name }) => (name === undefined || what.startsWith('create ') ? { what } : { what, name }))
}

async function loseTemporal({ supervisor, stateDir }: LocalCluster): Promise<void> {
  const spec = await supervisor.stop('temporal')
  if (spec === undefined) throw new Error('Temporal did not run')
  for (const file of await readdir(stateDir)) if (file.startsWith('temporal.db')) await rm(join(stateDir, file))
  supervisor.start(spec)
}

/** Reads them at the address that the process has logged. */
async function metricsOf({ supervisor }: LocalCluster, process: string): Promise<string> {
  const lines = (await supervisor.tail(process, 100_000)).split('\n')
  const serving = lines.findLast((line) => line.includes('serving health and metrics')) ?? ''
  const [, address = ''] = /"address":"([^"]+)"/.exec(serving) ?? []
  return (await fetch(`${address.replace('0.0.0.0', '127.0.0.1')}/metrics`)).text()
}
