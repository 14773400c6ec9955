import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { ProcessConfig } from './azure/server/config.ts'
import { freePorts } from './free-ports.ts'
import {
  apiserverSpec,
  auditArgs,
  controllerManagerSpec,
  etcdSpec,
  kubeconfig,
  kwokSpec,
  schedulerSpec,
} from './kubernetes.ts'
import type { LocalCluster, Place, Ports } from './local-cluster.ts'
import { underLoad } from './machine-load.ts'
import { createPki } from './pki.ts'
import { type Progress, resolveBinaries } from './server-binaries.ts'
import type { ServerName } from './server-versions.ts'
import { Supervisor } from './supervisor.ts'
import { type TemporalOptions, temporalEnvironment, temporalSpecs } from './temporal.ts'

/**
 * How a VM becomes a Node. `boot`: its kubelet trades its bootstrap token for a certificate and registers the Node. `instant`: the operator registers
 * the same Node as soon as there is the VM.
 */
export const clouds = ['boot', 'instant'] as const
export type Cloud = (typeof clouds)[number]

/** What the servers of a cluster can be told. */
export interface ServerOptions extends TemporalOptions {
  /** Default `boot`. */
  readonly cloud?: Cloud
  /** Zones in which the simulator sells its sizes. Default: three, as Azure has them. */
  readonly zones?: readonly string[]
  /** A network of its own, for nodes that are not on this machine's loopback interface. */
  readonly place?: Place
  /** The API server writes a line for each request that it has answered (`test/audit-log.ts` reads them). */
  readonly audit?: boolean
}

export interface ClusterOptions extends ServerOptions {
  /** One directory for state, logs, keys and kubeconfigs. Default: `joiner/local` in the user's state directory. */
  readonly stateDir?: string
  readonly progress?: Progress
  readonly onCrash?: (name: string, reason: string) => void
  /** Ends the start, and what it has started. */
  readonly signal?: AbortSignal
}

export const clusterName = 'local'
export const azureIds = {
  subscriptionId: '00000000-0000-4000-8000-000000000001',
  tenantId: '00000000-0000-4000-8000-000000000002',
  clientId: '00000000-0000-4000-8000-000000000003',
  nodeResourceGroup: 'MC_local_joiner_westus2',
  location: 'westus2',
} as const

export const subnetId = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet`

/** Where state is kept when nothing else is asked for. */
export function defaultStateDir(): string {
  return join(process.env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'joiner', 'local')
}

/**
 * Starts etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, Temporal and the Azure simulator on free ports of the loopback
 * interface, and waits until each answers. Errors: what did not start, with the end of its log; nothing is left running then.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  const progress = options.progress ?? (() => {})
  const stateDir = options.stateDir ?? defaultStateDir()
  const names: readonly ServerName[] = [
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kubectl',
    'kwok',
    'temporal',
    'helm',
  ]
  const aborted = new Promise<never>((_, reject) => {
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason))
  })
  const binaries = await Promise.race([aborted, resolveBinaries(names, progress)])
  const logs = join(stateDir, 'logs')
  await mkdir(logs, { recursive: true })
  let crash: (error: Error) => void = () => {}
  const crashed = new Promise<never>((_, reject) => {
    crash = reject
  })
  crashed.catch(() => {})
  const supervisor = new Supervisor(logs, (name, reason) => {
    void supervisor
      .tail(name)
      .then((tail) =>
        crash(new Error(`${name} ended by itself (${reason}); the end of ${supervisor.logFile(name)}:\n${tail}`)),
      )
    options.onCrash?.(name, reason)
  })
  try {
    return await Promise.race([aborted, crashed, startAll({ stateDir, binaries, supervisor, options })])
  } catch (error) {
    await supervisor.stopAll()
    throw error
  }
}

interface StartInput {
  readonly stateDir: string
  readonly binaries: Readonly<Record<ServerName, string>>
  readonly supervisor: Supervisor
  readonly options: ServerOptions
}

async function startAll({ stateDir, binaries, supervisor, options }: StartInput): Promise<LocalCluster> {
  const { place } = options
  const host = place?.host ?? '127.0.0.1'
  const pki = await createPki(join(stateDir, 'pki'), place)
  const ports = await choosePorts()
  const { apiserver, temporalUi, azure } = ports
  const server = `https://${host}:${apiserver}`
  const adminToken = randomBytes(24).toString('hex')
  const tokens = join(stateDir, 'pki', 'tokens.csv')
  await writeFile(tokens, `${adminToken},admin,admin,system:masters\n`, { mode: 0o600 })
  const adminKubeconfig = join(stateDir, 'kubeconfig')
  await writeFile(adminKubeconfig, kubeconfig({ server, caFile: pki.caFile, user: { token: adminToken } }), {
    mode: 0o600,
  })
  const temporalEnv = await temporalEnvironment({ ports, pki, stateDir }, options)
  const cluster: LocalCluster = {
    stateDir,
    host,
    ports,
    pki,
    adminToken,
    adminKubeconfig,
    binaries,
    supervisor,
    server,
    temporalAddress: temporalEnv.TEMPORAL_ADDRESS,
    temporalEnv,
    temporalUi: `http://127.0.0.1:${temporalUi}`,
    azureEndpoint: `https://${host}:${azure}`,
    stop: () => supervisor.stopAll(),
  }
  supervisor.start(etcdSpec(cluster))
  for (const spec of temporalSpecs(cluster, options)) supervisor.start(spec)
  const audit = options.audit === true ? await auditArgs(stateDir) : []
  supervisor.start(apiserverSpec(cluster, tokens, [...audit, ...(place?.apiserverArgs(join(stateDir, 'pki')) ?? [])]))
  const simulatorConfig = await configureSimulator(cluster, options)
  supervisor.start({
    name: 'azure',
    command: process.execPath,
    args: [fileURLToPath(new URL('./azure/main.ts', import.meta.url)), '--config', simulatorConfig],
  })
  await until('kube-apiserver', 60_000, () => isOk(`${server}/readyz`, pki.caFile, adminToken))
  for (const spec of [controllerManagerSpec(cluster), schedulerSpec(cluster), kwokSpec(cluster)]) supervisor.start(spec)
  await untilServersAnswer(cluster, options)
  await until('kube-controller-manager', 60_000, () =>
    isOk(`${server}/api/v1/namespaces/default/serviceaccounts/default`, pki.caFile, adminToken),
  )
  return cluster
}

/** Waits until Temporal and the Azure simulator of a cluster answer. Errors: which of them does not. */
export async function untilServersAnswer(
  { temporalUi, azureEndpoint, pki }: LocalCluster,
  options: TemporalOptions = {},
): Promise<void> {
  if (options.temporal !== 'none') await until('temporal', 60_000, () => isOk(temporalUi))
  await until('azure', 60_000, () => isOk(`${azureEndpoint}/admin/state`, pki.caFile))
}

/** Writes what the simulator of a cluster reads when it starts. Returns the file. */
export async function configureSimulator(cluster: LocalCluster, options: ServerOptions = {}): Promise<string> {
  const file = join(cluster.stateDir, 'azure.json')
  await writeFile(file, JSON.stringify(await simulatorSettings(cluster, options), null, 2))
  return file
}

async function simulatorSettings(
  { host, ports, stateDir, pki, server, adminToken }: LocalCluster,
  { cloud, zones }: ServerOptions,
): Promise<ProcessConfig> {
  const operatorTokenFile = join(stateDir, 'pki', 'operator.token')
  const aksTokenFile = join(stateDir, 'pki', 'aks.token')
  if (cloud === 'instant') await writeFile(operatorTokenFile, adminToken, { mode: 0o600 })
  await writeFile(aksTokenFile, adminToken, { mode: 0o600 })
  return {
    port: ports.azure,
    host,
    stateDir: join(stateDir, 'azure'),
    certFile: pki.serverCertFile,
    keyFile: pki.serverKeyFile,
    kubernetes: { server, caFile: pki.caFile, aksTokenFile, ...(cloud === 'instant' ? { operatorTokenFile } : {}) },
    ...azureIds,
    subnetId,
    clusterName,
    ...(zones === undefined ? {} : { zones }),
    federatedSubject: 'system:serviceaccount:joiner:joiner-azure',
  }
}

async function choosePorts(): Promise<Ports> {
  const names = [
    'etcd',
    'etcdPeer',
    'apiserver',
    'temporal',
    'temporalTls',
    'temporalUi',
    'azure',
    'conversion',
  ] as const
  const ports = await freePorts(names.length)
  return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as unknown as Ports
}

async function isOk(url: string, caFile?: string, token?: string): Promise<boolean> {
  const dispatcher = new Agent(caFile === undefined ? {} : { connect: { ca: await readFile(caFile, 'utf8') } })
  try {
    const response = await request(url, {
      dispatcher,
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    })
    await response.body.dump()
    return response.statusCode === 200
  } catch {
    return false
  } finally {
    await dispatcher.destroy()
  }
}

/** Waits for a server. `ms` is its limit on a quiet machine. */
async function until(what: string, ms: number, isReady: () => Promise<boolean>): Promise<void> {
  const startedAt = Date.now()
  for (let limit = ms; !(await isReady()); limit = Math.max(limit, underLoad(ms))) {
    if (Date.now() > startedAt + limit)
      throw new Error(`${what} did not become ready within ${Math.round(limit / 1000)} s; look into its log`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
