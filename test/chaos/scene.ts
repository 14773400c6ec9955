import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { machineNameOf } from '../../core/node-claim/aks-machine.ts'
import { nodeNamePrefix } from '../../core/node-claim/node-names.ts'
import { makingMachines } from '../arm/machines-mode.ts'
import { traceKeys } from '../command-writes.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import { SimulatedProcess } from '../fast/simulated-process.ts'
import type { FastWorld } from '../fast/world/fast-world.ts'
import { isTrue, type Seen, type World } from '../world.ts'
import { ApiFaults } from './api-faults.ts'
import { classObject, nodeLimitOf, poolObject, type StagedClass, type StagedPool } from './objects.ts'
import type { ChaosPlan } from './plan.ts'
import { Etcd } from './restored-etcd.ts'

/** What a NodePool allowed, until when. */
interface PastRules {
  readonly pool: string
  readonly budget: string
  /** Its limit, in vCPUs; without one: infinity. */
  readonly cpuLimit: number
  /** Of a static one, in nodes; of others: infinity. */
  readonly nodeLimit: number
  /** Unset: it still holds. */
  readonly untilMs?: number
}

/** What a scene knows of objects, at a time. */
export interface SceneState {
  readonly pools: ReadonlyMap<string, StagedPool>
  readonly removed: ReadonlySet<string>
  readonly isClassRemoved: boolean
  readonly nodeClass: StagedClass
}

/** Of sick nodes: reboot what a reboot is for, and replace others. */
const hung = { conditionType: 'Hung', conditionStatus: 'True', tolerationDuration: '1m' }
const repairPolicies = [
  { ...hung, terminationGracePeriod: '3m' },
  { ...hung, reasonRegex: '^Kernel', action: 'RebootNode', terminationGracePeriod: '3m' },
]

/** A world in the course of a plan: what troubles change, and what invariants know of it. */
export class Scene {
  readonly plan: ChaosPlan
  readonly fast: FastWorld
  readonly world: World
  readonly api: ApiFaults
  readonly pools: Map<string, StagedPool>
  readonly #rules: PastRules[] = []
  /** NodePools that somebody deleted and has not made again. */
  readonly removed = new Set<string>()
  isClassRemoved = false
  nodeClass: StagedClass = { revision: 0, isOtherFamily: false }
  /** When somebody changed it last, epoch ms. */
  classEditedMs = 0
  /**
   * Names of what others made. `impostors`: Nodes with a provider id of ours, `held`: Nodes of ours with a finalizer of theirs, `gone`: Nodes that a
   * restore of etcd took away.
   */
  readonly foreign = {
    nodes: new Set<string>(),
    vms: new Set<string>(),
    impostors: new Set<string>(),
    held: new Set<string>(),
    gone: 0,
  }
  /** Names of VMs that somebody else than Joiner ended. */
  readonly struck = new Set<string>()
  /** Whether Azure may have refused to make a VM for want of capacity, which is remembered for an hour. */
  wasRefused = false
  readonly etcd: Etcd<SceneState>
  /** When the last stop of a process was planned, epoch ms. */
  stopPlannedMs = 0
  /** When the last process was started again, epoch ms. */
  startedMs = 0
  /** When troubles are over, epoch ms. */
  readonly endsMs: number
  #disturbedUntilMs = 0
  /** How often what happened, by name: troubles that came about, and what they hit. */
  readonly counts = new Map<string, number>()
  readonly #lasting = new Set<Promise<void>>()
  readonly #say: (text: string) => void

  constructor(plan: ChaosPlan, { fast, world }: Pick<Scene, 'fast' | 'world'>, say: (text: string) => void) {
    this.plan = plan
    this.fast = fast
    this.world = world
    this.#say = say
    this.endsMs = this.nowMs + plan.minutes * 60_000
    this.etcd = new Etcd(fast)
    this.api = new ApiFaults(fast, plan.seed, (name) => this.count(name))
    this.pools = new Map(plan.pools.map((pool) => [pool.name, { ...pool, revision: 0 }]))
    for (const pool of this.pools.values()) this.#note(pool)
  }

  /** Starts a process of Joiner, with what the plan's NodePools need. */
  startJoiner(name: string): void {
    const isStatic = this.plan.pools.some(({ nodes }) => nodes !== undefined)
    this.world.startJoiner(name, {
      FEATURE_GATES: `StaticCapacity=${isStatic},NodeRepair=${this.plan.repairs === true}`,
      JOINER_REPAIR_POLICIES: JSON.stringify(repairPolicies),
      ...(this.plan.makesMachines ? makingMachines : {}),
    })
  }

  /** Returns the name of a NodeClaim's VM, which is its Node's too. That of an AKS machine is found as long as AKS has the machine. */
  vmNameOf(claimName: string): string {
    const { machines } = this.fast.azure.deps.agentPools
    const machine = this.plan.makesMachines && machines.find(({ name }) => name === machineNameOf(claimName))
    return machine ? machine.vm : `${nodeNamePrefix}${claimName}`
  }

  get nowMs(): number {
    return this.fast.time.clock.now()
  }

  /** For how long a process may act upon what it read long before: it stood still, or its requests waited. */
  disturb(forMs: number): void {
    this.#disturbedUntilMs = Math.max(this.#disturbedUntilMs, this.nowMs + forMs)
  }

  /** Whether that has been over for so long. */
  isCalmFor(ms: number): boolean {
    return this.nowMs - this.#disturbedUntilMs >= ms
  }

  /** What a restore of the API server brings back. */
  get state(): SceneState {
    const { isClassRemoved, nodeClass } = this
    return { pools: new Map(this.pools), removed: new Set(this.removed), isClassRemoved, nodeClass }
  }

  /** Takes up what was so when a backup was made. */
  goBack({ pools, removed, isClassRemoved, nodeClass }: SceneState): void {
    this.disturb(0)
    for (const pool of pools.values()) {
      this.pools.set(pool.name, pool)
      this.#note(pool)
    }
    this.removed.clear()
    for (const name of removed) this.removed.add(name)
    this.isClassRemoved = isClassRemoved
    this.nodeClass = nodeClass
    for (const name of this.foreign.nodes)
      if (this.fast.cluster.server.objects.find(`/api/v1/nodes/${name}`) === undefined) {
        this.foreign.nodes.delete(name)
        this.foreign.impostors.delete(name)
        this.foreign.gone += 1
      }
  }

  /** Entries of the ConfigMap with what operators have paused. */
  get storedPauses(): Readonly<Record<string, string>> {
    const map = this.fast.cluster.server.objects.find('/api/v1/namespaces/joiner/configmaps/joiner-pauses')
    return (map as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data ?? {}
  }

  say(text: string): void {
    this.#say(`${new Date(this.nowMs).toISOString().slice(11, 19)}  ${text}`)
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }

  /** Does something after a while, outside of all processes. */
  later(ms: number, act: () => unknown): void {
    this.lasts(SimulatedProcess.outside(() => wait(ms)).then(act))
  }

  /** Something goes on that nobody waits for: others do other things meanwhile. */
  lasts(act: Promise<unknown>): void {
    const done: Promise<void> = act
      .then(
        () => undefined,
        (error: unknown) => this.say(`  left out: ${String(error).slice(0, 200)}`),
      )
      .finally(() => this.#lasting.delete(done))
    this.#lasting.add(done)
  }

  /** Waits for the next NodeClaim that a command takes. Errors: as `#next`. */
  nextTaken(): Promise<Json> {
    return this.#next((claim, before) => hasStamp(claim) && !hasStamp(before), 'no command took a node')
  }

  /** Waits for the next NodeClaim of a NodePool that a command is about to take. Errors: as `#next`. */
  nextMarked(pool: string): Promise<Json> {
    const isMarked = (claim: Json) => isTrue(claim as unknown as Seen, 'DisruptionReason')
    const isOf = (claim: Json) => metaOf(claim).labels?.['karpenter.sh/nodepool'] === pool
    return this.#next(
      (claim, before) => isOf(claim) && isMarked(claim) && !isMarked(before),
      'no node was to be disrupted',
    )
  }

  /** Waits for the next NodeClaim of a command that is ready to take the pods of others. Errors: as `#next`. */
  nextReplacement(): Promise<Json> {
    const isReady = (claim: Json) => isTrue(claim as unknown as Seen, 'Initialized')
    return this.#next(
      (claim, before) =>
        metaOf(claim).annotations?.[traceKeys.replacementFor] !== undefined && isReady(claim) && !isReady(before),
      'no node was replaced',
    )
  }

  /** Waits for the next change of a NodeClaim that is such a one. Errors: there is none until troubles are over, so `none`. */
  async #next(isOne: (claim: Json, before: Json) => boolean, none: string): Promise<Json> {
    const found = Promise.withResolvers<Json>()
    const { objects } = this.fast.cluster.server
    const stop = objects.onChange(({ resource, object, before }) => {
      if (resource !== 'nodeclaims' || before === undefined || this.etcd.isRestoring) return
      if (isOne(object, before)) found.resolve(object)
    })
    const over = SimulatedProcess.outside(() =>
      setTimeout(() => found.reject(new Error(none)), this.endsMs - this.nowMs),
    )
    return found.promise.finally(() => {
      clearTimeout(over)
      stop()
    })
  }

  /** Waits for all that was to happen later. */
  async untilOver(): Promise<void> {
    while (this.#lasting.size > 0) await Promise.all(this.#lasting)
  }

  /** Changes a NodePool, where it is there. */
  async edit(name: string, change: Partial<StagedPool>): Promise<void> {
    const before = this.pools.get(name)
    if (before === undefined || this.removed.has(name)) return
    const after = { ...before, ...change }
    this.pools.set(name, after)
    this.#note(after)
    await this.world.apply(poolObject(after))
  }

  /** Changes the AKSNodeClass, where it is there. */
  async editClass(after: StagedClass): Promise<void> {
    if (this.isClassRemoved) return
    this.nodeClass = after
    this.classEditedMs = this.nowMs
    await this.world.apply(classObject(after))
  }

  /** What a NodePool has allowed since then, at any time. */
  rulesSince(pool: string, sinceMs: number): readonly PastRules[] {
    return this.#rules.filter((one) => one.pool === pool && (one.untilMs === undefined || one.untilMs >= sinceMs))
  }

  #note(pool: StagedPool): void {
    const { name, budget, cpuLimit = Number.POSITIVE_INFINITY } = pool
    const at = this.#rules.findIndex(({ pool: known, untilMs }) => known === name && untilMs === undefined)
    const last = this.#rules[at]
    if (last !== undefined) this.#rules[at] = { ...last, untilMs: this.nowMs }
    this.#rules.push({ pool: name, budget, cpuLimit, nodeLimit: nodeLimitOf(pool) })
  }
}

const hasStamp = (claim: Json) => metaOf(claim).annotations?.[traceKeys.stamp] !== undefined

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** One of a list; undefined where it is empty. */
export function picked<T>(list: readonly T[], draw: number): T | undefined {
  return list[Math.floor(draw * list.length)]
}
