// A NodeClaim whose Node is gone while its VM may still run: what it means for the NodeClaim, and how many may end for it.
import { conditionOf, nodeGone } from '../conditions.ts'
import type { NodeClaim } from '../objects.ts'
import { timeText } from '../values/time.ts'
import { holdOf } from './hold.ts'

const minute = 60_000

/** When NodeClaims end for want of their Nodes. */
export interface NodeGoneLimits {
  /** Time without a Node before its NodeClaim ends. */
  readonly waitMs: number
  /** Share of a NodePool's nodes, at least one, that may end within `windowMs`. More at once are rather a fault of the cluster. */
  readonly percent: number
  readonly windowMs: number
}

export const nodeGoneLimits: NodeGoneLimits = { waitMs: 2 * minute, percent: 20, windowMs: 10 * minute }

/** Returns when a NodeClaim without its Node ends, not before the end of a hold; undefined while the hold has no end. */
export function nodeGoneDue(claim: NodeClaim, now: number, { waitMs }: NodeGoneLimits): number | undefined {
  const since = Date.parse(conditionOf(claim.status.conditions, nodeGone)?.lastTransitionTime ?? '')
  const due = (Number.isNaN(since) ? now : since) + waitMs
  const hold = holdOf(claim, now)
  if (hold === undefined) return due
  return hold.untilMs === undefined ? undefined : Math.max(due, hold.untilMs)
}

/** Times of the NodeClaims of a NodePool that ended without a Node, by uid, in epoch milliseconds. */
type Ended = ReadonlyMap<string, number>

export type NodeGoneTurn =
  /** `record`: what the NodePool's annotation has to hold before the NodeClaim ends. */
  | { readonly kind: 'end'; readonly record: string }
  | { readonly kind: 'withheld'; readonly untilMs: number; readonly ended: number; readonly most: number }

/**
 * Returns whether one more NodeClaim of a NodePool may end without a Node. `record`: the NodePool's annotation, which a restart does not lose. `nodes`: how
 * many nodes the NodePool has now, those without a Node included. A NodeClaim counts once, so that a repeated attempt changes nothing.
 */
export function nodeGoneTurn(
  record: string | undefined,
  { uid, now, nodes }: { readonly uid: string; readonly now: number; readonly nodes: number },
  { percent, windowMs }: NodeGoneLimits,
): NodeGoneTurn {
  const ended = new Map([...parsed(record)].filter(([, at]) => Math.abs(now - at) < windowMs))
  if (ended.has(uid)) return { kind: 'end', record: record ?? '' }
  const most = Math.max(1, Math.floor(((nodes + ended.size) * percent) / 100))
  if (ended.size >= most) {
    // Each one that leaves the window makes room for one more.
    const times = [...ended.values()].toSorted((a, b) => a - b)
    return { kind: 'withheld', untilMs: (times[ended.size - most] as number) + windowMs, ended: ended.size, most }
  }
  return { kind: 'end', record: formatted(new Map([...ended, [uid, now]])) }
}

function formatted(ended: Ended): string {
  return JSON.stringify(Object.fromEntries([...ended].map(([uid, at]) => [uid, timeText(at)])))
}

/** Reads the annotation. What is not a time is left out: nothing but Joiner writes there. */
function parsed(record: string | undefined): Ended {
  try {
    const stored: unknown = JSON.parse(record ?? '{}')
    if (typeof stored !== 'object' || stored === null) return new Map()
    return new Map(
      Object.entries(stored)
        .map(([uid, at]) => [uid, Date.parse(String(at))] as const)
        .filter(([, at]) => !Number.isNaN(at)),
    )
  } catch {
    return new Map()
  }
}
