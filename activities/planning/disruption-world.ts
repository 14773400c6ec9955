import { type Evaluation, type EvaluationSettings, evaluate } from '../../core/disruption/evaluate.ts'
import type { FilterSettings } from '../../core/disruption/filters.ts'
import { type Proposed, type Validation, validate } from '../../core/disruption/validate.ts'
import { type DisruptionWorld, disruptionWorld } from '../../core/disruption/world.ts'
import { wellKnownLabels } from '../../core/labels.ts'
import type { Pauses } from '../../core/pauses.ts'
import { indexOf } from '../../core/scheduling/cluster-index.ts'
import type { PlanningDeps } from './dependencies.ts'
import { podsToPlace } from './planning-snapshot.ts'
import { instanceTypes } from './solve.ts'

interface WorldOptions {
  readonly pauses: Pauses
  /** A command that is being committed. */
  readonly commandId?: string
  /** Names of NodeClaims that proposals speak for. */
  readonly spokenFor?: ReadonlySet<string>
}

/** What of the cluster is evaluated, and how. */
export interface EvaluationInput
  extends Pick<EvaluationSettings, 'forced' | 'scope' | 'mostNodes' | 'methods'>,
    Pick<WorldOptions, 'pauses' | 'spokenFor'> {}

/** All that can be disrupted now, by the cache at this moment. */
export async function evaluateCluster(
  deps: PlanningDeps,
  { pauses, spokenFor, ...settings }: EvaluationInput,
): Promise<Evaluation> {
  const world = worldOf(deps, { pauses, ...(spokenFor === undefined ? {} : { spokenFor }) })
  return evaluate(world, { ...evaluationSettings(deps), ...settings })
}

/** Whether a proposal still holds, by the cache at this moment. What carries `commandId` already is its own. */
export async function validateProposal(
  deps: PlanningDeps,
  proposed: Proposed,
  {
    pauses,
    commandId,
    forced = false,
  }: Required<Pick<WorldOptions, 'pauses' | 'commandId'>> & Pick<FilterSettings, 'forced'>,
): Promise<Validation> {
  return validate(proposed, worldOf(deps, { pauses, commandId }), { ...evaluationSettings(deps), forced })
}

/** The cluster as disruption sees it, from the cache at this moment. */
function worldOf(deps: PlanningDeps, { pauses, ...own }: WorldOptions): DisruptionWorld {
  const { cache } = deps
  // A pod that was bound, or is gone, keeps no node any more.
  deps.nominations.keepOnly(new Set(podsToPlace(deps).map((pod) => pod.metadata.uid)))
  const index = indexOf({
    pods: [...cache.pods.values()],
    nodes: [...cache.nodes.values()],
    nodeClaims: [...cache.nodeClaims.values()],
    nodePools: [...cache.nodePools.values()],
    daemonSets: [...cache.daemonSets.values()],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
    namespaces: [...cache.namespaces.values()],
    services: [...cache.services.values()],
    controllers: [
      ...cache.replicaSets.values(),
      ...cache.statefulSets.values(),
      ...cache.replicationControllers.values(),
    ],
    persistentVolumeClaims: [...cache.persistentVolumeClaims.values()],
    persistentVolumes: [...cache.persistentVolumes.values()],
    storageClasses: [...cache.storageClasses.values()],
    csiNodes: [...cache.csiNodes.values()],
  })
  const types = instanceTypes(deps)
  const now = deps.now()
  return disruptionWorld(index.source(types, { now, defaultSpread: deps.scheduling.defaultSpread }), types, {
    now,
    scheduling: deps.scheduling,
    nominated: deps.nominations.targets(now),
    view: { pauses, ...own },
  })
}

/** How nodes are disrupted, as the process was told. */
function evaluationSettings(deps: PlanningDeps): EvaluationSettings {
  return {
    instanceTypes: instanceTypes(deps),
    wellKnown: wellKnownLabels,
    scheduling: deps.scheduling,
    spotToSpot: false,
    terminateFirst: false,
    maxMultiNodeCandidates: Number.POSITIVE_INFINITY,
    clock: deps.now,
  }
}
