import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Client, ScheduleOverlapPolicy } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { stringify } from 'yaml'
import { claimOfLifecycle, maintenanceScheduleId } from '../core/task-queues.ts'
import { timeText } from '../core/values/time.ts'
import type { Fault } from '../deploy/local/azure/admin/fault-shape.ts'
import type { Timing } from '../deploy/local/azure/admin/settings.ts'
import type { JournalEntry } from '../deploy/local/azure/server/arm-deps.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { commandLine, type Installation } from '../deploy/local/installation.ts'
import type { LocalCluster } from '../deploy/local/local-cluster.ts'
import type { Operator } from '../deploy/local/operator.ts'
import { forKubectl } from '../starter/document/yaml-text.ts'
import { nodeClass } from './applied-objects.ts'
import { operatorUser, realServers, type Servers, type SimulatedVm, type WorldOptions } from './clusters/servers.ts'
import { patient } from './runner/patience.ts'

/** A Kubernetes object, as far as tests look into it. */
export interface Seen {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
  }
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly kind?: string; readonly name?: string }
  readonly source?: { readonly component?: string }
  readonly reportingInstance?: string
  readonly spec: {
    readonly nodeName?: string
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect?: string }[]
  }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message: string
      readonly lastTransitionTime?: string
    }[]
  }
}

interface ListedLifecycle {
  readonly id: string
  readonly events: number
  readonly nodeClaim: string | undefined
}

interface AzureState {
  readonly virtualMachines: readonly SimulatedVm[]
  readonly networkInterfaces: readonly string[]
  readonly disks: readonly string[]
}

/** A pass of the planner over pending pods. */
export interface Plan {
  readonly time: string
  readonly pods: number
  readonly nodeClaims: number
  readonly solveMs: number
}

/** Whether an object has a condition, and it is True. */
export function isTrue({ status }: Seen, condition: string): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === condition && value === 'True') ?? false
}

export const claimsPath = '/apis/karpenter.sh/v1/nodeclaims'

const paths = {
  pods: '/api/v1/namespaces/default/pods',
  nodes: '/api/v1/nodes',
  nodeclaims: claimsPath,
  nodepools: '/apis/karpenter.sh/v1/nodepools',
  aksnodeclasses: '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
  events: '/api/v1/namespaces/default/events',
} as const

/** How often a condition is looked at. Each look costs real servers some milliseconds, and several clusters share two cores. */
const lookEveryMs = 200
/** In virtual time, what is waited for long is looked at less often. */
const pauseAfter = (waitedMs: number) =>
  process.env['JOINER_TEST_WORLD'] === 'fast' ? Math.min(lookEveryMs, 20 + waitedMs / 50) : lookEveryMs
/** How long a condition is waited for: what takes seconds by itself takes many times that beside other suites. A promise about time states its own. */
export const patienceMs = 120_000

export { operatorUser }

/** The servers that Joiner works with, its CRDs and RBAC, and what a test does with them. */
export class World {
  /** The one that was started last, until it is stopped. */
  static latest: World | undefined
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly installation: Installation
  readonly temporal: Client
  /** A client with the rights of Joiner's account and no others. The caller closes it. */
  readonly kubernetes: Servers['kubernetes']
  /** Requests to Azure by somebody else than Joiner. The caller closes it. */
  readonly arm: Servers['arm']
  /** All of the servers, for proofs and faults. */
  readonly servers: Servers

  constructor(servers: Servers) {
    this.servers = servers
    this.cluster = servers.cluster
    this.operator = servers.operator
    this.installation = servers.installation
    this.temporal = servers.temporal
    this.kubernetes = servers.kubernetes
    this.arm = servers.arm
  }

  /** Starts everything but Joiner itself: real servers, or a simulated world in virtual time where the environment asks for it. */
  static async start(options: WorldOptions = {}): Promise<World> {
    const isFast = process.env['JOINER_TEST_WORLD'] === 'fast'
    const simulated = async () => (await import('./fast/world/simulated-servers.ts')).simulatedServers(options)
    World.latest = new World(await (isFast ? simulated() : realServers(options)))
    return World.latest
  }

  /** Starts a Joiner process. Names tell replicas apart. */
  startJoiner(name = 'joiner', settings: Readonly<Record<string, string>> = {}): void {
    this.cluster.supervisor.start(this.installation.processSpec(name, settings))
  }

  /** Starts a process for each Deployment of the chart, each with its own account. */
  startApart(settings: Readonly<Record<string, string>> = {}): void {
    for (const spec of this.installation.apartSpecs(settings)) this.cluster.supervisor.start(spec)
  }

  /** Starts Joiner and waits until claims can be launched. */
  async startWithNodeClass(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    this.startJoiner('joiner', settings)
    await this.apply(nodeClass())
    await this.until('the node class is Ready', async () =>
      (await this.list('aksnodeclasses')).some((found) => isTrue(found, 'Ready')),
    )
  }

  /** Starts Joiner with objects of which one is the NodePool `general`, and waits until that can be planned for. */
  async startWithPool(...objects: readonly unknown[]): Promise<void> {
    this.startJoiner()
    await this.apply(...objects)
    await this.untilReady('general')
  }

  /** `kill -9`, at once. */
  crash(name = 'joiner'): Promise<void> {
    return this.cluster.supervisor.kill(name, 'SIGKILL')
  }

  /**
   * `kill -9` of a server, which starts again at once or after a while. Returns when it did, in epoch ms. kwok stands for kubelets, which find an
   * API server again within seconds; kwok takes up to half a minute, so it starts again with it.
   */
  async restartServer(name: string, awayMs = 0): Promise<number> {
    const { supervisor } = this.cluster
    await supervisor.restart(name, 'SIGKILL', awayMs)
    const startedMs = Date.now()
    if (name === 'kube-apiserver') {
      await this.until('the API server answers', () => this.operator.kubectl(['get', '--raw', '/readyz']))
      await supervisor.restart('kwok', 'SIGKILL')
    }
    return startedMs
  }

  /** Waits for a condition. Errors: what was waited for, what was seen last, and the end of Joiner's log. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, ms = patienceMs): Promise<T> {
    const atMostMs = patient(ms)
    const startedMs = Date.now()
    const deadline = startedMs + atMostMs
    let last = ''
    while (Date.now() < deadline) {
      try {
        const found = await look()
        if (found !== undefined && found !== false) return found
        last = 'not so'
      } catch (error) {
        last = String(error)
      }
      await new Promise((resolve) => setTimeout(resolve, pauseAfter(Date.now() - startedMs)))
    }
    const log = await this.cluster.supervisor.tail('joiner', 12)
    const tail = log.replaceAll(/^(.{300}).*$/gm, '$1 ...')
    throw new Error(
      `not within ${atMostMs / 1000} s: ${what} (last: ${last})\n${await this.#picture()}\njoiner's log:\n${tail}`,
    )
  }

  /** Runs the command line with the rights that the chart has for people who use it. Returns what it printed; errors carry `code`, `stdout` and `stderr`. */
  async joiner(...args: readonly string[]): Promise<string> {
    return this.joinerWith({}, ...args)
  }

  /** As `joiner`, with more in the environment. */
  async joinerWith(settings: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
    const { runCommand } = this.servers
    if (runCommand !== undefined) return runCommand(settings, args)
    const env = {
      ...process.env,
      KUBECONFIG: this.installation.operatorKubeconfig,
      ...this.cluster.temporalEnv,
      ...settings,
    }
    return (await promisify(execFile)(process.execPath, [commandLine, ...args], { env, maxBuffer: 64 * 2 ** 20 }))
      .stdout
  }

  /** Values of the metrics of a process that runs now, by name and labels. */
  async metrics(name = 'joiner'): Promise<Readonly<Record<string, number>>> {
    const text = await this.servers.metrics(name)
    return Object.fromEntries([...text.matchAll(/^([a-z].*) (\S+)$/gm)].map(([, key, value]) => [key, Number(value)]))
  }

  /** Runs the `temporal` command against the server itself, as an administrator does. */
  async temporalCli(args: readonly string[]): Promise<string> {
    const address = `127.0.0.1:${this.cluster.ports.temporal}`
    return (await promisify(execFile)(this.cluster.binaries.temporal, [...args, '--address', address])).stdout
  }

  async list(kind: keyof typeof paths): Promise<readonly Seen[]> {
    return (await this.operator.api<{ items: readonly Seen[] }>('GET', paths[kind])).items
  }

  async azure(): Promise<AzureState> {
    return this.operator.simulator<AzureState>('GET', '/state')
  }

  /** Places in the custom data of VMs that were asked for which hold what no node must be given. */
  violations(): Promise<readonly { readonly vm: string; readonly path: string }[]> {
    return this.operator.simulator('GET', '/violations')
  }

  journal(): Promise<readonly JournalEntry[]> {
    return this.operator.simulator('GET', '/journal')
  }

  fault(fault: Fault): Promise<void> {
    return this.operator.simulator('POST', '/faults', fault)
  }

  timing(timing: Timing): Promise<void> {
    return this.operator.simulator('POST', '/timing', timing)
  }

  apply(...objects: readonly unknown[]): Promise<string> {
    return this.operator.kubectl(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      objects.map((object) => stringify(object, forKubectl)).join('---\n'),
    )
  }

  async scale(deployment: string, replicas: number): Promise<void> {
    await this.operator.kubectl(['scale', `deployment/${deployment}`, `--replicas=${replicas}`])
  }

  async running(app = 'inflate'): Promise<number> {
    const pods = await this.list('pods')
    return pods.filter(({ metadata, status }) => metadata.labels?.['app'] === app && status?.phase === 'Running').length
  }

  /** Waits until a NodePool may be planned with. */
  async untilReady(pool: string): Promise<void> {
    await this.until(`NodePool ${pool} is Ready`, async () =>
      (await this.list('nodepools')).some((found) => found.metadata.name === pool && isTrue(found, 'Ready')),
    )
  }

  async untilRunning(count: number, ms = patienceMs): Promise<void> {
    await this.until(`${count} pods run`, async () => (await this.running()) === count, ms)
  }

  /** Waits until nothing that Joiner made is left: no NodeClaim, Node, VM, NIC, disk, bootstrap token or open lifecycle. */
  async untilNothingLeft(ms = patienceMs): Promise<void> {
    // Most looks find NodeClaims, and one list costs less than all of them.
    const hasClaims = async () => (await this.list('nodeclaims')).length > 0
    const isNothing = async () => Object.values(await this.left()).every((n) => n === 0)
    await this.until('nothing is left', async () => !(await hasClaims()) && isNothing(), ms)
  }

  async left(): Promise<Readonly<Record<string, number>>> {
    const azure = await this.azure()
    const tokens = await this.operator.api<{ items: readonly unknown[] }>(
      'GET',
      '/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid',
    )
    return {
      nodeClaims: (await this.list('nodeclaims')).length,
      nodes: (await this.list('nodes')).length,
      vms: azure.virtualMachines.length,
      nics: azure.networkInterfaces.length,
      disks: azure.disks.length,
      tokens: tokens.items.length,
      lifecycles: (await this.lifecycles("ExecutionStatus = 'Running'")).length,
    }
  }

  /** Lifecycles that Temporal lists. */
  async lifecycles(filter?: string): Promise<readonly ListedLifecycle[]> {
    const query = `WorkflowType = 'nodeClaimLifecycle'${filter === undefined ? '' : ` AND ${filter}`}`
    const found: ListedLifecycle[] = []
    for await (const { workflowId: id, historyLength: events = 0 } of this.temporal.workflow.list({ query }))
      found.push({ id, events, nodeClaim: claimOfLifecycle(clusterName, id)?.name })
    return found
  }

  /** A Node whose VM is gone, as the controller manager reports it after its kubelet was silent for most of a minute. */
  async untilSilent(node: string): Promise<void> {
    await this.until(`the kubelet of ${node} is silent`, async () => {
      const { metadata } = (await this.list('nodes')).find(({ metadata: { name } }) => name === node) ?? {}
      return metadata !== undefined && metadata.annotations?.['kwok.x-k8s.io/node'] === undefined
    })
    const time = timeText(Date.now())
    const said = { reason: 'NodeStatusUnknown', message: 'silent', lastHeartbeatTime: time, lastTransitionTime: time }
    await this.operator.api('PATCH', `/api/v1/nodes/${node}/status`, {
      status: { conditions: [{ type: 'Ready', status: 'Unknown', ...said }] },
    })
  }

  /** What the planner of the process `joiner` has planned since then, from its log. */
  async plans(sinceMs = 0): Promise<readonly Plan[]> {
    const lines = (await this.cluster.supervisor.tail('joiner', 100_000)).split('\n')
    return lines
      .filter((line) => line.includes('"planned pods"'))
      .map((line) => JSON.parse(line) as Plan)
      .filter(({ time }) => Date.parse(time) >= sinceMs)
  }

  /** The history of every run that Temporal knows, as JSON, by workflow id and run id. */
  async histories(): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>()
    for await (const { workflowId, runId } of this.temporal.workflow.list())
      texts.set(
        `${workflowId} ${runId}`,
        historyToJSON(await this.temporal.workflow.getHandle(workflowId, runId).fetchHistory()),
      )
    return texts
  }

  /** Starts what the Schedule starts, now, and after the run that is under way, if there is one: that may have looked already. */
  maintain(): Promise<void> {
    return this.temporal.schedule
      .getHandle(maintenanceScheduleId(clusterName))
      .trigger(ScheduleOverlapPolicy.BUFFER_ONE)
  }

  loop(name: 'provisioning' | 'disruption') {
    return this.temporal.workflow.getHandle(`${name}/${clusterName}`)
  }

  /** The memo that says whose a loop is. A loop without it is another cluster's. */
  async clusterMemo(): Promise<{ readonly clusterUid: string }> {
    const { metadata } = await this.operator.api<Seen>('GET', '/api/v1/namespaces/kube-system')
    return { clusterUid: metadata.uid }
  }

  /** Ends everything. Errors: Joiner was refused a request for want of a right, unless the test has taken rights away. */
  async stop({ tookRights = false } = {}): Promise<void> {
    if (World.latest === this) World.latest = undefined
    await this.servers.end(async () => {
      const forbidden = tookRights ? [] : await this.forbidden()
      if (forbidden.length > 0) throw new Error(`Joiner lacks rights:\n${forbidden.join('\n')}`)
    })
  }

  /** What Joiner's processes asked of the API server without the right to it, each once. */
  async forbidden(): Promise<readonly string[]> {
    const reasons = (await this.servers.logs())
      .join('\n')
      .matchAll(/"reason":"((?:[^"\\]|\\.)*)","msg":"forbidden by the API server/g)
    return [...new Set([...reasons].map(([, reason = '']) => reason))]
  }

  async #picture(): Promise<string> {
    const shown = await Promise.all(
      ['nodepools', 'nodeclaims', 'nodes', 'pods'].map((kind) => this.operator.kubectl(['get', kind]).catch(String)),
    )
    const tables = shown.map((table) => table.split('\n').slice(0, 8).join('\n'))
    return [...tables, ...(await this.#unjoinedVms().catch((error: unknown) => [String(error)]))].join('\n')
  }

  /** What is known of VMs without a Node, a line for each. */
  async #unjoinedVms(): Promise<readonly string[]> {
    const { virtualMachines } = await this.azure()
    const unjoined = virtualMachines.filter(({ joined }) => !joined).slice(0, 8)
    return unjoined.map(({ name, state, boot }) => `VM ${name} has not joined: ${state}; boot: ${boot}`)
  }
}
