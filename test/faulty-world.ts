import type { HeldRole } from '../deploy/local/azure/access/roles.ts'
import { nodeClass } from './applied-objects.ts'
import { machinesRole, shippedRoles } from './arm/joiner-roles.ts'
import { addMachinesPool, machinesPool, makingMachines } from './arm/machines-mode.ts'
import { type Old, traceKeys, type Write, writes } from './command-writes.ts'
import type { Gate, Hold } from './faults/gate.ts'
import { Proxy } from './proxy.ts'
import { type Seen, World } from './world.ts'

const poolLabel = 'karpenter.sh/nodepool'
const { taint, condition, stamp, replacementFor } = traceKeys

interface SeenClaim extends Seen {
  readonly status?: Seen['status'] & { readonly nodeName?: string }
}

/** A world whose Joiner can be stopped at any write: between it and the API server stands a proxy, and another between it and Azure. Simulated servers have gates of their own. */
export class FaultyWorld {
  readonly world: World
  readonly proxy: Gate
  readonly azure: Gate
  #settings: Readonly<Record<string, string>>

  private constructor(world: World, { proxy, azure }: Proxies, settings: Readonly<Record<string, string>>) {
    this.world = world
    this.proxy = proxy
    this.azure = azure
    this.#settings = settings
  }

  /** Starts everything, Joiner too, and applies a node class. */
  static async start(): Promise<FaultyWorld> {
    const faulty = await FaultyWorld.startServers({ JOINER_RESYNC_INTERVAL: '5s' })
    faulty.startJoiner()
    await faulty.world.apply(nodeClass())
    return faulty
  }

  /** Starts everything but Joiner, which will have these settings. */
  static async startServers(settings: Readonly<Record<string, string>> = {}): Promise<FaultyWorld> {
    return FaultyWorld.#around(await World.start(), settings, shippedRoles)
  }

  /** As `startServers`, for a Joiner whose nodes are AKS machines. */
  static async startForMachines(): Promise<FaultyWorld> {
    const world = await World.start()
    await addMachinesPool(world)
    return FaultyWorld.#around(world, makingMachines, [...shippedRoles, machinesRole])
  }

  static async #around(
    world: World,
    settings: Readonly<Record<string, string>>,
    roles: readonly HeldRole[],
  ): Promise<FaultyWorld> {
    // Repeated work must fit into what Azure lets one subscription do, and needs no other rights than the shipped roles.
    await world.operator.simulator('POST', '/settings', { throttling: 'documented', roles })
    const { gates } = world.servers
    if (gates !== undefined) return new FaultyWorld(world, { proxy: gates.kubernetes, azure: gates.azure }, settings)
    const [{ proxy, kubeconfig }, azure] = await Promise.all([Proxy.beforeApiServer(world), Proxy.beforeAzure(world)])
    const addresses = { KUBECONFIG: kubeconfig, JOINER_ARM_ENDPOINT: azure.address }
    return new FaultyWorld(world, { proxy, azure }, { ...addresses, ...settings })
  }

  async stop(): Promise<void> {
    this.proxy.stop()
    this.azure.stop()
    await this.world.stop()
  }

  /** What belongs to a test that failed must not stand in the way of the next one. */
  reset(): void {
    this.proxy.forget()
    this.azure.forget()
    if (this.world.cluster.supervisor.pids['joiner'] === undefined) this.startJoiner()
  }

  /** Starts Joiner again after a crash, with nothing in its way; `change`: settings that are others from now on. */
  async restart(change: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.world.crash()
    this.#settings = { ...this.#settings, ...change }
    this.reset()
  }

  /** All that there is at one moment. */
  async look(): Promise<Picture> {
    const [claims, nodes, pods, { virtualMachines }] = await Promise.all([
      this.world.list('nodeclaims'),
      this.world.list('nodes'),
      this.world.list('pods'),
      this.world.azure(),
    ])
    return new Picture({ claims, nodes, pods, vms: virtualMachines.map(({ name }) => name) })
  }

  /** Waits until each of the pools has so many nodes and nothing else. Returns what is seen then. */
  async untilWhole(pools: readonly string[], nodes = 1, ms = 90_000): Promise<Picture> {
    let last = ''
    const look = async () => {
      const seen = await this.look()
      const states = pools.map((pool) => [pool, seen.state(pool, nodes)] as const)
      last = states.map((each) => each.join(': ')).join('; ')
      return states.every(([, state]) => state === 'whole') && seen
    }
    return this.world.until(`${pools.join(', ')} are whole`, look, ms).catch((error: Error) => {
      throw new Error(`${last}\n${error.message}`)
    })
  }

  /** Keeps back a write of a command over a node. */
  hold(old: Old, write: Write): Hold {
    return this.proxy.hold((call) => writes[write](old, call))
  }

  /** Waits until commands stand at all that is held. */
  async untilReached(...holds: readonly Hold[]): Promise<void> {
    await this.world.until('the held writes', async () => holds.every(({ isReached }) => isReached))
  }

  startJoiner(): void {
    this.world.startJoiner('joiner', this.#settings)
  }
}

interface Proxies {
  readonly proxy: Gate
  readonly azure: Gate
}

interface Everything {
  readonly claims: readonly SeenClaim[]
  readonly nodes: readonly Seen[]
  readonly pods: readonly Seen[]
  /** Names. */
  readonly vms: readonly string[]
}

/** What there is at one moment, by NodePool. The pods of a pool carry its name as label `app`. */
export class Picture {
  readonly #seen: Everything

  constructor(seen: Everything) {
    this.#seen = seen
  }

  /** Its nodes with their pods, in the order of their names. */
  olds(pool: string): readonly Old[] {
    const { claims, pods } = this.#of(pool)
    return claims
      .map(({ metadata: { name, uid }, status }) => {
        const node = status?.nodeName ?? ''
        const own = pods.filter(({ spec }) => spec.nodeName === node)
        return { pool, claim: name, uid, node, pods: own.map(({ metadata }) => metadata.name).sort() }
      })
      .sort((one, other) => (one.claim < other.claim ? -1 : 1))
  }

  /** The only node of a pool. */
  old(pool: string): Old {
    const [old, ...more] = this.olds(pool)
    if (old === undefined || more.length > 0) throw new Error(`${pool}: ${more.length + (old ? 1 : 0)} NodeClaims`)
    return old
  }

  /** Labels of the NodeClaims of a pool. */
  labels(pool: string): readonly Readonly<Record<string, string>>[] {
    return this.#of(pool).claims.map(({ metadata }) => metadata.labels ?? {})
  }

  /** What a command leaves on objects while it runs. */
  traces(pool: string): readonly string[] {
    const { claims, nodes } = this.#of(pool)
    return [
      ...claims.flatMap(({ metadata: { annotations = {} }, status }) => [
        ...[stamp, replacementFor].filter((key) => key in annotations),
        ...(status?.conditions ?? []).filter(({ type }) => type === condition).map(() => condition),
      ]),
      ...nodes.filter(({ spec }) => spec.taints?.some(({ key }) => key === taint)).map(() => taint),
    ].sort()
  }

  /** `whole`: so many claims with their nodes and VMs, all pods run on them, and there is no trace of a command. */
  state(pool: string, count: number): string {
    const { claims, nodes, vms, pods } = this.#of(pool)
    const counts = [claims, nodes, vms].map(({ length }) => length)
    if (counts.some((each) => each !== count)) return `${counts.join('/')} claims/nodes/VMs`
    const names = nodes.map(({ metadata }) => metadata.name)
    const isSound =
      claims.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
      claims.every(({ status }) =>
        status?.conditions?.some((one) => one.type === 'Initialized' && one.status === 'True'),
      ) &&
      names.every((name) => vms.includes(name)) &&
      pods.length > 0 &&
      pods.every(({ spec, status }) => status?.phase === 'Running' && names.includes(spec.nodeName ?? '')) &&
      pods.every(({ metadata }) => metadata.deletionTimestamp === undefined)
    if (!isSound) return 'on the way'
    return this.traces(pool).join(', ') || 'whole'
  }

  #of(pool: string): Everything {
    const { claims, nodes, pods, vms } = this.#seen
    const isOwn = ({ metadata }: Seen) => metadata.labels?.[poolLabel] === pool
    return {
      claims: claims.filter(isOwn),
      nodes: nodes.filter(isOwn),
      pods: pods.filter(({ metadata }) => metadata.labels?.['app'] === pool),
      // Those of AKS machines have the name of the agent pool before their own.
      vms: vms.filter((name) => name.startsWith(`aks-${pool}-`) || name.startsWith(`aks-${machinesPool}-${pool}-`)),
    }
  }
}
