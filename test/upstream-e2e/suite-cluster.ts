// A cluster as Karpenter's suites expect one, with Joiner or Karpenter itself in it.
import { readFileSync } from 'node:fs'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { kwokSpec, schedulerSpec } from '../../deploy/local/kubernetes.ts'
import { nodeClass, nodePool } from '../applied-objects.ts'
import { type Installed, leaveCluster, takeCluster } from '../clusters/shared-clusters.ts'
import { type Controller, KarpenterDeployment, processName } from './karpenter-deployment.ts'
import { type GinkgoReport, type Result, resultOf, type Spec } from './specs.ts'

/** What the clusters of a run are made of. */
export interface Surroundings {
  /** Test binaries by suite. */
  readonly binaries: Readonly<Record<string, string>>
  /** Where Karpenter's own files are. */
  readonly karpenterFiles: string
  /** Karpenter with its provider for kwok, where it runs in place of Joiner. */
  readonly peer?: string
  /** Where logs of failed specs and reports of the performance suite go. */
  readonly output: string
}

const suiteProcess = 'suite'
/** As many as Karpenter's provider for kwok has: specs spread four pods over as many zones. Azure has three. */
const zones = ['1', '2', '3', '4']

/** Where the API server looks for a kubelet. */
const kubeletPort = 10_250

/** A cluster for one spec after the other. */
export class SuiteCluster {
  readonly #surroundings: Surroundings
  readonly #installed: Installed
  readonly #deployment: KarpenterDeployment
  readonly #controller: Controller

  private constructor(surroundings: Surroundings, installed: Installed, controller: Controller) {
    this.#surroundings = surroundings
    this.#installed = installed
    this.#controller = controller
    this.#deployment = new KarpenterDeployment(installed, controller)
  }

  /** Starts the servers with what runs in them, and waits until it is ready. Errors: what did not start; nothing is left then. */
  static async start(surroundings: Surroundings): Promise<SuiteCluster> {
    const installed = await takeCluster({ zones })
    try {
      await useTwoProfiles(installed, surroundings)
      const { peer } = surroundings
      if (peer === undefined) await allow(installed)
      else await applyPeersCrds(installed, surroundings)
      const controller = await (peer === undefined ? joiner(installed) : karpenter(installed, peer))
      const cluster = new SuiteCluster(surroundings, installed, controller)
      await cluster.#deployment.start(machineAddress())
      return cluster
    } catch (error) {
      await leaveCluster(installed)
      throw error
    }
  }

  get metricsUrl(): string {
    return this.#controller.metricsUrl
  }

  /** Has kwok's server be the kubelet that the API server forwards a port of Karpenter's pod through, to that port of this machine. */
  async forwardPort(port: number): Promise<void> {
    const { supervisor, stateDir, pki } = this.#installed.cluster
    const address = machineAddress()
    const file = join(stateDir, 'port-forward.json')
    const forward = {
      apiVersion: 'kwok.x-k8s.io/v1alpha1',
      kind: 'ClusterPortForward',
      metadata: { name: 'metrics' },
      spec: {
        selector: { matchNamespaces: ['kube-system'] },
        forwards: [{ ports: [port], target: { address, port } }],
      },
    }
    await writeFile(file, JSON.stringify(forward))
    const kubelet = [
      `--server-address=${address}:${kubeletPort}`,
      `--tls-cert-file=${pki.serverCertFile}`,
      `--tls-private-key-file=${pki.serverKeyFile}`,
    ]
    const spec = kwokSpec(this.#installed.cluster)
    await supervisor.stop(spec.name)
    supervisor.start({ ...spec, args: [...spec.args, `--config=${file}`, ...kubelet] })
  }

  /** Runs one spec to its end, or until the run is interrupted. Returns how it ended; the logs of one that failed are kept. */
  async run(spec: Spec, interrupted: AbortSignal, env: Readonly<Record<string, string>> = {}): Promise<Result> {
    const { cluster } = this.#installed
    const { supervisor, stateDir } = cluster
    const report = join(stateDir, 'report.json')
    await writeFile(report, '')
    await writeFile(supervisor.logFile(suiteProcess), '')
    const isOfJoiner = this.#surroundings.peer === undefined
    if (isOfJoiner) await this.#installed.operator.simulator('POST', '/timing', { bootMs: bootMs(spec) })
    supervisor.start({
      name: suiteProcess,
      command: this.#surroundings.binaries[spec.suite] ?? '',
      args: [
        '--ginkgo.v',
        '--ginkgo.no-color',
        `--ginkgo.focus=^${spec.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
        `--ginkgo.json-report=${report}`,
        `--ginkgo.timeout=${timeLimit(spec)}`,
        '--ginkgo.grace-period=5s',
        ...(isOfJoiner ? await defaults(spec, stateDir) : []),
      ],
      cwd: stateDir,
      env: { KUBECONFIG: cluster.adminKubeconfig, ...env },
    })
    while (supervisor.pids[suiteProcess] !== undefined && !interrupted.aborted) await sleep(200)
    await supervisor.stop(suiteProcess)
    const text = await readFile(report, 'utf8')
    const result = resultOf(spec, text === '' ? undefined : (JSON.parse(text) as readonly GinkgoReport[])[0])
    if (result.outcome === 'failed') await this.#keepLogs(spec)
    return result
  }

  async close(): Promise<void> {
    await this.#deployment.stop()
    await leaveCluster(this.#installed)
  }

  async #keepLogs({ name }: Spec): Promise<void> {
    const { supervisor } = this.#installed.cluster
    const prefix = join(this.#surroundings.output, name.replace(/\W+/g, '-').slice(0, 150))
    for (const process of [suiteProcess, processName])
      await copyFile(supervisor.logFile(process), `${prefix}.${process}.log`)
  }
}

/**
 * After how long a spec is cut off. The spec of garbage collection waits a quarter of an hour for what does not happen (ADR 30.7), and as long again
 * until all that it made is gone, which it never is.
 */
function timeLimit({ suite, name }: Spec): string {
  if (name.includes('garbage collect an Instance')) return '17m'
  return suite === 'performance' ? '90m' : '45m'
}

/** How long VMs take to boot. The spec that watches a replacement looks once a second, and one that is there at once has replaced its node by then. */
const bootMs = ({ name }: Spec) => (name.includes('replace-first') ? 5000 : 0)

/** Flags that name what the suites begin with where the provider is not kwok's; for kwok's they restrict the sizes by themselves, as here. */
async function defaults({ group }: Spec, folder: string): Promise<readonly string[]> {
  const size = group === 'CapacityBuffer' ? { operator: 'In', values: ['2'] } : { operator: 'Lt', values: ['32'] }
  const pool = nodePool({
    name: 'default',
    requirements: [
      { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
      { key: 'karpenter.azure.com/sku-cpu', ...size },
    ],
  })
  const disruption = {
    ...pool.spec.disruption,
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: 'Never',
  }
  const files = { nodeclass: nodeClass(), nodepool: { ...pool, spec: { ...pool.spec, disruption } } }
  const flags = Object.entries(files).map(async ([name, object]) => {
    const file = join(folder, `${name}.json`)
    await writeFile(file, JSON.stringify(object))
    return `--default-${name}=${file}`
  })
  return [
    ...(await Promise.all(flags)),
    '--repair-condition=KWOKUnhealthy=True',
    '--reboot-condition=KWOKRebootRequired=True',
  ]
}

/** kube-scheduler starts again as upstream's kind cluster has it: with a second profile, whose topology spread has defaults. */
async function useTwoProfiles({ cluster }: Installed, { karpenterFiles }: Surroundings): Promise<void> {
  const clientConnection = { kubeconfig: cluster.adminKubeconfig, qps: 500, burst: 1000 }
  const file = join(cluster.stateDir, 'scheduler.json')
  const leaderElection = { leaderElect: false }
  await writeFile(file, JSON.stringify({ ...schedulerConfig(karpenterFiles), leaderElection, clientConnection }))
  await cluster.supervisor.stop('kube-scheduler')
  cluster.supervisor.start({ ...schedulerSpec(cluster), args: [`--config=${file}`, '--secure-port=0'] })
}

interface SchedulerConfig {
  readonly profiles: readonly {
    readonly pluginConfig?: readonly { readonly args: { readonly defaultConstraints?: readonly unknown[] } }[]
  }[]
}

/** The configuration that the suites themselves read. */
function schedulerConfig(karpenterFiles: string): SchedulerConfig {
  const file = join(karpenterFiles, 'test/suites/regression/testdata/kube-scheduler-config.yaml')
  return parse(readFileSync(file, 'utf8')) as SchedulerConfig
}

/** The rights that Joiner's chart gives with the gates and settings of which the suites have specs. */
async function allow({ installation }: Installed): Promise<void> {
  const gates = ['nodeRepair', 'staticCapacity', 'capacityBuffer', 'terminateFirstDrift', 'terminateFirstRepair']
  await installation.applyRights({
    'settings.featureGates': Object.fromEntries(gates.map((gate) => [gate, true])),
    'settings.schedulerConfig': {
      podTopologySpread: {
        defaultConstraints: [
          { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
        ],
      },
    },
  })
}

async function applyPeersCrds({ operator }: Installed, { karpenterFiles }: Surroundings): Promise<void> {
  for (const folder of ['kwok/charts/crds', 'kwok/apis/crds'])
    await operator.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(karpenterFiles, folder)])
}

async function joiner({ installation }: Installed): Promise<Controller> {
  const [port = 0] = await freePorts(1)
  return {
    process: (env, pod) =>
      installation.processSpec(processName, { ...env, JOINER_IDENTITY: pod, JOINER_HEALTH_PORT: String(port) }),
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    metricsUrl: `http://127.0.0.1:${port}/metrics`,
  }
}

/** Karpenter itself as its chart runs it, but that it has no other replica to elect a leader with. */
async function karpenter({ cluster }: Installed, command: string): Promise<Controller> {
  const [metricsPort = 0, port = 0] = await freePorts(2)
  const settings = {
    KUBECONFIG: cluster.adminKubeconfig,
    SYSTEM_NAMESPACE: 'kube-system',
    DISABLE_LEADER_ELECTION: 'true',
    METRICS_PORT: String(metricsPort),
    HEALTH_PROBE_PORT: String(port),
    CPU_REQUESTS: '1000',
  }
  return {
    process: (env) => ({ name: processName, command, args: [], env: { ...env, ...settings } }),
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
  }
}

/** An address that the API server connects to: it refuses those of the loopback interface. */
export function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
}
