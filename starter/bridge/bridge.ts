import type { Client, ConnectionLike } from '@temporalio/client'
import type { ClusterChange } from '../../activities/kubernetes/cache/change-feed.ts'
import { Lease } from '../../activities/kubernetes/lease.ts'
import { nodeClaimOf } from '../../activities/kubernetes/lifecycle/claim-nodes.ts'
import { reportStranger } from '../../activities/kubernetes/lifecycle/strangers.ts'
import type { LifecycleStarter } from '../../activities/provisioning/lifecycle-starter.ts'
import type { BridgeMetrics } from '../../activities/telemetry/bridge-metrics.ts'
import { isHeldOtherwise } from '../../core/node-claim/hold.ts'
import type { NodeRules } from '../../core/node-claim/node-health.ts'
import { needsLook } from '../../core/node-claim/node-health.ts'
import { hasLostNode } from '../../core/node-claim/node-owner.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import { claimOfLifecycle, singletonIds, taskQueue } from '../../core/task-queues.ts'
import type { inPlaceUpdates, nodeClassStatus } from '../../workflows/index.ts'
import { pokeSignal } from '../../workflows/messages.ts'
import { areLoopsRunning } from './cluster-loops.ts'
import { makeCurrent, type OwnVersion } from './current-version.ts'
import { readAttributes } from './namespace-attributes.ts'
import type { NodePoolCounterDeps } from './node-pool-counter.ts'
import { startNodePoolCounter } from './node-pool-counter.ts'
import {
  beginsReboot,
  isDeleting,
  isSameSpec,
  isSettled,
  isUnderWay,
  isUntouched,
  wasLastOfItsClass,
} from './object-facts.ts'
import { compareLifecycles, pokeOrphan } from './open-lifecycles.ts'
import { endStuckRuns } from './stuck-runs.ts'
import { WorkQueue } from './work-queue.ts'

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
  readonly resyncMs: number
  /** The version that is current while this process leads. Undefined: somebody else decides. */
  readonly version: OwnVersion | undefined
  readonly metrics?: BridgeMetrics
}

const leaseSeconds = 10
const renewMs = 3000
/** Time after which a request for the Lease counts as failed, and pause before the next one: both fit several times into the Lease's duration. */
const leaseRequestMs = 2500
const retryLeaseMs = 500
/** How often runs are looked for that somebody ended, or that this version of the workflow code cannot go on with: three requests. */
const lookForRunsMs = 20_000
/** How long a planner is given to start the lifecycle of a claim that it made: it creates all claims of a plan first. */
const plannersOwnMs = 10_000
/** How long a lifecycle whose NodeClaim is gone is given to end by itself: its last activity's answer, and the lag of the list. */
const secondLookMs = 15_000
/** Passes over all objects that a change asks for at once; keys of the work queue beside those of claims. */
const statusKey = 'nodeClassStatus'
const inPlaceKey = 'inPlaceUpdates'
const versionKey = 'workerVersion'
/** Beginning of the keys of lifecycles without a NodeClaim. */
const orphanKey = 'orphan/'

/**
 * Turns watch events into pokes: "observe again", without state. Only the holder of the Lease does, so that replicas do not multiply them; a poke too
 * many changes nothing. Every resync compares the lifecycles that run with the NodeClaims, and costs nothing where they agree.
 */
export class Bridge {
  readonly #input: BridgeInput
  readonly #lease: Lease
  readonly #queue: WorkQueue
  readonly #vanished = new Map<string, NodeClaim>()
  /** Why NodeClaims are poked, by their names; a claim that nothing happened to is looked at as a routine. */
  readonly #causes = new Map<string, string>()
  #isHolding = false
  #unsubscribe: () => void = () => {}
  #stopCounting: () => void = () => {}
  #timers: NodeJS.Timeout[] = []
  #stopped = false
  #failedLooks = 0
  #awaitsSecondLook = false

  constructor(input: BridgeInput) {
    this.#input = input
    this.#lease = new Lease(input.deps, {
      name: 'joiner-bridge',
      identity: input.identity,
      durationSeconds: leaseSeconds,
      requestMs: leaseRequestMs,
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
  }

  start(): void {
    const { deps, resyncMs } = this.#input
    this.#unsubscribe = deps.cache.onChange((change) => this.#onChange(change))
    this.#stopCounting = startNodePoolCounter(deps, () => this.isLeader)
    void this.#holdLease()
    this.#timers.push(
      setInterval(() => void this.#holdLease(), renewMs),
      setInterval(() => void this.#resync(), resyncMs),
      setInterval(() => void this.#restartRuns(), lookForRunsMs),
      setInterval(() => void this.#keepAttributes(), lookForRunsMs),
    )
  }

  /** Whether this process bridges now. A leader that cannot renew its Lease stops by itself before anybody else can take it. */
  get isLeader(): boolean {
    return !this.#stopped && this.#lease.isValid
  }

  async stop(): Promise<void> {
    const wasLeader = this.isLeader
    this.#stopped = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#unsubscribe()
    this.#stopCounting()
    this.#queue.stop()
    if (!wasLeader) return
    await this.#lease
      .release()
      .catch((error: unknown) =>
        this.#input.deps.log.debug({ err: error }, 'failed to release bridge lease, it will expire'),
      )
  }

  async #holdLease(): Promise<void> {
    if (this.#stopped || this.#isHolding) return
    this.#isHolding = true
    const { deps, identity } = this.#input
    try {
      const holding = await this.#lease.tryHold()
      if (holding === 'taken') {
        deps.log.info({ identity }, 'became bridge leader')
        await deps.cache.synced()
        this.#pokeUnsettled()
      }
    } catch (error) {
      // It leads until the Lease has run out: until then no other process can hold it.
      deps.log.warn({ err: error, leads: this.isLeader }, 'failed to renew bridge lease, retrying')
      setTimeout(() => void this.#holdLease(), retryLeaseMs).unref()
    } finally {
      this.#isHolding = false
    }
  }

  /**
   * A new leader cannot know what its predecessor still had to tell. It looks at what is under way: a lifecycle at rest has missed nothing, and
   * the next resync finds one that does not run.
   */
  #pokeUnsettled(): void {
    this.#queue.add(versionKey)
    this.#queue.add(statusKey)
    this.#queue.add(inPlaceKey)
    const { deps } = this.#input
    for (const claim of deps.cache.nodeClaims.values())
      if (!isSettled(deps, claim)) this.#queue.add(`poke/${claim.metadata.name}`, 'routine')
  }

  async #resync(): Promise<void> {
    if (this.#stopped) return
    const { deps } = this.#input
    try {
      await this.#input.bootstrap()
    } catch (error) {
      deps.log.warn({ err: error }, 'bootstrap in Temporal failed, the next resync retries')
    }
    if (!this.isLeader) return
    this.#queue.add(versionKey)
    for (const claim of deps.cache.nodeClaims.values())
      if (!isSettled(deps, claim) && !isUnderWay(claim)) this.#queue.add(`poke/${claim.metadata.name}`, 'routine')
    await this.#compareLifecycles()
  }

  /**
   * Starts lifecycles that should run, and has those end that have no NodeClaim. One whose NodeClaim went a moment ago is about to end by itself,
   * and a poke then costs it a failed workflow task: only those count that a second look still finds.
   */
  async #compareLifecycles(suspects?: readonly string[]): Promise<void> {
    const { client, deps } = this.#input
    if (this.#stopped || !this.isLeader || (suspects === undefined && this.#awaitsSecondLook)) return
    try {
      const { missing, orphaned } = await compareLifecycles(client, deps.cluster, deps.cache.nodeClaims.values())
      for (const { metadata } of missing) this.#queue.add(`start/${metadata.name}`, 'routine')
      for (const id of orphaned) if (suspects?.includes(id)) this.#queue.add(`${orphanKey}${id}`, 'routine')
      if (suspects === undefined && orphaned.length > 0) this.#lookAgain(orphaned)
      if (missing.length + orphaned.length > 0)
        deps.log.info({ missing: missing.length, orphaned: orphaned.length }, 'lifecycles differ from nodeclaims')
    } catch (error) {
      deps.log.warn({ err: error }, 'failed to list lifecycles, the next resync retries')
    }
  }

  #lookAgain(suspects: readonly string[]): void {
    this.#awaitsSecondLook = true
    setTimeout(() => {
      this.#awaitsSecondLook = false
      void this.#compareLifecycles(suspects)
    }, secondLookMs).unref()
  }

  /** Makes search attributes again that somebody removed, or says what is wrong: each workflow task fails that changes one. */
  async #keepAttributes(): Promise<void> {
    if (this.#stopped || !this.isLeader) return
    const { connection, temporalNamespace, deps, bootstrap } = this.#input
    try {
      const found = await readAttributes(connection, temporalNamespace)
      if (found.kind === 'known' && found.missing.length + found.wrong.length > 0) await bootstrap()
    } catch (error) {
      deps.log.warn({ err: error }, 'failed to look for search attributes in Temporal, retrying')
    }
  }

  /** Restarts loops and lifecycles that somebody terminated, and those that this version cannot replay. */
  async #restartRuns(): Promise<void> {
    if (this.#stopped || !this.isLeader) return
    const { client, deps } = this.#input
    try {
      const loops = await areLoopsRunning(client, deps.cluster)
      const ended = await endStuckRuns({ client, cluster: deps.cluster, log: deps.log })
      this.#input.metrics?.restarted(ended.length)
      if (ended.length > 0 || !loops) await this.#input.bootstrap()
      for (const name of ended.map(claimOfLifecycle)) if (name !== undefined) this.#queue.add(`start/${name}`)
      this.#failedLooks = 0
    } catch (error) {
      // A Temporal that is too old refuses the question each time: it is reported once in ten minutes.
      if (this.#failedLooks++ % 20 === 0)
        deps.log.warn({ err: error }, 'failed to search for stuck workflow runs (needs Temporal 1.30), retrying')
    }
  }

  #onChange({ kind, key, before, after }: ClusterChange): void {
    if (!this.isLeader) return
    if (kind === 'NodeClaim') this.#onClaim(key, before as NodeClaim | undefined, after as NodeClaim | undefined)
    else if (kind === 'Node') this.#onNode(before as Node | undefined, after as Node | undefined)
    else if (kind === 'NodeOverlay') {
      // The end of one may end a conflict.
      if (before === undefined || after === undefined || !isSameSpec(before, after)) this.#queue.add(statusKey)
    } else if ((kind === 'NodePool' || kind === 'AKSNodeClass') && after !== undefined) {
      if (before !== undefined && isSameSpec(before, after)) return
      this.#queue.add(statusKey)
      if (kind === 'AKSNodeClass') this.#queue.add(inPlaceKey)
    }
  }

  #onClaim(name: string, before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    if (after === undefined) {
      if (before !== undefined && wasLastOfItsClass(this.#input.deps.cache, before)) this.#queue.add(statusKey)
      if (before !== undefined && !isDeleting(before)) this.#onVanished(before)
      return
    }
    if (before === undefined) {
      // A claim made by hand has nobody else. One with the finalizer is a planner's, which starts its lifecycle itself, perhaps in another process.
      if (isUntouched(after)) this.#queue.add(`begin/${name}`)
      else setTimeout(() => this.#startUnlessStarted(after), plannersOwnMs).unref()
    } else if (isDeleting(after) && !isDeleting(before)) this.#poke(name, 'the NodeClaim is being deleted')
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
    const { deps, client, version, connection, temporalNamespace: namespace, identity } = this.#input
    if (key === versionKey) {
      // A leader that lost its Lease while this waited must not take the tasks away from its successor.
      if (version !== undefined && this.isLeader)
        await makeCurrent(version, { connection, namespace, identity, log: deps.log })
      return
    }
    if (key === statusKey || key === inPlaceKey) {
      await client.workflow.signalWithStart<typeof nodeClassStatus | typeof inPlaceUpdates, [string?]>(key, {
        workflowId: singletonIds[key](deps.cluster),
        taskQueue: taskQueue('core', deps.cluster),
        args: [],
        signal: pokeSignal,
        signalArgs: ['a spec changed'],
        staticSummary: 'a spec changed',
      })
      return
    }
    if (key.startsWith(orphanKey)) return pokeOrphan(client, key.slice(orphanKey.length))
    const [action, name = ''] = key.split('/')
    const claim = action === 'vanished' ? this.#vanished.get(name) : deps.cache.nodeClaims.get(name)
    const why = action === 'vanished' ? 'the NodeClaim is gone' : (this.#causes.get(name) ?? 'routine check')
    if (claim === undefined) {
      this.#causes.delete(name)
      return
    }
    if (action === 'begin') await deps.lifecycles.start(claim, { isNew: isUntouched(claim) })
    else await (action === 'start' ? deps.lifecycles.start(claim) : deps.lifecycles.poke(claim, why))
    if (this.#causes.get(name) === why) this.#causes.delete(name)
    this.#vanished.delete(claim.metadata.uid)
  }
}
