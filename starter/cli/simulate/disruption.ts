import type { ScenarioJson } from '../../../api/shapes/scenario.ts'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import type { Blocked } from '../../../core/disruption/candidates.ts'
import { type DisruptionCommand, type DisruptionMethod, reasonOf } from '../../../core/disruption/command.ts'
import { isConsolidatable } from '../../../core/disruption/consolidatable.ts'
import { type Evaluation, evaluate } from '../../../core/disruption/evaluate.ts'
import { karpenterPolicy } from '../../../core/disruption/policy.ts'
import { causeText } from '../../../core/disruption/verdicts/cause-text.ts'
import { nodeClaimDrift } from '../../../core/drift/pool-drift.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import { staticClaimRequirements } from '../../../core/node-pool/node-claim-template.ts'
import type { Condition, NodeClaim, NodeClassRef, NodePool, RequirementSpec } from '../../../core/objects.ts'
import { annotations, coreWellKnownLabels, labels } from '../../../core/requirements/labels.ts'
import { serializeAll } from '../../../core/requirements/requirements.ts'
import type { PlannedNodeClaim } from '../../../core/scheduling/snapshot.ts'
import { emptyRecord } from '../../../core/values/records.ts'
import type { Document, Part } from '../../document/document.ts'
import { counted, few, monthly } from '../../document/words.ts'
import { instanceTypes } from '../../files/catalog.ts'
import { clusterObjects, withMetadata, withoutNulls } from '../../files/cluster-objects.ts'
import { type PolicyName, policies, type ReadyDecision, readyDecision } from '../../files/ready-decision.ts'
import { isPriced } from './result.ts'

/** What came of it, as a simulation prints it. */
export interface DisruptionResultJson {
  readonly commands: readonly CommandJson[]
  readonly blocked: readonly BlockedJson[]
  /** Names of the Nodes that a method chose among. */
  readonly candidates: readonly string[]
  /** By NodeClaim, where the scenario asks for them to be found out. */
  readonly conditions?: Readonly<Record<string, ConditionsJson>>
}

interface CommandJson {
  /** Absent where one method was asked. */
  readonly method?: DisruptionMethod
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

/** An evaluation as it is printed. `asked`: the only method that was. */
export function disruptionResult(
  { commands, blocked, passes }: Evaluation,
  asked: DisruptionMethod | undefined,
): DisruptionResultJson {
  const reported = new Map(blocked.flatMap(blockedJson).map((one) => [JSON.stringify(one), one]))
  return {
    commands: commands.map((command) => commandJson(command, asked)),
    blocked: [...reported.values()],
    candidates: [...new Set(passes.flatMap(({ candidates }) => candidates))],
  }
}

function commandJson(command: DisruptionCommand, asked: DisruptionMethod | undefined): CommandJson {
  return {
    ...(asked === undefined ? { method: command.method } : {}),
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

function blockedJson({ object, reason: event, cause }: Blocked): readonly BlockedJson[] {
  const reason = causeText(cause)
  if (object.kind === 'NodePool') return [{ event, reason, nodePool: object.name }]
  return object.nodeName === undefined ? [] : [{ event, reason, node: object.nodeName }]
}

function fromPrice(price: number): string {
  return isPriced(price) ? `from USD ${monthly(price)} a month` : 'whose price is unknown'
}

/** The decision for people. */
export function decisionDocument({ commands, blocked }: DisruptionResultJson): Document {
  const done = commands.map(({ decision, reason, candidates, replacements }): Part => {
    const title = `${decision} (${reason}) ${counted(candidates.length, 'node')}: ${few(candidates, 10)}`
    const items = replacements.map(({ nodePool, instanceTypes: names, cheapestPrice }) => {
      const price = cheapestPrice === null ? '' : `, ${fromPrice(cheapestPrice)}`
      return `by a node of ${nodePool}: ${few(names, 3) || 'as its template says'}${price}`
    })
    return items.length === 0 ? title : { title, items }
  })
  const rows = blocked.map((one) => ['node' in one ? one.node : `NodePool ${one.nodePool}`, one.event, one.reason])
  return [done.length === 0 ? ['nothing is done'] : done, [{ rows }]]
}

interface ConditionsJson {
  /** The reason; null: it has not drifted. */
  readonly drifted: string | null
  readonly consolidatable: boolean
}

/** What conditions follow from. */
type ConditionInput = Omit<Parameters<typeof nodeClaimDrift>[0], 'claim' | 'nodePool' | 'provider'>

/** The conditions Drifted and Consolidatable that follow from the objects, and the claims with them; the provider reports no drift. */
function withFoundConditions(
  { nodeClaims, nodePools }: { readonly nodeClaims: readonly NodeClaim[]; readonly nodePools: readonly NodePool[] },
  input: ConditionInput,
): { readonly nodeClaims: readonly NodeClaim[]; readonly conditions: Record<string, ConditionsJson> } {
  const conditions = emptyRecord<ConditionsJson>()
  const claims = nodeClaims.map((claim) => {
    const nodePool = nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels[labels.nodePool])
    const found = foundConditions(claim, nodePool, input)
    conditions[claim.metadata.name] = found
    return withConditions(claim, found, new Date(input.now).toISOString())
  })
  return { nodeClaims: claims, conditions }
}

/** Claims that are being deleted, and those whose pool is gone, are left as they are. */
function foundConditions(claim: NodeClaim, nodePool: NodePool | undefined, input: ConditionInput): ConditionsJson {
  const { conditions } = claim.status
  const drifted = conditionOf(conditions, 'Drifted')
  if (claim.metadata.deletionTimestamp !== undefined || nodePool === undefined)
    return {
      drifted: drifted?.status === 'True' ? (drifted.reason ?? '') : null,
      consolidatable: isTrue(conditions, 'Consolidatable'),
    }
  const drift = nodeClaimDrift({ ...input, claim, nodePool, provider: { kind: 'none' } })
  return {
    drifted: drift.kind === 'drifted' ? drift.reason : null,
    consolidatable: isConsolidatable(claim, nodePool, input.now),
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
