import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import color from 'picocolors'
import { connectClient, temporalClient } from '../../../starter/temporal/connect.ts'
import { clusterName, startCluster } from '../cluster.ts'
import { commandLine, Installation } from '../installation.ts'
import type { LocalCluster } from '../local-cluster.ts'
import { demoFolder, writeState } from '../local-state.ts'
import { Operator } from '../operator.ts'
import { temporalSettings } from '../temporal.ts'
import { killDuringLaunch } from './kill.ts'
import { commandsToTry, quoted, shellFile } from './shell.ts'
import { type NamedList, Stage } from './stage.ts'
import { leaveWorld } from './world.ts'

const pods = 5
/** What Joiner would bundle at its start, and the page of `joiner ui`. */
const bundlers = [['workers/bundle.ts', 'plain'], ['deploy/build-ui.ts']] as const
const root = fileURLToPath(new URL('../../../', import.meta.url))

interface Started {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly installation: Installation
  readonly startedAt: number
}

/** The stages of the demo on a local cluster, printed as they come about. */
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

  /** Starts the servers. Errors: one does not start, or `signal` fired; nothing runs then. */
  static async start(stateDir: string, signal: AbortSignal): Promise<Show> {
    const startedAt = Date.now()
    const say = (text: string) =>
      console.log(`${color.dim(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s`)}  ${text}`)
    say('starting etcd, Kubernetes, kwok, Temporal and the Azure simulator')
    const bundling = Promise.all(
      bundlers.map((args) => promisify(execFile)(process.execPath, args, { cwd: root, signal })),
    )
    bundling.catch(() => {})
    const cluster = await startCluster({ stateDir, progress: say, signal })
    await bundling.catch(async (error: unknown) => {
      await cluster.stop()
      throw error
    })
    const operator = new Operator(cluster)
    say(`servers are ready; Temporal UI: ${color.underline(cluster.temporalUi)}`)
    return new Show({ cluster, operator, installation: new Installation(cluster, operator), startedAt })
  }

  async install(): Promise<void> {
    await this.#installation.install()
    this.#cluster.supervisor.start(this.#installation.processSpec())
    writeState(demoFolder(), this.#cluster)
    this.#stage.say("CRDs and RBAC of the chart are applied; Joiner runs with its ServiceAccount's rights")
    const manifest = fileURLToPath(new URL('./demo.yaml', import.meta.url))
    await this.#operator.kubectl(['apply', '--server-side', '-f', manifest])
    this.#stage.say('applied NodePool general-purpose, AKSNodeClass default and Deployment inflate')
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

  /** Makes a small world to look at, and the file by which a shell finds it. Returns the lines to print once it stays. */
  async invite(): Promise<readonly string[]> {
    console.log()
    const left = await leaveWorld(this.#stage)
    const { stateDir, adminKubeconfig, binaries, temporalUi } = this.#cluster
    const file = join(stateDir, 'shell')
    const settings = { ...this.#installation.processSpec().env, KUBECONFIG: adminKubeconfig }
    const joiner = `${quoted(process.execPath)} ${quoted(commandLine)}`
    await writeFile(file, shellFile(settings, { joiner, kubectl: quoted(binaries.kubectl) }), { mode: 0o600 })
    return [
      '',
      'The cluster keeps running. In another terminal:',
      ...commandsToTry(file, left).map((line) => `  ${line}`),
      `Temporal UI: ${color.underline(temporalUi)}. Ctrl-C ends everything.`,
    ]
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
        lifecycles.length >= this.#stage.seen.nodeClaims.size && lifecycles.every(({ status }) => status !== 'RUNNING')
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
    const line = (id: string, events: number) => console.log(`  ${id.padEnd(76)} ${String(events).padStart(3)}`)
    for (const { id, events } of lifecycles) line(id, events)
    for (const id of [`provisioning/${clusterName}`, `disruption/${clusterName}`])
      line(id, (await client.workflow.getHandle(id).describe()).historyLength)
    await connection.close()
    return Object.values(left).every((count) => count === 0)
  }

  /** Ends everything. Returns how many processes are left. */
  async stop(): Promise<number> {
    if (!this.#stopped) {
      this.#stopped = true
      rmSync(demoFolder(), { recursive: true, force: true })
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
