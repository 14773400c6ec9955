import type { Client, ConnectionLike } from '@temporalio/client'
import type { Logger } from 'pino'
import { whenAborted } from '../../activities/abortable-wait.ts'
import type { ClusterChange } from '../../activities/kubernetes/cache/change-feed.ts'
import { drainDue } from '../../activities/kubernetes/draining/drain.ts'
import { Lease } from '../../activities/kubernetes/lease.ts'
import { nodeClaimOf } from '../../activities/kubernetes/lifecycle/claim-nodes.ts'
import { reportStranger } from '../../activities/kubernetes/lifecycle/strangers.ts'
import { type NodePoolResourcesDeps, writeCounts } from '../../activities/kubernetes/node-pools/node-pool-resources.ts'
import type { Peers } from '../../activities/kubernetes/peers.ts'
import { leaderTimes, whileHeld } from '../../activities/kubernetes/while-held.ts'
import type { LifecycleStarter } from '../../activities/provisioning/lifecycle-starter.ts'
import type { BridgeMetrics } from '../../activities/telemetry/bridge-metrics.ts'
import { WorkQueue } from '../../activities/work-queue.ts'
import { isHeldOtherwise } from '../../core/node-claim/hold.ts'
import { type NodeRules, needsLook } from '../../core/node-claim/node-health.ts'
import { hasLostNode } from '../../core/node-claim/node-owner.ts'
import { isDeleting, type Node, type NodeClaim } from '../../core/objects.ts'
import { lookAfterChanges } from './after-changes.ts'
import { makeCurrent, type OwnVersion } from './current-version.ts'
import { beginsReboot, isSettled, isUnderWay, isUntouched } from './object-facts.ts'
import { Watchdog } from './watchdog.ts'

interface BridgeDeps extends NodePoolCounterDeps {
  /** Namespace of Joiner's own Leases. */
  readonly namespace: string
  readonly cluster: string
  readonly nodeRules: NodeRules
  readonly lifecycles: LifecycleStarter
}

export interface BridgeInput {
  readonly deps: BridgeDeps
  readonly client: Client
  readonly connection: ConnectionLike
  /** Search attributes, loops and schedules. */
  readonly bootstrap: () => Promise<void>
  readonly temporalNamespace: string
  readonly identity: string
  readonly peers: Peers
  /** As `whileHeld` has it. */
  readonly isLame?: () => boolean
  /** Called when this process begins to lead in place of another that did not give the Lease up. */
  readonly onLead: (from: string) => void
  readonly resyncMs: number
  /** The version that is current while this process leads. Undefined: somebody else decides. */
  readonly version: OwnVersion | undefined
  readonly metrics?: BridgeMetrics
}

/** How often the watchdog looks: some ten requests, none of which costs anything on Temporal Cloud. */
const watchdogMs = 20_000
/** How long a planner is given to start the lifecycle of a claim that it made: it creates all claims of a plan first. */
const plannersOwnMs = 10_000
/** A key of the work queue beside those of claims. */
const versionKey = 'workerVersion'
/** Beginning of the keys of lifecycles without a NodeClaim. */
const orphanKey = 'orphan/'

/**
 * Turns watch events into pokes: "observe again", by what the cache has at that moment. Only the holder of the Lease does, so that replicas do not
 * multiply them; a poke too many changes nothing. Beside that its watchdog sees to what no change shows: that what should run in Temporal does.
 */
export class Bridge {
  readonly #input: BridgeInput
  readonly #lease: Lease
  readonly #stopped = new AbortController()
  readonly #queue: WorkQueue
  readonly #watchdog: Watchdog
  readonly #vanished = new Map<string, NodeClaim>()
  /** Why NodeClaims are poked, by their names; a claim that nothing happened to is looked at as a routine. */
  readonly #causes = new Map<string, string>()
  #unsubscribe: () => void = () => {}
  #stopCounting: () => void = () => {}
  #timers: NodeJS.Timeout[] = []
  #leading = Promise.resolve()
  /** Whether this process has begun to signal changes to lifecycles. */
  #isSignalling = false

  constructor(input: BridgeInput) {
    this.#input = input
    this.#lease = new Lease(input.deps, {
      ...leaderTimes,
      name: 'joiner-bridge',
      identity: input.identity,
      peers: input.peers,
    })
    this.#queue = new WorkQueue((key) => this.#work(key), {
      concurrency: 20,
      spacingMs: 500,
      maxBackoffMs: 30_000,
      ...(input.metrics === undefined ? {} : { metrics: input.metrics.queue }),
      onError: (key, error, attempt) => {
        if (attempt % 5 === 1) input.deps.log.warn({ key, attempt, err: error }, 'failed to signal workflow, retrying')
      },
    })
    this.#watchdog = new Watchdog({
      ...input,
      isLeader: () => this.isLeader,
      start: (nodeClaim) => this.#queue.add(`start/${nodeClaim}`, 'routine'),
      poke: (workflowId) => this.#queue.add(`${orphanKey}${workflowId}`, 'routine'),
    })
  }

  start(): void {
    const { deps, resyncMs, isLame } = this.#input
    this.#unsubscribe = deps.cache.onChange((change) => this.#onChange(change))
    this.#stopCounting = startNodePoolCounter(deps, () => this.isLeader)
    this.#leading = whileHeld(
      { what: 'bridges', lease: this.#lease, isFenced: false, isLame, log: deps.log, signal: this.#stopped.signal },
      (ends) => this.#lead(ends),
    )
    this.#timers.push(
      setInterval(() => void this.#resync(), resyncMs),
      setInterval(() => void this.#watchdog.round(), watchdogMs),
    )
  }

  /** Whether this process bridges now. */
  get isLeader(): boolean {
    return this.#lease.validMs > 0 && !this.#stopped.signal.aborted
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#unsubscribe()
    this.#stopCounting()
    this.#queue.stop()
    this.#stopped.abort()
    await this.#leading
  }

  async #lead(ends: AbortSignal): Promise<void> {
    const { deps, onLead } = this.#input
    await Promise.race([deps.cache.synced(), whenAborted(ends)])
    if (ends.aborted) return
    if (this.#lease.takenFrom !== '') onLead(this.#lease.takenFrom)
    await Promise.race([this.#watchdog.begin(ends), whenAborted(ends)])
    if (ends.aborted) return
    this.#isSignalling = true
    this.#pokeUnsettled()
    // What rests and was ended is missing now.
    void this.#watchdog.round()
    await whenAborted(ends)
    this.#isSignalling = false
  }

  /**
   * A new leader cannot know what its predecessor still had to signal. It looks at what is under way: a lifecycle at rest has missed nothing, and
   * the watchdog finds one that does not run.
   */
  #pokeUnsettled(): void {
    this.#queue.add(versionKey)
    const { deps } = this.#input
    for (const claim of deps.cache.nodeClaims.values())
      if (!isSettled(deps, claim)) this.#queue.add(`poke/${claim.metadata.name}`, 'routine')
  }

  async #resync(): Promise<void> {
    const { deps, bootstrap } = this.#input
    try {
      await bootstrap()
    } catch (error) {
      deps.log.warn({ err: error }, 'bootstrap in Temporal failed, the next resync retries')
    }
    if (!this.isLeader || !this.#isSignalling) return
    this.#queue.add(versionKey)
    for (const claim of deps.cache.nodeClaims.values())
      if (!isSettled(deps, claim) && !isUnderWay(claim)) this.#queue.add(`poke/${claim.metadata.name}`, 'routine')
  }

  #onChange({ kind, key, before, after }: ClusterChange): void {
    // What changes before that is signalled then.
    if (!this.isLeader || !this.#isSignalling) return
    if (kind === 'NodeClaim') this.#onClaim(key, before as NodeClaim | undefined, after as NodeClaim | undefined)
    else if (kind === 'Node') this.#onNode(before as Node | undefined, after as Node | undefined)
  }

  #onClaim(name: string, before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    if (after === undefined) {
      if (before !== undefined && !isDeleting(before)) this.#onVanished(before)
      return
    }
    if (before === undefined) {
      // A claim made by hand has nobody else. One with the finalizer is a planner's, which starts its lifecycle itself, perhaps in another process.
      if (isUntouched(after)) this.#queue.add(`begin/${name}`)
      // Something has happened to it already, so a restore of etcd has brought it back: its lifecycle has ended, or rests.
      else if (after.status.conditions.length > 0) this.#poke(name, 'the NodeClaim is back')
      else setTimeout(() => this.#startUnlessStarted(after), plannersOwnMs).unref()
    } else if (isDeleting(after) !== isDeleting(before))
      this.#poke(name, isDeleting(after) ? 'the NodeClaim is being deleted' : 'the NodeClaim is back')
    else if (isUnderWay(after) && !isUnderWay(before))
      this.#poke(name, 'the NodeClaim is what it was before its node was ready')
    else if (beginsReboot(before, after)) this.#poke(name, 'the VM of the NodeClaim is to reboot')
    else if (isHeldOtherwise(before, after)) this.#poke(name, 'the hold of the NodeClaim has changed')
  }

  /** Its finalizer was taken off by somebody, so its lifecycle has not ended it and would rest for ever. */
  #onVanished(claim: NodeClaim): void {
    this.#vanished.set(claim.metadata.uid, claim)
    this.#queue.add(`vanished/${claim.metadata.uid}`)
  }

  #startUnlessStarted({ metadata: { name, uid } }: NodeClaim): void {
    const claim = this.#input.deps.cache.nodeClaims.get(name)
    if (claim?.metadata.uid !== uid || this.#input.deps.lifecycles.hasStarted(claim)) return
    // A lifecycle that another process started has written of its launch by now, or is about to.
    if (claim.status.conditions.length === 0) this.#queue.add(`start/${name}`)
  }

  #onNode(before: Node | undefined, after: Node | undefined): void {
    const { deps } = this.#input
    const node = after ?? before
    const claim = nodeClaimOf(deps, node)
    if (claim === undefined && after !== undefined) reportStranger(deps, after)
    if (claim === undefined || isDeleting(claim)) return
    if (node !== undefined && after !== undefined && hasLostNode(claim, node))
      return this.#poke(claim.metadata.name, 'another Node joined for the VM')
    const leaving = after === undefined || (isDeleting(after) && (before === undefined || !isDeleting(before)))
    if (leaving) this.#poke(claim.metadata.name, `the Node is ${after === undefined ? 'gone' : 'being deleted'}`)
    else if (needsLook({ before, after }, deps.nodeRules, deps.now()))
      this.#poke(claim.metadata.name, 'conditions of the Node announce its end')
  }

  #poke(name: string, why: string): void {
    this.#causes.set(name, why)
    this.#queue.add(`poke/${name}`)
  }

  async #work(key: string): Promise<void> {
    const { deps, version, connection, temporalNamespace: namespace, identity } = this.#input
    if (key === versionKey) {
      // A leader that lost its Lease while this waited must not take the tasks away from its successor.
      if (version !== undefined && this.isLeader)
        await makeCurrent(version, { connection, namespace, identity, log: deps.log })
      return
    }
    if (key.startsWith(orphanKey)) return deps.lifecycles.pokeOrphan(key.slice(orphanKey.length))
    const [action, name = ''] = key.split('/')
    const claim = action === 'vanished' ? this.#vanished.get(name) : deps.cache.nodeClaims.get(name)
    const why = action === 'vanished' ? 'the NodeClaim is gone' : (this.#causes.get(name) ?? 'routine check')
    if (claim === undefined) return void this.#causes.delete(name)
    if (action === 'begin') await deps.lifecycles.start(claim, { isNew: isUntouched(claim) })
    else if (action === 'poke' || action === 'vanished') await deps.lifecycles.poke(claim, why, drainDue(deps, claim))
    else await deps.lifecycles.start(claim)
    if (this.#causes.get(name) === why) this.#causes.delete(name)
    this.#vanished.delete(claim.metadata.uid)
  }
}

interface NodePoolCounterDeps extends NodePoolResourcesDeps {
  readonly log: Logger
}

const lookEveryMs = 1000

/**
 * Keeps `status.resources` and `status.nodes` of the NodePools current while this process leads. Counting takes no workflow: what a pool has
 * follows from the watch cache at any time, so there is nothing to make durable. Returns what ends it.
 */
function startNodePoolCounter(deps: NodePoolCounterDeps, isLeader: () => boolean): () => void {
  const writtenAt = new Map<string, number>()
  const look = async () => {
    // A cache that is not complete would count too little. Whoever does not lead stays due for the moment when it does.
    if (!isLeader() || deps.cache.unsynced.length > 0) return 'due'
    try {
      return await writeCounts(deps, writtenAt)
    } catch (error) {
      deps.log.warn({ err: error }, 'failed to write nodepool resources, retrying')
      return 'due'
    }
  }
  return lookAfterChanges({ cache: deps.cache, kinds: ['Node', 'NodeClaim', 'NodePool'], everyMs: lookEveryMs, look })
}
