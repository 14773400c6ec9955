import { randomUUID } from 'node:crypto'
import { schedule } from '../../core/scheduling/schedule.ts'
import type { SchedulingOptions, SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import type { PlanningDeps } from './dependencies.ts'
import { podsByZone } from './effective-zone.ts'
import { planningSnapshot } from './planning-snapshot.ts'

/**
 * A pass ends after this time with what it has planned by then; the rest is planned by the next one. While it runs nothing else does, heartbeats
 * included, so it must stay well under their timeout of 10 s.
 */
const solveLimitMs = 5000

/** A plan, and what there is to tell of its pass. */
export interface Solution {
  readonly plan: SchedulingPlan
  /** Pods that were left out before anything was tried. They are among the plan's unschedulable ones. */
  readonly ignored: number
  readonly zones: ReadonlyMap<string, number>
  readonly snapshotMs: number
  readonly solveMs: number
}

/** Plans all pods that need a place, from the cluster as the cache has it at this moment. */
export function solve(deps: PlanningDeps, pods: number): Solution {
  const ends = deps.metrics.passBegins(randomUUID(), pods)
  const startedAt = performance.now()
  try {
    const snapshot = planningSnapshot(deps)
    const readAt = performance.now()
    const plan = schedule(snapshot, schedulingOptions(deps, readAt + solveLimitMs))
    const solvedAt = performance.now()
    return {
      plan,
      ignored: snapshot.ignored?.size ?? 0,
      zones: podsByZone(snapshot),
      snapshotMs: Math.round(readAt - startedAt),
      solveMs: Math.round(solvedAt - readAt),
    }
  } finally {
    ends()
  }
}

function schedulingOptions({ scheduling }: PlanningDeps, untilMs: number): SchedulingOptions {
  const { preferencePolicy, minValuesPolicy, reservedCapacity } = scheduling
  return { preferencePolicy, minValuesPolicy, reservedCapacity, shouldStop: () => performance.now() > untilMs }
}
