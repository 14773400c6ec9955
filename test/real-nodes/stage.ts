import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { defaultStateDir, startCluster } from '../../deploy/local/cluster.ts'
import { megabytes } from '../../deploy/local/image/contents.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'
import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { nodeServers } from '../../deploy/local/server-versions.ts'
import { Supervisor } from '../../deploy/local/supervisor.ts'
import { nodeName } from './addresses.ts'
import { makeCgroups, moveToServers, peakMemory, removeCgroups } from './cgroups.ts'
import { systemObjects, volume, workloadIdentity } from './cluster-objects.ts'
import { nodeImages } from './images.ts'
import { Fleet } from './joined/fleet.ts'
import { removeCables, requireDisk } from './machine.ts'
import { place, RealNode } from './node.ts'
import { until } from './until.ts'

const run = promisify(execFile)

const stateDir = join(dirname(defaultStateDir()), 'real-nodes')

/** Where the logs of its servers are. */
export const logs = join(stateDir, 'logs')

/** The process that has the machine's only place for real nodes. */
const owner = join(stateDir, 'pid')

/** Removes what an earlier run has left, whose command was ended before it could. Errors: it was not ended, and goes on; the disk has no room for another. */
export async function sweep(joined: boolean): Promise<void> {
  const other = await readFile(owner, 'utf8').catch(() => '')
  const command = other === '' ? '' : await readFile(`/proc/${other}/cmdline`, 'utf8').catch(() => '')
  if (command.includes('real-nodes'))
    throw new Error(
      `npm run real-nodes runs already, as process ${other}: wait for its end, or end it with kill ${other}`,
    )
  await removeCgroups()
  await removeCables()
  await rm(stateDir, { recursive: true, force: true })
  await mkdir(stateDir, { recursive: true })
  await requireDisk(stateDir, joined)
  await writeFile(owner, String(process.pid))
}

/** What a stage has taken of this machine so far. */
export async function took(): Promise<string> {
  const { stdout } = await run('du', ['--summarize', '--block-size=1', stateDir])
  const memory = await peakMemory()
  return `${megabytes(Number.parseInt(stdout))} of disk, and of memory at most ${megabytes(memory)}, files that the kernel keeps among it`
}

interface Input {
  /** Whether VMs have real kubelets. Without, the simulator plays them. */
  readonly joined: boolean
  readonly say: (line: string) => void
  /** A server has ended by itself. */
  readonly onCrash: (name: string, reason: string) => void
}

/** A cluster with one real node, and an Azure whose VMs join it as simulated ones. */
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
  #supervisor: Supervisor | undefined
  #cluster: Promise<LocalCluster> | undefined
  #operator: Operator | undefined
  #fleet: Fleet | undefined

  constructor(input: Input) {
    this.#input = input
  }

  /** Starts the servers and the node, and waits until DNS answers in it. `image`: the archive with Joiner's. Errors: what did not start. */
  async setUp(image: string): Promise<Stage> {
    const { say, onCrash, joined } = this.#input
    const binaries = await resolveBinaries([...nodeServers, 'temporal'], say)
    const images = await nodeImages(binaries, say)
    await mkdir(logs, { recursive: true })
    await makeCgroups()
    this.#supervisor = new Supervisor(logs, onCrash)
    const parts = { supervisor: this.#supervisor, binaries, folder: join(stateDir, 'nodes') }
    const node = new RealNode(parts)
    await node.plugIn()
    say('the node has its namespaces, and a cable to this machine')
    const { signal } = this.#ending
    this.#cluster = startCluster({ stateDir, place, temporal: 'none', progress: say, onCrash, signal })
    const cluster = await this.#cluster
    for (const pid of Object.values(cluster.supervisor.pids)) await moveToServers(pid)
    const operator = new Operator(cluster)
    this.#operator = operator
    say('the servers answer')
    await node.startContainerd([image, ...Object.values(images)])
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
    // A VM that ends, and what ends with it, is no crash.
    const supervisor = new Supervisor(logs, () => undefined)
    const archives = [images.pause, images.coredns]
    this.#fleet = new Fleet({ ...parts, supervisor, cluster, operator, archives, say })
    await this.#fleet.start()
    return { cluster, operator, node, fleet: this.#fleet }
  }

  /** Ends everything, and leaves nothing but the logs. */
  async end(): Promise<void> {
    this.#ending.abort(new Error('the command ends'))
    await this.#fleet?.end()
    const cluster = await this.#cluster?.catch(() => undefined)
    await this.#operator?.close()
    await this.#supervisor?.stopAll()
    await cluster?.stop()
    await removeCgroups()
    await removeCables()
  }
}

/** Gives the node an empty volume, for one claim. */
export async function giveVolume({ operator, node }: Pick<Stage, 'operator' | 'node'>, name: string): Promise<void> {
  await node.bare.run('mkdir', ['-p', `/var/lib/${name}`])
  await operator.kubectl(['apply', '--server-side', '-f', '-'], volume(name))
}

async function isReady(operator: Operator): Promise<boolean> {
  const { status } = await operator.api<{
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  }>('GET', `/api/v1/nodes/${nodeName}`)
  return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
}
