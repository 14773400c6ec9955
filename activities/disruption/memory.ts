import { isDeepStrictEqual } from 'node:util'
import { isTrue } from '../../core/conditions.ts'
import type { DisruptionReason } from '../../core/disruption/command.ts'
import type { Resting } from '../../core/disruption/filters.ts'
import { isHeldOtherwise } from '../../core/node-claim/hold.ts'
import { isReady } from '../../core/node-claim/registration.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../../core/objects.ts'
import { isActive, isProvisionable } from '../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import { hasPassed } from '../../core/values/time.ts'
import type { CachedKind, CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import type { ClusterChange } from '../kubernetes/cache/change-feed.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { perCache } from '../kubernetes/cache/per-cache.ts'
import { nodeAsClaimed } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { BackOff } from '../provisioning/back-off.ts'
import { commandReason } from './proposals.ts'

/** A pass without a result, and its inputs. */
interface Fruitless {
  readonly changes: number
  readonly inputs: readonly unknown[]
  readonly sinceMs: number
  readonly untilMs: number
}

/**
 * State that a planner keeps between two evaluations, to skip those that would have the same result, and to back off what has just
 * failed. It is lost with the process, which costs an evaluation and at worst another failure.
 */
export class DisruptionMemory {
  /** Number of changes that a decision can depend on, and of those among them that can free nodes. */
  changes = 0
  urgentChanges = 0
  /** When stamps without a running command were last searched for, in epoch ms. */
  lookedForAbandonedMs = 0
  /** Since when something seems abandoned, in epoch ms, by its name. */
  readonly suspects = new Map<string, number>()
  readonly #pools = new BackOff()
  readonly #claims = new BackOff()
  readonly #now: () => number
  #fruitless: Fruitless | undefined

  constructor(cache: ClusterCache, now: () => number) {
    this.#now = now
    cache.onChange((change) => {
      const { kind, before, after } = change
      if (isMaterial(kind, before, after)) this.changes += 1
      if (isUrgent(change, cache)) this.urgentChanges += 1
      if (kind === 'NodeClaim') this.#learn(before as NodeClaim | undefined, after as NodeClaim | undefined)
    })
  }

  /** Returns whether an evaluation would only repeat the last one. `inputs` are what it depends on besides the cluster. */
  isSpared(inputs: readonly unknown[]): boolean {
    const last = this.#fruitless
    return (
      last !== undefined &&
      last.changes === this.changes &&
      !hasPassed(last.untilMs - last.sinceMs, last.sinceMs, this.#now()) &&
      last.inputs.length === inputs.length &&
      last.inputs.every((input, at) => Object.is(input, inputs[at]))
    )
  }

  /** Until when the last pass without a result lets others be skipped, in epoch ms. */
  get sparedUntil(): number {
    return this.#fruitless?.untilMs ?? 0
  }

  /** Records a pass that began after so many changes and had no result, which time alone changes at `untilMs`. */
  fruitless(changes: number, inputs: readonly unknown[], untilMs: number): void {
    this.#fruitless = { changes, inputs, sinceMs: this.#now(), untilMs }
  }

  /** Returns nodes whose commands failed just now. */
  resting(): Resting {
    const now = this.#now()
    const nodePools: Partial<Record<DisruptionReason, string[]>> = {}
    for (const key of this.#pools.resting(now)) {
      const [reason, ...pool] = key.split('/')
      const own = nodePools[reason as DisruptionReason] ?? []
      nodePools[reason as DisruptionReason] = [...own, pool.join('/')]
    }
    return { nodePools, nodeClaims: this.#claims.resting(now) }
  }

  /** Returns when the next of them may be tried again, in epoch ms. */
  restUntil(): number {
    return Math.min(this.#pools.nextEnd(this.#now()), this.#claims.nextEnd(this.#now()))
  }

  /** Records that a node could not be disrupted; with `pool`, for a reason that others of its pool share. */
  failed(nodeClaim: string, pool?: { readonly nodePool: string; readonly reason: DisruptionReason }): void {
    if (pool !== undefined) this.#pools.failed(`${pool.reason}/${pool.nodePool}`, this.#now())
    this.#claims.failed(nodeClaim, this.#now())
  }

  /** Learns of undone commands, by whichever process: a stamp goes away from a claim that stays. */
  #learn(before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    const stamp = before?.metadata.annotations[annotations.disruptionCommand]
    if (before === undefined || stamp === undefined || before.metadata.deletionTimestamp !== undefined) return
    const pool = before.metadata.labels[labels.nodePool] ?? ''
    const reason = commandReason(stamp)
    if (reason === undefined) return
    if (after === undefined || after.metadata.deletionTimestamp !== undefined) {
      this.#pools.succeeded(`${reason}/${pool}`)
      this.#claims.succeeded(before.metadata.name)
    } else if (after.metadata.annotations[annotations.disruptionCommand] === undefined)
      this.failed(before.metadata.name, { nodePool: pool, reason })
  }
}

/** Returns the memory of the process with this cache. */
export const memoryOf = perCache(({ cache, now }: Pick<Parts, 'cache' | 'now'>) => new DisruptionMemory(cache, now))

/** Returns whether a change can free a node, or make a pool or a budget release one. */
function isUrgent({ kind, before, after }: ClusterChange, cache: ClusterCache): boolean {
  if (kind === 'Pod') {
    const wasActive = before !== undefined && isActive(before as Pod)
    return wasActive && (after === undefined || !isActive(after as Pod))
  }
  if (kind === 'NodePool') return isAnotherPool(before as NodePool | undefined, after as NodePool | undefined)
  if (kind === 'CapacityBuffer') return before?.metadata.generation !== after?.metadata.generation
  if (kind === 'Node') return isUrgentNode(before as Node | undefined, after as Node | undefined, cache)
  if (kind !== 'NodeClaim' || before === undefined) return false
  if (after === undefined) return true
  const [old, current] = [before as NodeClaim, after as NodeClaim]
  const begins = (type: string) => isTrue(current.status.conditions, type) && !isTrue(old.status.conditions, type)
  const stamp = annotations.disruptionCommand
  return (
    ['Drifted', 'Consolidatable', 'InstanceTerminating'].some(begins) ||
    isHeldOtherwise(old, current) ||
    (old.metadata.annotations[stamp] !== undefined && current.metadata.annotations[stamp] === undefined)
  )
}

/** A node that becomes ready takes pods; one that falls ill may have to be repaired. */
function isUrgentNode(before: Node | undefined, after: Node | undefined, cache: ClusterCache): boolean {
  if (before === undefined || after === undefined) return false
  if (!isReady(before) && isReady(after)) return true
  if (isDeepStrictEqual(healthOf(before), healthOf(after))) return false
  return nodeAsClaimed({ cache }, after).metadata.labels[labels.initialized] === 'true'
}

/** Heartbeats and messages of conditions change all the time. */
function healthOf({ conditions }: Node) {
  return conditions.map(({ type, status, reason, lastTransitionTime }) => [type, status, reason, lastTransitionTime])
}

/** Returns whether a decision can depend on a change. Heartbeats, probes and counts in a status come all the time and change nothing. */
function isMaterial(kind: CachedKind, before: CachedObject | undefined, after: CachedObject | undefined): boolean {
  if (before === undefined || after === undefined) return true
  if (kind === 'NodePool') return isAnotherPool(before as NodePool, after as NodePool)
  return !isDeepStrictEqual(factsOf(before), factsOf(after))
}

function factsOf(object: CachedObject) {
  const own = { ...object, metadata: { ...object.metadata, resourceVersion: '' } }
  if (object.kind === 'Pod') return { ...own, conditions: isProvisionable(object) }
  if (object.kind === 'CapacityBuffer') return { ...own, status: undefined }
  return object.kind === 'Node' ? { ...own, conditions: healthOf(object) } : own
}

function isAnotherPool(before: NodePool | undefined, after: NodePool | undefined): boolean {
  if (before === undefined || after === undefined) return true
  const facts = ({ metadata, conditions }: NodePool) => [
    metadata.generation,
    metadata.deletionTimestamp,
    metadata.annotations,
    isTrue(conditions, 'Ready'),
  ]
  return !isDeepStrictEqual(facts(before), facts(after))
}
