import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SkuCatalogue } from '../azure/catalogue/sku-catalogue.ts'
import { azureIds, type ClusterOptions, defaultStateDir, startCluster } from '../cluster.ts'
import type { LocalCluster } from '../local-cluster.ts'
import { Operator } from '../operator.ts'
import { resolveBinaries } from '../server-binaries.ts'
import { nodeServers } from '../server-versions.ts'
import { Supervisor } from '../supervisor.ts'
import { nodeName } from './addresses.ts'
import { makeCgroups, moveToServers, removeCgroups } from './cgroups.ts'
import { systemObjects, workloadIdentity } from './cluster-objects.ts'
import { Fleet } from './fleet.ts'
import { nodeImages } from './images.ts'
import { removeCables, requireAddresses, requireDisk, requireMachine } from './machine.ts'
import { place, RealNode } from './node.ts'
import { until } from './until.ts'
import { whyNotHere } from './virtual-machine.ts'

/** Where `npm run real-nodes` has its state. */
export const ownStateDir = join(dirname(defaultStateDir()), 'real-nodes')

/** Who has the machine's only place for real nodes, whatever folder its state is in: the id of its process. */
const owner = '/run/joiner-real-nodes.pid'

/**
 * Takes the machine's place for real nodes, and removes what an earlier command has left. `stateDir`: for what is to come, which is made if it is not there. Errors: what the machine
 * lacks; another command has the place, or another program its addresses.
 */
export async function takePlace({ stateDir, joined }: Pick<Input, 'stateDir' | 'joined'>): Promise<void> {
  await requireMachine()
  const other = await readFile(owner, 'utf8').catch(() => '')
  const command = other === '' ? '' : await readFile(`/proc/${other}/cmdline`, 'utf8').catch(() => '')
  if (command.includes('real-nodes'))
    throw new Error(
      `this machine has real nodes already, of process ${other}, and a place for one cluster of them: wait for its end, or end it with kill ${other}`,
    )
  await removeCgroups()
  await removeCables()
  await mkdir(stateDir, { recursive: true })
  await requireDisk(stateDir, joined)
  await writeFile(owner, String(process.pid))
  await requireAddresses()
}

interface Input extends Pick<ClusterOptions, 'temporal'> {
  /** For state, keys and logs. */
  readonly stateDir: string
  /** Whether VMs have real kubelets. Without, the simulator plays them. */
  readonly joined: boolean
  /** Names of VMs that are left for the caller to boot. Default: of none. */
  readonly isHeld?: (name: string) => boolean
  /** Which sizes Azure has: those alone that this machine can boot, or, by default, all. */
  readonly sells?: 'bootable'
  readonly say: (line: string) => void
  /** A server has ended by itself. */
  readonly onCrash: (name: string, reason: string) => void
}

/** A cluster with one real node, and an Azure whose VMs join it as simulated ones, or as real ones. */
export interface Stage {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly node: RealNode
  /** The VMs, where they have real kubelets. */
  readonly fleet?: Fleet
}

/** Makes a stage, and ends it, also one that is not complete. */
export class Builder {
  readonly #input: Input
  readonly #ending = new AbortController()
  readonly #sweeper: ChildProcess
  #supervisor: Supervisor | undefined
  #cluster: Promise<LocalCluster> | undefined
  #operator: Operator | undefined
  #fleet: Fleet | undefined

  /** The machine's place is taken ({@link takePlace}). */
  constructor(input: Input) {
    this.#input = input
    const sweeper = fileURLToPath(new URL('./sweeper.ts', import.meta.url))
    this.#sweeper = spawn(process.execPath, [sweeper], { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
    this.#sweeper.unref()
  }

  /** Starts the servers and the node, and waits until DNS answers in it. `archives`: images that the node has besides its own. Errors: what did not start. */
  async setUp(archives: readonly string[] = []): Promise<Stage> {
    const { say, onCrash, joined, stateDir, temporal } = this.#input
    const binaries = await resolveBinaries([...nodeServers, 'temporal'], say)
    const images = await nodeImages(binaries, say)
    const logs = join(stateDir, 'logs')
    await mkdir(logs, { recursive: true })
    await makeCgroups()
    this.#supervisor = new Supervisor(logs, onCrash)
    const parts = { supervisor: this.#supervisor, binaries, folder: join(stateDir, 'nodes') }
    const node = new RealNode(parts)
    await node.plugIn()
    say('the node has its namespaces, and a cable to this machine')
    const { signal } = this.#ending
    this.#cluster = startCluster({
      stateDir,
      place,
      progress: say,
      onCrash,
      signal,
      ...(temporal === undefined ? {} : { temporal }),
    })
    const cluster = await this.#cluster
    for (const pid of Object.values(cluster.supervisor.pids)) await moveToServers(pid)
    const operator = new Operator(cluster)
    this.#operator = operator
    say('the servers answer')
    // Where the cluster has none beside it, Temporal runs in it.
    const more = temporal === 'none' ? [images.temporal] : []
    await node.startContainerd([...archives, images.pause, images.coredns, ...more])
    say('containerd has the images')
    await node.join(cluster)
    await until(`node ${nodeName} is Ready`, 60_000, () => isReady(operator))
    say('the kubelet has registered the node, which is Ready')
    const apply = (objects: string) => operator.kubectl(['apply', '--server-side', '-f', '-'], objects)
    await apply(systemObjects())
    await apply(workloadIdentity(cluster.azureEndpoint))
    await until('CoreDNS is ready', 60_000, async () => {
      const answer = ['--output', 'jsonpath={.status.readyReplicas}']
      return (await operator.kubectl(['get', 'deployment', 'coredns', '--namespace', 'kube-system', ...answer])) === '1'
    })
    say('CoreDNS is ready')
    if (!joined) return { cluster, operator, node }
    const { isHeld = () => false, sells } = this.#input
    // A VM that ends, and what ends with it, is no crash.
    const supervisor = new Supervisor(logs, () => undefined)
    this.#fleet = new Fleet({
      ...parts,
      supervisor,
      cluster,
      operator,
      archives: [images.pause, images.coredns],
      isHeld,
      say,
    })
    await this.#fleet.start()
    if (sells === 'bootable') await operator.simulator('POST', '/settings', { restrictions: unbootable() })
    return { cluster, operator, node, fleet: this.#fleet }
  }

  /** Ends everything, and leaves nothing but the logs. Errors: a process that does not end. */
  async end(): Promise<void> {
    this.#ending.abort(new Error('the command ends'))
    await this.#fleet?.end()
    const cluster = await this.#cluster?.catch(() => undefined)
    await this.#operator?.close()
    await this.#supervisor?.stopAll()
    await cluster?.stop()
    // Nothing else may be left that keeps this process going until it has ended.
    this.#sweeper.ref()
    const swept = once(this.#sweeper, 'exit')
    this.#sweeper.stdin?.end()
    const [code] = await swept
    if (code !== 0) throw new Error('real nodes have left something on this machine, which is named above')
  }
}

/** Sizes that this machine cannot boot. */
function unbootable(): readonly { readonly sku: string }[] {
  const catalogue = new SkuCatalogue({ location: azureIds.location })
  const names = catalogue.skus.map(({ name }) => name)
  return names.flatMap((sku) => {
    const size = catalogue.size(sku)
    return size === undefined || whyNotHere(size) === undefined ? [] : [{ sku }]
  })
}

async function isReady(operator: Operator): Promise<boolean> {
  const { status } = await operator.api<{
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  }>('GET', `/api/v1/nodes/${nodeName}`)
  return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
}
