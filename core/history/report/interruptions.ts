import type { TimeRange } from '../../cost/bill.ts'
import { defined } from '../../values/defined.ts'
import type { Life } from '../life.ts'
import { endOf, inOrder, isWithin, noPool } from './window.ts'

/** A node that Azure took back with a notice, within the window. */
export interface Interruption {
  readonly nodeClaim: string
  readonly nodePool: string
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  /** What Azure announced. */
  readonly message: string
  /** Epoch ms: when its deletion began. */
  readonly noticedMs: number
  /** Epoch ms: when its VM was gone; absent: it still exists. */
  readonly goneMs?: number
  /** Pods that the drain moved; absent: none, or not known yet. */
  readonly drainedPods?: number
  readonly replacement?: { readonly nodeClaim: string; readonly readyMs?: number }
  readonly outcome: 'in-time' | 'late' | 'without-replacement' | 'under-way'
}

/** How interruptions ended. `nodes` is the sum of the four that follow. */
export interface InterruptionCounts {
  readonly nodes: number
  /** A replacement was ready before the VM was gone. */
  readonly inTime: number
  readonly late: number
  /** No NodeClaim was created for their pods: others had room, or there were no pods. */
  readonly withoutReplacement: number
  readonly underWay: number
  readonly drainedPods: number
  /** VMs that were gone without a notice; not among `nodes`. */
  readonly vmsLost: number
}

/** The notice makes the planner plan at once. The deletion of the NodeClaim, whose time is known, follows, and times of creation have whole seconds. */
const leadMs = 4000
/** Pods that are evicted last are planned this long after the VM is gone at the latest. */
const planningMs = 60_000

/**
 * Returns the interrupted nodes, the oldest first. No fact links a NodeClaim for pods to the node that the pods came from: the replacement is the
 * first NodeClaim of the same NodePool that was created for pods after the notice, and replaces no node before it.
 */
export function interruptions(lives: readonly Life[], window: TimeRange): readonly Interruption[] {
  const interrupted = lives
    .filter(({ went }) => went?.kind === 'interrupted')
    .map((life) => ({ life, noticedMs: life.drainingMs ?? endOf(life) }))
    .filter(({ noticedMs }) => isWithin(window, noticedMs))
    .sort(
      inOrder(
        ({ noticedMs }) => noticedMs,
        ({ life }) => life.nodeClaim,
      ),
    )
  const unused = new Set(
    lives
      .filter(({ came }) => came.kind === 'pods')
      .toSorted(
        inOrder(
          ({ createdMs }) => createdMs,
          ({ nodeClaim }) => nodeClaim,
        ),
      ),
  )
  return interrupted.map(({ life, noticedMs }) => {
    const last = life.vms.at(-1)
    const goneMs = last?.toMs ?? life.endedMs
    const from = noticedMs - leadMs
    const to = (goneMs ?? Number.POSITIVE_INFINITY) + planningMs
    const replacement = [...unused].find(
      (other) => other !== life && other.nodePool === life.nodePool && other.createdMs >= from && other.createdMs <= to,
    )
    if (replacement !== undefined) unused.delete(replacement)
    return {
      nodeClaim: life.nodeClaim,
      nodePool: life.nodePool ?? noPool,
      instanceType: last?.instanceType ?? 'unknown',
      zone: last?.zone ?? '',
      capacityType: last?.capacityType ?? '',
      message: life.went !== undefined && 'message' in life.went ? life.went.message : '',
      noticedMs,
      ...defined({ goneMs, drainedPods: life.drainedPods }),
      ...(replacement === undefined ? {} : { replacement: readiness(replacement) }),
      outcome: outcomeOf(replacement, goneMs),
    }
  })
}

function readiness({ nodeClaim, readyMs }: Life): { readonly nodeClaim: string; readonly readyMs?: number } {
  return { nodeClaim, ...defined({ readyMs }) }
}

function outcomeOf(replacement: Life | undefined, goneMs: number | undefined): Interruption['outcome'] {
  const readyMs = replacement?.readyMs
  if (readyMs !== undefined && readyMs <= (goneMs ?? Number.POSITIVE_INFINITY)) return 'in-time'
  if (goneMs === undefined) return 'under-way'
  return replacement === undefined ? 'without-replacement' : 'late'
}

export function interruptionCounts(
  rows: readonly Interruption[],
  lives: readonly Life[],
  window: TimeRange,
): InterruptionCounts {
  const count = (outcome: Interruption['outcome']) => rows.filter((row) => row.outcome === outcome).length
  return {
    nodes: rows.length,
    inTime: count('in-time'),
    late: count('late'),
    withoutReplacement: count('without-replacement'),
    underWay: count('under-way'),
    drainedPods: rows.reduce((sum, { drainedPods = 0 }) => sum + drainedPods, 0),
    vmsLost: lives.filter(
      ({ went, ...life }) => went?.kind === 'vm-lost' && isWithin(window, life.drainingMs ?? endOf(life)),
    ).length,
  }
}
