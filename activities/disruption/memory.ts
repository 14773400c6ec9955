import { isDeepStrictEqual } from 'node:util'
import { isTrue } from '../../core/conditions.ts'
import type { DisruptionReason } from '../../core/disruption/command.ts'
import type { Resting } from '../../core/disruption/filters.ts'
import { isHeldOtherwise } from '../../core/node-claim/hold.ts'
import { isReady } from '../../core/node-claim/registration.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../../core/objects.ts'
import { isActive, isProvisionable } from '../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import type { CachedKind, CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { BackOff } from '../provisioning/back-off.ts'
import { commandReason } from './proposals.ts'

/** A pass that came to nothing, and what it depended on. */
interface Fruitless {
  readonly changes: number
  readonly inputs: readonly unknown[]
  readonly untilMs: number
}

/**
 * What a planner remembers between two evaluations, to spare those that would come to the same, and to leave alone for a while what has just
 * failed. It is lost with the process, which costs an evaluation and at worst another failure.
 */
export class DisruptionMemory {
  /** Changes of the cluster on which a decision can depend, and those among them that can set nodes free. */
  changes = 0
  urgentChanges = 0
  /** When stamps without a running command were looked for last, in epoch ms. */
  lookedForAbandonedMs = 0
  /** Since when something looks abandoned, in epoch ms, by its name. */
  readonly suspects = new Map<string, number>()
  readonly #pools = new BackOff()
  readonly #claims = new BackOff()
  readonly #now: () => number
  #fruitless: Fruitless | undefined

  constructor(cache: ClusterCache, now: () => number) {
    this.#now = now
    cache.onChange(({ kind, before, after }) => {
      if (isMaterial(kind, before, after)) this.changes += 1
      if (isUrgent(kind, before, after)) this.urgentChanges += 1
      if (kind === 'NodeClaim') this.#learn(before as NodeClaim | undefined, after as NodeClaim | undefined)
    })
  }

  /** Whether an evaluation would only repeat what the last one found. `inputs` are what it depends on beside the cluster. */
  isSpared(inputs: readonly unknown[]): boolean {
    const last = this.#fruitless
    return (
      last !== undefined &&
      last.changes === this.changes &&
      this.#now() < last.untilMs &&
      last.inputs.length === inputs.length &&
      last.inputs.every((input, at) => Object.is(input, inputs[at]))
    )
  }

  /** Until when the last pass that came to nothing spares others, in epoch ms. */
  get sparedUntil(): number {
    return this.#fruitless?.untilMs ?? 0
  }

  /** A pass that began after so many changes came to nothing, which time alone changes at `untilMs`. */
  fruitless(changes: number, inputs: readonly unknown[], untilMs: number): void {
    this.#fruitless = { changes, inputs, untilMs }
  }

  /** Nodes whose commands failed a moment ago. */
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

  /** When the next of them may be tried again, in epoch ms. */
  restUntil(): number {
    return Math.min(this.#pools.nextEnd(this.#now()), this.#claims.nextEnd(this.#now()))
  }

  /** A node could not be disrupted; with `pool`, for a reason that others of its pool share. */
  failed(nodeClaim: string, pool?: { readonly nodePool: string; readonly reason: DisruptionReason }): void {
    if (pool !== undefined) this.#pools.failed(`${pool.reason}/${pool.nodePool}`, this.#now())
    this.#claims.failed(nodeClaim, this.#now())
  }

  /** A stamp that goes away from a claim that stays reports a command that was undone, by whichever process. */
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

const memories = new WeakMap<ClusterCache, DisruptionMemory>()

/** The memory of the process whose cache this is. */
export function memoryOf({
  cache,
  now,
}: {
  readonly cache: ClusterCache
  readonly now: () => number
}): DisruptionMemory {
  const known = memories.get(cache)
  if (known !== undefined) return known
  const memory = new DisruptionMemory(cache, now)
  memories.set(cache, memory)
  return memory
}

/** Whether a change can make a node free to go, or a pool or a budget let it go. */
function isUrgent(kind: CachedKind, before: CachedObject | undefined, after: CachedObject | undefined): boolean {
  if (kind === 'Pod') {
    const wasActive = before !== undefined && isActive(before as Pod)
    return wasActive && (after === undefined || !isActive(after as Pod))
  }
  if (kind === 'NodePool') return isAnotherPool(before as NodePool | undefined, after as NodePool | undefined)
  if (kind === 'Node') return before !== undefined && !isReady(before as Node) && !!after && isReady(after as Node)
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

/** Whether a decision can depend on a change. Heartbeats, probes and counts in a status come all the time and tell nothing. */
function isMaterial(kind: CachedKind, before: CachedObject | undefined, after: CachedObject | undefined): boolean {
  if (before === undefined || after === undefined) return true
  if (kind === 'NodePool') return isAnotherPool(before as NodePool, after as NodePool)
  return !isDeepStrictEqual(factsOf(before), factsOf(after))
}

function factsOf(object: CachedObject) {
  const own = { ...object, metadata: { ...object.metadata, resourceVersion: '' } }
  if (object.kind === 'Pod') return { ...own, conditions: isProvisionable(object) }
  return object.kind === 'Node' ? { ...own, conditions: isReady(object) } : own
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
