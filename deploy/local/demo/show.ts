import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import color from 'picocolors'
import { connectClient, temporalClient } from '../../starter/temporal/connect.ts'
import { clusterName, startCluster } from './cluster.ts'
import { Installation } from './installation.ts'
import type { LocalCluster } from './local-cluster.ts'
import { Operator } from './operator.ts'
import { temporalSettings } from './temporal.ts'

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly status: { readonly phase: string }
  }[]
}

interface NamedList {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

interface SimulatorState {
  readonly virtualMachines: readonly unknown[]
  readonly networkInterfaces: readonly unknown[]
  readonly disks: readonly unknown[]
}

const pods = 5
const bundler = fileURLToPath(new URL('../../workers/bundle.ts', import.meta.url))

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
  readonly #startedAt: number
  readonly #seen = { nodeClaims: new Set<string>(), nodes: new Set<string>() }
  #stopped = false

  private constructor({ cluster, operator, installation, startedAt }: Started) {
    this.#cluster = cluster
    this.#operator = operator
    this.#installation = installation
    this.#startedAt = startedAt
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
    say("CRDs and RBAC of the chart are applied; Joiner runs with its ServiceAccount's rights")
    await operator.kubectl(['apply', '--server-side', '-f', fileURLToPath(new URL('./demo.yaml', import.meta.url))])
    say('applied NodePool general-purpose, AKSNodeClass default and Deployment inflate')
    return show
  }

  async scaleUp(): Promise<void> {
    await this.#scale(pods)
    await this.#until(`${pods} pods run`, async () => (await this.#running()) === pods)
    await this.#reportNodes()
  }

  async scaleDown(): Promise<void> {
    await this.#scale(0)
    await this.#until('nodes became empty and were disrupted; NodeClaims, Nodes and VMs are gone', async () => {
      const state = await this.#operator.simulator<SimulatorState>('GET', '/state')
      return (
        state.virtualMachines.length === 0 &&
        (await this.#names('nodeClaims')).length === 0 &&
        (await this.#names('nodes')).length === 0
      )
    })
  }

  async deleteNode(): Promise<void> {
    await this.scaleUp()
    const [node = ''] = await this.#names('nodes')
    await this.#operator.kubectl(['delete', 'node', node, '--wait=false'])
    this.#say(`kubectl delete node ${node}`)
    await this.#until(`${node} was drained, its VM is gone, and ${pods} pods run on what replaced it`, async () => {
      const gone = !(await this.#names('nodes')).includes(node)
      return gone && (await this.#running()) === pods
    })
    await this.#reportNodes()
  }

  /** Prints the table of what was made and what is left. True when nothing is. */
  async summary(): Promise<boolean> {
    const settings = temporalSettings(this.#cluster)
    const connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const state = await this.#operator.simulator<SimulatorState>('GET', '/state')
    const tokens = await this.#operator.api<NamedList>(
      'GET',
      '/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid',
    )
    const lifecycles: { id: string; events: number; status: string }[] = []
    await this.#until('Temporal lists every lifecycle as ended', async () => {
      lifecycles.length = 0
      for await (const run of client.workflow.list({ query: "WorkflowType = 'nodeClaimLifecycle'" })) {
        lifecycles.push({ id: run.workflowId, events: run.historyLength ?? 0, status: run.status.name })
      }
      return lifecycles.length >= this.#seen.nodeClaims.size && lifecycles.every(({ status }) => status === 'COMPLETED')
    })
    const left = {
      VMs: state.virtualMachines.length,
      NICs: state.networkInterfaces.length,
      disks: state.disks.length,
      NodeClaims: (await this.#names('nodeClaims')).length,
      Nodes: (await this.#names('nodes')).length,
      'bootstrap tokens': tokens.items.length,
      'open lifecycles': lifecycles.filter(({ status }) => status === 'RUNNING').length,
    }
    console.log(
      `\nNodeClaims created: ${this.#seen.nodeClaims.size}, Nodes joined: ${this.#seen.nodes.size}, pods: 2 x ${pods}, and those moved by the deletion`,
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
      this.#installation.stop()
      await this.#operator.close()
      await this.#cluster.stop()
    }
    return Object.keys(this.#cluster.supervisor.pids).length
  }

  logTail(): Promise<string> {
    return this.#cluster.supervisor.tail('joiner', 20)
  }

  #say(text: string): void {
    console.log(`${color.dim(`${((Date.now() - this.#startedAt) / 1000).toFixed(1).padStart(6)} s`)}  ${text}`)
  }

  async #scale(replicas: number): Promise<void> {
    await this.#operator.kubectl(['scale', 'deployment/inflate', `--replicas=${replicas}`])
    this.#say(`scaled inflate to ${replicas}`)
  }

  async #running(): Promise<number> {
    const list = await this.#operator.api<PodList>('GET', '/api/v1/namespaces/default/pods?labelSelector=app%3Dinflate')
    return list.items.filter(({ status }) => status.phase === 'Running').length
  }

  async #names(kind: 'nodeClaims' | 'nodes'): Promise<readonly string[]> {
    const path = kind === 'nodes' ? '/api/v1/nodes' : '/apis/karpenter.sh/v1/nodeclaims'
    const names = (await this.#operator.api<NamedList>('GET', path)).items.map(({ metadata }) => metadata.name)
    for (const name of names) this.#seen[kind].add(name)
    return names
  }

  async #reportNodes(): Promise<void> {
    const table = await this.#operator.kubectl(['get', 'nodeclaims'])
    await this.#names('nodes')
    await this.#names('nodeClaims')
    for (const line of table.trimEnd().split('\n')) console.log(`          ${color.dim(line)}`)
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + 120_000
    let problem = ''
    // A server that answers an error while it starts is asked again.
    const holds = async () => {
      try {
        // What lives only for a moment is counted too.
        await this.#names('nodeClaims')
        await this.#names('nodes')
        return await isSo()
      } catch (error) {
        problem = `; last answer: ${String(error)}`
        return false
      }
    }
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`not within 2 minutes: ${what}${problem}`)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    this.#say(color.green(what))
  }
}
