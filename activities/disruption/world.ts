import type { DisruptionView } from '../../core/disruption/candidates.ts'
import type { Evaluation, EvaluationSettings } from '../../core/disruption/evaluate.ts'
import type { FilterSettings } from '../../core/disruption/filters.ts'
import { imageTrials } from '../../core/disruption/image-trial.ts'
import type { TerminateFirst } from '../../core/disruption/methods/context.ts'
import { replacementsInUse } from '../../core/disruption/replacements-in-use.ts'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import { disruptionView } from '../../core/disruption/world.ts'
import type { Pauses } from '../../core/pauses/pauses.ts'
import { stateNodes } from '../../core/scheduling/state-nodes.ts'
import { instanceTypes } from '../node-overlays/pool-types.ts'
import type { PlannerParts } from '../provisioning/parts.ts'
import { type PlanningSnapshotDeps, podsToPlace } from '../provisioning/planning-snapshot.ts'
import { markedByPools } from '../provisioning/pool-limits.ts'
import type { SolveDeps } from '../scheduler-thread/solve.ts'
import type { EvaluationThreadRequest } from '../scheduler-thread/solver-thread.ts'
import { ThreadFault } from '../scheduler-thread/supervised-thread.ts'

export interface EvaluationDeps
  extends SolveDeps,
    PlanningSnapshotDeps,
    Pick<PlannerParts, 'nominations' | 'evaluator' | 'buffers' | 'repairPolicies' | 'serverTime' | 'staticCapacity'> {
  /** Whether single spot nodes are replaced by cheaper spot nodes (feature gate SpotToSpotConsolidation). */
  readonly spotToSpotConsolidation: boolean
  /** Feature gates TerminateFirstDrift and TerminateFirstRepair. */
  readonly terminateFirst: TerminateFirst
}

interface WorldOptions {
  readonly pauses: Pauses
  /** Names of NodeClaims that proposals reserve. */
  readonly reserved?: ReadonlySet<string>
}

/** Scope and settings of an evaluation. */
export interface EvaluationInput
  extends Pick<EvaluationSettings, 'forced' | 'scope' | 'resting' | 'mostNodes' | 'methods'>,
    Pick<WorldOptions, 'pauses' | 'reserved'> {}

/** Returns all that can be disrupted now, by the cache at this moment. */
export async function evaluateCluster(
  deps: EvaluationDeps,
  { pauses, reserved, ...settings }: EvaluationInput,
): Promise<Evaluation> {
  const request = {
    ...requestFor(deps, { pauses, ...(reserved && { reserved }) }),
    ...settings,
    ...(reserved && { reserved }),
  }
  return blaming(deps, deps.evaluator.evaluate(request))
}

/** Returns the state that disruption reads before it asks where pods would go, from the cache at this moment. */
export function viewOf(deps: EvaluationDeps, pauses: Pauses): DisruptionView {
  const { cache } = deps
  const source = {
    nodes: stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }),
    podsOn: (node: string) => cache.pods.by('byNode', node),
    nodePools: [...cache.nodePools.values()],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
  }
  const now = deps.now()
  return disruptionView(source, instanceTypes(deps), {
    now,
    nominated: deps.nominations.targets(now),
    view: { pauses, repairs: deps.repairPolicies, isClockWrong: deps.serverTime.isOwnWrong() },
  })
}

/** Returns whether proposals of one evaluation still hold by the cache at this moment, each after the earlier ones that do. */
export async function validateTogether(
  deps: EvaluationDeps,
  proposals: readonly Proposed[],
  { pauses, forced }: Pick<WorldOptions, 'pauses'> & Required<Pick<FilterSettings, 'forced'>>,
): Promise<readonly Validation[]> {
  const marked = markedByPools(deps)
  const request = { ...requestFor(deps, { pauses }), forced }
  const validations = await blaming(deps, deps.evaluator.validateTogether(request, proposals))
  return validations.map((one) =>
    one.kind === 'invalid'
      ? one
      : { ...one, command: { ...one.command, replacements: one.command.replacements.map(marked) } },
  )
}

/** Reports a crash to the quarantine. The activity is retried, without what crashed it twice. */
async function blaming<T>({ quarantine }: EvaluationDeps, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ThreadFault) await quarantine.crashed(error)
    throw error
  }
}

function requestFor(deps: EvaluationDeps, { pauses, reserved }: WorldOptions): EvaluationThreadRequest {
  // The scheduler knows the virtual pods of buffers as they are made.
  deps.buffers.pods()
  // A pod that was bound, or is gone, holds no node any more.
  deps.nominations.keepOnly(new Set(podsToPlace(deps).map((pod) => pod.metadata.uid)))
  const { preferencePolicy, minValuesPolicy, reservedCapacity, defaultSpread } = deps.scheduling
  return {
    now: deps.now(),
    instanceTypes: instanceTypes(deps),
    options: { preferencePolicy, minValuesPolicy, reservedCapacity },
    defaultSpread,
    nominated: new Set([...deps.nominations.targets(deps.now()), ...awaited(deps)]),
    pauses: pauses.inForce,
    repairs: deps.repairPolicies.map(({ matches: _matches, ...policy }) => policy),
    isClockWrong: deps.serverTime.isOwnWrong(),
    staticCapacity: deps.staticCapacity,
    spotToSpot: deps.spotToSpotConsolidation,
    terminateFirst: deps.terminateFirst,
    imageTrials: imageTrials({
      nodeClaims: deps.cache.nodeClaims.values(),
      nodeClasses: deps.cache.nodeClasses.values(),
      reserved,
      now: deps.now(),
    }),
  }
}

/** Yields the names of replacements of running commands, and of their Nodes. */
function* awaited({ cache }: EvaluationDeps): Iterable<string> {
  for (const { metadata, status } of replacementsInUse(cache.nodeClaims.values())) {
    yield metadata.name
    if (status.nodeName !== undefined) yield status.nodeName
  }
}
