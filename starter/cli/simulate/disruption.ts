import type { InstanceTypeJson } from '../../../api/shapes/scenario.ts'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import type { Blocked } from '../../../core/disruption/candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, reasonOf } from '../../../core/disruption/command.ts'
import { consolidatableAt } from '../../../core/disruption/consolidatable.ts'
import { evaluateMethod, type MethodEvaluation } from '../../../core/disruption/evaluate-method.ts'
import { type DisruptionWorld, disruptionWorld } from '../../../core/disruption/world.ts'
import { nodeClaimDrift } from '../../../core/drift/pool-drift.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import { staticClaimRequirements } from '../../../core/node-pool/node-claim-template.ts'
import type { Condition, NodeClaim, NodeClassRef, NodePool, RequirementSpec } from '../../../core/objects.ts'
import { annotations, coreWellKnownLabels, labels } from '../../../core/requirements/labels.ts'
import { serializeAll } from '../../../core/requirements/requirements.ts'
import { indexOf } from '../../../core/scheduling/cluster-index.ts'
import type { PlannedNodeClaim } from '../../../core/scheduling/snapshot.ts'
import { printable } from '../../../core/values/printable.ts'
import { emptyRecord } from '../../../core/values/records.ts'
import { clusterObjects, type Json, withMetadata, withoutNulls } from './cluster-objects.ts'
import { instanceTypes } from './instance-types.ts'
import { aligned, counted, few, monthly } from './words.ts'

/** One decision about disruption as a file holds it. */
interface DisruptionScenarioJson {
  readonly now?: string
  readonly method: DisruptionMethod
  readonly options?: {
    readonly spotToSpotConsolidation?: boolean
    readonly terminateFirstDrift?: boolean
    readonly podDeletionCostManagement?: boolean
    readonly preferencePolicy?: 'Respect' | 'Ignore'
    readonly minValuesPolicy?: 'Strict' | 'BestEffort'
    readonly reconcileConditions?: boolean
    readonly nominated?: readonly string[]
    readonly markedForDeletion?: readonly string[]
  }
  readonly instanceTypes?: readonly InstanceTypeJson[]
  readonly objects?: readonly Json[]
}

/** What came of it, as a simulation prints it. */
export interface DisruptionResultJson {
  readonly commands: readonly CommandJson[]
  readonly blocked: readonly BlockedJson[]
  readonly candidates: readonly string[]
  /** By NodeClaim, where the scenario asks for them to be found out. */
  readonly conditions?: Readonly<Record<string, ConditionsJson>>
}

interface ConditionsJson {
  readonly drifted: string | null
  readonly consolidatable: boolean
}

interface CommandJson {
  readonly reason: string
  readonly decision: string
  readonly candidates: readonly string[]
  readonly replacements: readonly {
    readonly nodePool: string
    readonly instanceTypes: readonly string[]
    readonly cheapestPrice: number | null
    readonly requirements: readonly RequirementSpec[]
  }[]
}

type BlockedJson = { readonly event: string; readonly reason: string } & (
  | { readonly node: string }
  | { readonly nodePool: string }
)

const reservationLabel = 'karpenter.test.sh/reservation-id'
/** Upstream looks at the first so many candidates of a search for several nodes. */
const upstreamMaxCandidates = 100
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
}

/** Lets a method decide about the cluster of a scenario, as upstream would. */
export function decide(json: unknown, overrides: DisruptionOverrides = {}): DisruptionResultJson {
  const { world, evaluate, conditions } = decisionOf(json, overrides)
  return { ...resultOf(evaluate(world(), upstreamMaxCandidates)), ...(conditions && { conditions }) }
}

/** A decision about a cluster whose objects are read and indexed, as they are in a planner. */
export interface ReadyDecision {
  /** What a pass starts with. */
  readonly world: () => DisruptionWorld
  /** What the scenario's method makes of it; a search for several nodes looks at so many candidates. */
  readonly evaluate: (world: DisruptionWorld, maxMultiNodeCandidates: number) => MethodEvaluation
  readonly conditions?: Readonly<Record<string, ConditionsJson>>
}

/** Reads a scenario. */
export function decisionOf(json: unknown, overrides: DisruptionOverrides = {}): ReadyDecision {
  const { method, options = {}, ...scenario } = withoutNulls(json) as DisruptionScenarioJson
  const now = overrides.now ?? scenario.now ?? new Date(0).toISOString()
  const wellKnown = new Set([...coreWellKnownLabels, reservationLabel, ...(overrides.wellKnownLabels ?? [])])
  const cluster = clusterOf(scenario, options, now)
  const types = overrides.instanceTypes ?? instanceTypes(scenario.instanceTypes ?? [])
  const offered = new Map(cluster.nodePools.map(({ metadata: { name } }) => [name, types]))
  const reconciled = options.reconcileConditions === true ? reconcile(cluster, types, now, wellKnown) : undefined
  const scheduling = {
    preferencePolicy: options.preferencePolicy ?? 'Respect',
    minValuesPolicy: options.minValuesPolicy ?? 'Strict',
    reservedCapacity: true,
    reservationIdLabel: reservationLabel,
    wellKnownLabels: wellKnown,
  } as const
  const index = indexOf({ ...cluster, ...(reconciled && { nodeClaims: reconciled.nodeClaims }) })
  return {
    world: () =>
      disruptionWorld(index.source(offered, { now: Date.parse(now), wellKnownLabels: wellKnown }), offered, {
        now: Date.parse(now),
        scheduling,
        nominated: new Set(options.nominated),
        view: { deletionCosts: options.podDeletionCostManagement !== true },
      }),
    evaluate: (world, maxMultiNodeCandidates) =>
      evaluateMethod(method, world, {
        instanceTypes: offered,
        wellKnown,
        scheduling,
        spotToSpot: options.spotToSpotConsolidation === true,
        terminateFirst: options.terminateFirstDrift === true,
        maxMultiNodeCandidates,
      }),
    ...(reconciled && { conditions: reconciled.conditions }),
  }
}

type Cluster = ReturnType<typeof clusterObjects>
type Options = NonNullable<DisruptionScenarioJson['options']>

/** Pools of other providers are not there, nor what they made. */
function clusterOf({ objects = [] }: Pick<DisruptionScenarioJson, 'objects'>, options: Options, now: string): Cluster {
  const all = clusterObjects(objects.map((object) => withMetadata(object, now)))
  return {
    ...all,
    nodePools: all.nodePools.filter(({ template }) => isSupported(template.spec.nodeClassRef)),
    nodeClaims: marked(all, options.markedForDeletion ?? []).filter(({ spec }) => isSupported(spec.nodeClassRef)),
  }
}

/** The conditions that follow from the objects, and the claims with them; the provider reports no drift. */
function reconcile(
  { nodeClaims, nodePools }: Cluster,
  types: readonly InstanceType[],
  now: string,
  wellKnown: ReadonlySet<string>,
): { readonly nodeClaims: readonly NodeClaim[]; readonly conditions: Record<string, ConditionsJson> } {
  const conditions = emptyRecord<ConditionsJson>()
  const claims = nodeClaims.map((claim) => {
    const nodePool = nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels[labels.nodePool])
    const found = reconciledConditions(claim, nodePool, types, Date.parse(now), wellKnown)
    conditions[claim.metadata.name] = found
    return withConditions(claim, found, now)
  })
  return { nodeClaims: claims, conditions }
}

/** Claims that are being deleted, and those whose pool is gone, are left as they are. */
function reconciledConditions(
  claim: NodeClaim,
  nodePool: NodePool | undefined,
  types: readonly InstanceType[],
  now: number,
  wellKnown: ReadonlySet<string>,
): ConditionsJson {
  const { conditions } = claim.status
  const drifted = conditionOf(conditions, 'Drifted')
  if (claim.metadata.deletionTimestamp !== undefined || nodePool === undefined)
    return {
      drifted: drifted?.status === 'True' ? (drifted.reason ?? '') : null,
      consolidatable: isTrue(conditions, 'Consolidatable'),
    }
  const drift = nodeClaimDrift({
    claim,
    nodePool,
    instanceTypes: types,
    now,
    reservationIdLabel: reservationLabel,
    wellKnownLabels: wellKnown,
    provider: { kind: 'none' },
  })
  const at = consolidatableAt(claim, nodePool)
  return {
    drifted: drift.kind === 'drifted' ? drift.reason : null,
    consolidatable: at !== undefined && at <= now,
  }
}

function withConditions(claim: NodeClaim, { drifted, consolidatable }: ConditionsJson, now: string): NodeClaim {
  const { conditions, ...status } = claim.status
  const kept = conditions.filter(({ type }) => type !== 'Drifted' && type !== 'Consolidatable')
  const set = [
    ...(drifted === null ? [] : [{ type: 'Drifted', reason: drifted }]),
    ...(consolidatable ? [{ type: 'Consolidatable', reason: 'Consolidatable' }] : []),
  ].map(
    ({ type, reason }): Condition => ({
      type,
      reason,
      status: 'True',
      lastTransitionTime: conditionOf(conditions, type)?.lastTransitionTime ?? now,
    }),
  )
  return { ...claim, status: { ...status, conditions: [...kept, ...set] } }
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

function resultOf({ commands, blocked, candidates }: MethodEvaluation): DisruptionResultJson {
  const told = new Map(blocked.flatMap(blockedJson).map((one) => [JSON.stringify(one), one]))
  return {
    commands: commands.map(commandJson),
    blocked: [...told.values()],
    candidates: candidates.map(({ node }) => node.metadata.name),
  }
}

function commandJson(command: DisruptionCommand): CommandJson {
  return {
    reason: reasonOf(command),
    decision: command.decision,
    candidates: command.candidates.map(({ node }) => node.metadata.name),
    replacements: command.replacements.map(replacementJson),
  }
}

function replacementJson({ nodePool, instanceTypes: names, price, wanted }: PlannedNodeClaim) {
  return {
    nodePool,
    instanceTypes: names,
    cheapestPrice: names.length === 0 ? null : price,
    requirements: serializeAll(staticClaimRequirements(wanted)),
  }
}

function blockedJson({ object, reason: event, message: reason }: Blocked): readonly BlockedJson[] {
  if (object.kind === 'NodePool') return [{ event, reason, nodePool: object.name }]
  return object.nodeName === undefined ? [] : [{ event, reason, node: object.nodeName }]
}

/** The decision for people. */
export function decisionText({ commands, blocked }: DisruptionResultJson): string {
  const done = commands.map(({ decision, reason, candidates, replacements }) => {
    const by = replacements.map(({ nodePool, instanceTypes: names, cheapestPrice }) => {
      const price = cheapestPrice === null ? '' : `, from USD ${monthly(cheapestPrice)} a month`
      return `\n  by a node of ${printable(nodePool)}: ${few(names, 3) || 'as its template says'}${price}`
    })
    return `${decision} (${reason}) ${counted(candidates.length, 'node')}: ${few(candidates, 10)}${by.join('')}`
  })
  const rows = blocked.map((one) => ['node' in one ? one.node : `NodePool ${one.nodePool}`, one.event, one.reason])
  const parts = [done.length === 0 ? 'nothing is done' : done.join('\n'), rows.length === 0 ? '' : aligned(rows)]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}
