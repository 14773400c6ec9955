import type { ScenarioJson } from '../../../../api/shapes/scenario.ts'
import type { DisruptionMethod } from '../../../../core/disruption/command.ts'
import { evaluate } from '../../../../core/disruption/evaluate.ts'
import { karpenterPolicy } from '../../../../core/disruption/policy.ts'
import type { InstanceType } from '../../../../core/instance-type.ts'
import type { NodeClassRef } from '../../../../core/objects.ts'
import { annotations, coreWellKnownLabels } from '../../../../core/requirements/labels.ts'
import { instanceTypes } from '../../../files/catalog.ts'
import { clusterObjects, withMetadata, withoutNulls } from '../../../files/cluster-objects.ts'
import { type PolicyName, policies, type ReadyDecision, readyDecision } from '../../../files/ready-decision.ts'
import {
  type ConditionsJson,
  type DisruptionResultJson,
  disruptionResult,
  withFoundConditions,
} from './disruption-result.ts'

const reservationIdLabel = 'karpenter.test.sh/reservation-id'
const supportedClasses: ReadonlySet<string> = new Set([
  'karpenter.test.sh/TestNodeClass',
  'karpenter.azure.com/AKSNodeClass',
])
const isSupported = ({ group, kind }: NodeClassRef) => supportedClasses.has(`${group}/${kind}`)

/** What the command line says in place of the scenario. */
export interface DisruptionOverrides {
  readonly now?: string
  readonly instanceTypes?: readonly InstanceType[]
  /** Added to Karpenter's own. */
  readonly wellKnownLabels?: readonly string[]
  /** Absent: Joiner's, and Karpenter's where the scenario names a method. */
  readonly policy?: PolicyName
}

/** Decides about the cluster of a scenario. */
export function decide(json: unknown, overrides: DisruptionOverrides = {}): DisruptionResultJson {
  const { world, settings, conditions, method } = decisionOf(json, overrides)
  return { ...disruptionResult(evaluate(world(), settings), method), ...(conditions && { conditions }) }
}

interface ScenarioDecision extends ReadyDecision {
  readonly method: DisruptionMethod | undefined
  readonly conditions?: Readonly<Record<string, ConditionsJson>>
}

/** Reads a scenario. Where it names a method, only that one is asked. */
export function decisionOf(json: unknown, overrides: DisruptionOverrides = {}): ScenarioDecision {
  const { method, options = {}, ...scenario } = withoutNulls(json) as ScenarioJson
  const time = overrides.now ?? scenario.now ?? new Date(0).toISOString()
  const now = Date.parse(time)
  const wellKnownLabels = new Set([...coreWellKnownLabels, reservationIdLabel, ...(overrides.wellKnownLabels ?? [])])
  const cluster = clusterOf(scenario, options, time)
  const types = overrides.instanceTypes ?? instanceTypes(scenario.instanceTypes ?? [])
  const input = { instanceTypes: types, now, reservationIdLabel, wellKnownLabels }
  const found = options.reconcileConditions === true ? withFoundConditions(cluster, input) : undefined
  const policy =
    overrides.policy === undefined && method !== undefined ? karpenterPolicy : policies[overrides.policy ?? 'joiner']
  const decision = readyDecision({
    cluster: { ...cluster, ...(found && { nodeClaims: found.nodeClaims }) },
    instanceTypes: new Map(cluster.nodePools.map(({ metadata: { name } }) => [name, types])),
    now,
    scheduling: {
      preferencePolicy: options.preferencePolicy ?? 'Respect',
      minValuesPolicy: options.minValuesPolicy ?? 'Strict',
      reservedCapacity: true,
      reservationIdLabel,
      wellKnownLabels,
    },
    policy: method === undefined ? policy : { ...policy, methods: [method] },
    spotToSpot: options.spotToSpotConsolidation === true,
    terminateFirst: { drift: options.terminateFirstDrift === true, repair: false },
    nominated: new Set(options.nominated),
    deletionCosts: options.podDeletionCostManagement !== true,
  })
  return { ...decision, method, ...(found && { conditions: found.conditions }) }
}

type Cluster = ReturnType<typeof clusterObjects>
type Options = NonNullable<ScenarioJson['options']>

/** Pools of other providers are not there, nor what they made. */
function clusterOf({ objects = [] }: Pick<ScenarioJson, 'objects'>, options: Options, now: string): Cluster {
  const all = clusterObjects(objects.map((object) => withMetadata(object, now)))
  return {
    ...all,
    nodePools: all.nodePools.filter(({ template }) => isSupported(template.spec.nodeClassRef)),
    nodeClaims: marked(all, options.markedForDeletion ?? []).filter(({ spec }) => isSupported(spec.nodeClassRef)),
  }
}

/** Nodes that an earlier command has marked carry its stamp. */
function marked({ nodes, nodeClaims }: ReturnType<typeof clusterObjects>, names: readonly string[]) {
  const ids = new Set(nodes.filter(({ metadata }) => names.includes(metadata.name)).map(({ providerId }) => providerId))
  return nodeClaims.map((claim) =>
    claim.status.providerId !== undefined && ids.has(claim.status.providerId)
      ? {
          ...claim,
          metadata: {
            ...claim.metadata,
            annotations: { ...claim.metadata.annotations, [annotations.disruptionCommand]: 'earlier' },
          },
        }
      : claim,
  )
}
