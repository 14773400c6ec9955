import { randomUUID } from 'node:crypto'
import { realPods } from '../../core/capacity-buffer/buffer-pods.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import type { SchedulingOptions } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'
import { instanceTypes } from '../node-overlays/pool-types.ts'
import type { RefusingDeps } from '../provisioning/node-refusals/node-refusals.ts'
import type { PlannerParts } from '../provisioning/parts.ts'
import { markedByPools } from '../provisioning/pool-limits.ts'
import type { ThreadPlan } from './keyed-plan.ts'
import { ThreadFault } from './supervised-thread.ts'

export interface SolveDeps
  extends RefusingDeps,
    Pick<PlannerParts, 'refusedClaims' | 'heavyPods' | 'quarantine' | 'metrics' | 'solver'> {
  readonly scheduling: SchedulingSettings
}

/** A pass ends after this time with what it has planned by then; the next pass plans the rest (reference/karpenter-core.md 3.2). */
const solveLimitMs = 60_000

/**
 * Plans pods that need a place, from the current state of the cache. `all`: every pod that needs one. Returns undefined where the scheduler
 * failed and the next pass, without the pod at fault, may do better. Errors: the scheduler failed for a reason that no pod explains.
 */
export async function solve(deps: SolveDeps, all: readonly Pod[]): Promise<ThreadPlan | undefined> {
  const { preferencePolicy, minValuesPolicy, reservedCapacity, defaultSpread } = deps.scheduling
  const { quarantine } = deps
  const pods = quarantine.trial(all.filter((pod) => !isHeldBack(deps, pod)))
  const leftOut = new Set(all.map(podName)).difference(new Set(pods.map(podName)))
  const marked = markedByPools(deps)
  const ends = deps.metrics.passBegins(randomUUID(), realPods(pods).length)
  try {
    const plan = await deps.solver.plan({
      now: deps.now(),
      instanceTypes: instanceTypes(deps),
      options: { preferencePolicy, minValuesPolicy, reservedCapacity },
      defaultSpread,
      timeLimitMs: solveLimitMs,
      leftOut,
      apart: deps.refusedClaims.apart(deps, all),
    })
    quarantine.passed()
    return { ...plan, newNodeClaims: plan.newNodeClaims.map(marked) }
  } catch (error) {
    if (error instanceof ThreadFault && (await quarantine.planCrashed(error, pods))) return undefined
    throw error
  } finally {
    ends()
  }
}

/** Returns whether a pod has to wait before it is planned again. */
export function isHeldBack(deps: SolveDeps, pod: Pod): boolean {
  const now = deps.now()
  return (
    deps.refusedClaims.isWaiting(deps, pod, now) ||
    deps.nodeRefusals.isWaiting(deps, pod, now) ||
    deps.heavyPods.isWaiting(pod, now) ||
    deps.quarantine.holds(pod)
  )
}

/** Settings of scheduling, as the process was configured. */
interface SchedulingSettings
  extends Required<Pick<SchedulingOptions, 'preferencePolicy' | 'minValuesPolicy' | 'reservedCapacity'>> {
  /** For pods without spread constraints. The cache watches what these constraints need, if there are any. */
  readonly defaultSpread: readonly DefaultSpreadConstraint[]
}
