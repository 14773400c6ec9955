import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import color from 'picocolors'
import { connectClient, temporalClient } from '../../../starter/temporal/connect.ts'
import { clusterName, startCluster } from '../cluster.ts'
import { Installation } from '../installation.ts'
import type { LocalCluster } from '../local-cluster.ts'
import { demoFolder, removeState, writeState } from '../local-state.ts'
import { Operator } from '../operator.ts'
import { temporalSettings } from '../temporal.ts'
import { killDuringLaunch } from './kill.ts'
import { type NamedList, Stage } from './stage.ts'

const pods = 5
/** Commands for a person who looks around afterwards. */
const toTry = [
  'kubectl scale deployment inflate --replicas 3',
  'npm run -s joiner -- status',
  'npm run -s joiner -- node',
  'npm run -s joiner -- plan --now',
  'npm run -s joiner -- pause --reason "a look around" --until 10m',
  'npm run -s joiner -- uninstall --dry-run',
  'npm run -s joiner -- local status',
]
const bundler = fileURLToPath(new URL('../../../workers/bundle.ts', import.meta.url))

interface Started {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly installation: Installation
  readonly startedAt: number
}

/** The stages of the demo on a local cluster, told as they come about. */
export class Show {
  readonly #cluster: LocalCluster
  readonly #operator: Operator
  readonly #installation: Installation
  readonly #stage: Stage
  #stopped = false

  private constructor({ cluster, operator, installation, startedAt }: Started) {
    this.#cluster = cluster
    this.#operator = operator
    this.#installation = installation
    this.#stage = new Stage(operator, startedAt)
  }

  static async start(stateDir: string): Promise<Show> {
    const startedAt = Date.now()
    const say = (text: string) =>
      console.log(`${color.dim(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s`)}  ${text}`)
    say('starting etcd, Kubernetes, kwok, Temporal and the Azure simulator')
    // Joiner would bundle its workflows at its start; servers start meanwhile.
    const bundling = promisify(execFile)(process.execPath, [bundler, 'plain'])
    const [cluster] = await Promise.all([startCluster({ stateDir, progress: say }), bundling])
    const operator = new Operator(cluster)
    const installation = new Installation(cluster, operator)
    const show = new Show({ cluster, operator, installation, startedAt })
    say(`servers are ready; Temporal UI: ${color.underline(cluster.temporalUi)}`)
    await installation.install()
    cluster.supervisor.start(installation.processSpec())
    writeState(demoFolder(), cluster)
    say("CRDs and RBAC of the chart are applied; Joiner runs with its ServiceAccount's rights")
    await operator.kubectl(['apply', '--server-side', '-f', fileURLToPath(new URL('./demo.yaml', import.meta.url))])
    say('applied NodePool general-purpose, AKSNodeClass default and Deployment inflate')
    return show
  }

  async scaleUp(): Promise<void> {
    await this.#stage.scale(pods)
    await this.#stage.until(`${pods} pods run`, async () => (await this.#stage.running()) === pods)
    await this.#stage.reportNodes()
  }

  async scaleDown(): Promise<void> {
    await this.#stage.scale(0)
    await this.#stage.until('nodes became empty and were disrupted; NodeClaims, Nodes and VMs are gone', async () => {
      const state = await this.#stage.state()
      return (
        state.virtualMachines.length === 0 &&
        (await this.#stage.names('nodeClaims')).length === 0 &&
        (await this.#stage.names('nodes')).length === 0
      )
    })
  }

  async deleteNode(): Promise<void> {
    await this.scaleUp()
    const [node = ''] = await this.#stage.names('nodes')
    await this.#operator.kubectl(['delete', 'node', node, '--wait=false'])
    this.#stage.say(`kubectl delete node ${node}`)
    await this.#stage.until(
      `${node} was drained, its VM is gone, and ${pods} pods run on what replaced it`,
      async () => {
        const gone = !(await this.#stage.names('nodes')).includes(node)
        return gone && (await this.#stage.running()) === pods
      },
    )
    await this.#stage.reportNodes()
  }

  killDuringLaunch(): Promise<void> {
    return killDuringLaunch(this.#stage, this.#cluster, this.#installation)
  }

  /** Prints where the cluster is and what to try. */
  stay(): void {
    const { adminKubeconfig, temporalEnv } = this.#cluster
    console.log('\nThe cluster keeps running. In another terminal:')
    console.log(`  export KUBECONFIG=${adminKubeconfig}`)
    for (const [name, value] of Object.entries(temporalEnv)) console.log(`  export ${name}=${value}`)
    for (const line of toTry) console.log(`  ${line}`)
    console.log(`Temporal UI: ${color.underline(this.#cluster.temporalUi)}. Ctrl-C ends everything.`)
  }

  /** Prints the table of what was made and what is left. True when nothing is. */
  async summary(): Promise<boolean> {
    const settings = temporalSettings(this.#cluster)
    const connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const state = await this.#stage.state()
    const tokens = await this.#operator.api<NamedList>(
      'GET',
      '/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid',
    )
    const lifecycles: { id: string; events: number; status: string }[] = []
    await this.#stage.until('Temporal lists every lifecycle as ended', async () => {
      lifecycles.length = 0
      for await (const run of client.workflow.list({ query: "WorkflowType = 'nodeClaimLifecycle'" })) {
        lifecycles.push({ id: run.workflowId, events: run.historyLength ?? 0, status: run.status.name })
      }
      return (
        lifecycles.length >= this.#stage.seen.nodeClaims.size &&
        lifecycles.every(({ status }) => status === 'COMPLETED')
      )
    })
    const left = {
      VMs: state.virtualMachines.length,
      NICs: state.networkInterfaces.length,
      disks: state.disks.length,
      NodeClaims: (await this.#stage.names('nodeClaims')).length,
      Nodes: (await this.#stage.names('nodes')).length,
      'bootstrap tokens': tokens.items.length,
      'open lifecycles': lifecycles.filter(({ status }) => status === 'RUNNING').length,
    }
    console.log(
      `\nNodeClaims created: ${this.#stage.seen.nodeClaims.size}, Nodes joined: ${this.#stage.seen.nodes.size}, pods: 2 x ${pods} and 1, and those moved by the deletion`,
    )
    for (const [what, count] of Object.entries(left))
      console.log(`  ${`${what} left`.padEnd(22)} ${count === 0 ? color.green('0') : color.red(String(count))}`)
    console.log('\nLifecycles (events in their histories):')
    for (const { id, events } of lifecycles) {
      console.log(
        `  ${id.padEnd(76)} ${String(events).padStart(3)}  ${this.#cluster.temporalUi}/namespaces/default/workflows/${encodeURIComponent(id)}`,
      )
    }
    for (const id of [`provisioning/${clusterName}`, `disruption/${clusterName}`]) {
      const { historyLength } = await client.workflow.getHandle(id).describe()
      console.log(
        `  ${id.padEnd(76)} ${String(historyLength).padStart(3)}  ${this.#cluster.temporalUi}/namespaces/default/workflows/${encodeURIComponent(id)}`,
      )
    }
    await connection.close()
    return Object.values(left).every((count) => count === 0)
  }

  /** Ends everything. Returns how many processes are left. */
  async stop(): Promise<number> {
    if (!this.#stopped) {
      this.#stopped = true
      removeState(demoFolder())
      this.#installation.stop()
      await this.#operator.close()
      await this.#cluster.stop()
    }
    return Object.keys(this.#cluster.supervisor.pids).length
  }

  logTail(): Promise<string> {
    return this.#cluster.supervisor.tail('joiner', 20)
  }
}
