// Evaluators of the vector kinds about NodePools: durations, claims made from templates, hashes, budgets, checks after admission.
import { decodeNodePool } from '../../activities/kubernetes/cache/decode.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { claimBody } from '../../activities/provisioning/claim-body.ts'
import { allowedDisruptions } from '../../core/disruption/budgets/budgets.ts'
import { nodePoolHash, nodePoolHashVersion } from '../../core/node-pool/node-pool-hash.ts'
import { templateErrors } from '../../core/node-pool/node-pool-validation.ts'
import type { Budget, NodeClassRef, NodePool, RequirementSpec, Taint } from '../../core/objects.ts'
import { coreWellKnownLabels } from '../../core/requirements/labels.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { staticClaim } from '../../core/static-capacity/static-claim.ts'
import { parseDurationSetting, parseGoDuration } from '../../core/values/duration.ts'
import { formatGoDuration } from './go-duration.ts'
import { type InstanceTypeInput, instanceType } from './instance-types.ts'
import { plannedClaim } from './planned-claim.ts'
import { sortSpecs } from './specs.ts'

/** Kind `duration`. */
export function evaluateDuration({ value }: { value: unknown }) {
  const setting = typeof value === 'string' ? parseDurationSetting(value) : undefined
  if (setting === undefined) return { valid: false }
  if (setting.kind === 'never') return { valid: true, nanoseconds: null, printed: 'Never', canonical: 'Never' }
  const { nanoseconds } = setting
  return { valid: true, nanoseconds: String(nanoseconds), printed: value, canonical: formatGoDuration(nanoseconds) }
}

interface NodePoolInput {
  metadata: { name: string; uid?: string }
  spec: {
    replicas?: number | null
    template: {
      metadata?: { labels?: Record<string, string> | null; annotations?: Record<string, string> | null } | null
      spec: {
        nodeClassRef: NodeClassRef
        requirements?: RequirementSpec[] | null
        taints?: Taint[] | null
        startupTaints?: Taint[] | null
        expireAfter?: string | null
        terminationGracePeriod?: string | null
      }
    }
  }
}

/** Kind `nodepool-hash`. */
export function evaluateHash({ nodePool }: { nodePool: NodePoolInput }) {
  return { hash: nodePoolHash(nodePool.spec.template), version: nodePoolHashVersion }
}

/** Kind `nodeclaim-template`: the body of a NodeClaim as it is created. Nothing has defaulted the pool: an age is `Never`. */
export function evaluateTemplate(input: { nodePool: NodePoolInput; instanceTypes: InstanceTypeInput[] | null }) {
  const { metadata: own, spec: pool } = input.nodePool
  const nodePool = decodeNodePool(withoutNulls({ metadata: { uid: '', ...own }, spec: pool }) as Json)
  const planned = nodePool.isStatic ? staticClaim(nodePool) : dynamicClaim(nodePool, input.instanceTypes ?? [])
  const { metadata, spec } = claimBody(nodePool, planned, { name: '', annotations: {} }) as unknown as ClaimJson
  const { [minValuesRelaxed]: _ofTheScheduler, ...annotations } = metadata.annotations
  const { requests } = spec.resources
  return {
    generateName: `${nodePool.metadata.name}-`,
    labels: metadata.labels,
    annotations,
    owners: metadata.ownerReferences,
    spec: {
      ...spec,
      requirements: sortSpecs(spec.requirements),
      resources: Object.keys(requests).length === 0 ? {} : { requests },
      expireAfter: spec.expireAfter ?? 'Never',
      ...(spec.terminationGracePeriod
        ? { terminationGracePeriod: formatGoDuration(parseGoDuration(spec.terminationGracePeriod) ?? 0n) }
        : {}),
    },
  }
}

function dynamicClaim(nodePool: NodePool, types: readonly InstanceTypeInput[]): PlannedNodeClaim {
  const { finished } = plannedClaim(nodePool, types.map(instanceType))
  if (finished.kind === 'error') throw new Error(`no NodeClaim is planned: ${JSON.stringify(finished.cause)}`)
  return finished.claim
}

/** Says whether the scheduler lowered minValues: not the template's. */
const minValuesRelaxed = 'karpenter.sh/nodeclaim-min-values-relaxed'

interface ClaimJson {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly ownerReferences: readonly object[]
  }
  readonly spec: {
    readonly requirements: readonly RequirementSpec[]
    readonly resources: { readonly requests: Readonly<Record<string, string>> }
    readonly expireAfter?: string
    readonly terminationGracePeriod?: string
  }
}

/** The API server stores no nulls. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, one: unknown) => one ?? undefined))
}

/** Kind `budgets`. */
export function evaluateBudgets(input: { budgets: Budget[] | null; nodes: number; now: string; reason: string }) {
  const { budgets, nodes, now, reason } = input
  return allowedDisruptions({ budgets: budgets ?? [], nodes, reason, now: Date.parse(now) })
}

/** Kind `runtime-validation`. */
export function evaluateRuntimeValidation({ nodePool }: { nodePool: NodePoolInput }) {
  const { metadata, spec } = nodePool.spec.template
  const errors = templateErrors(
    {
      labels: metadata?.labels ?? {},
      annotations: metadata?.annotations ?? {},
      spec: {
        nodeClassRef: spec.nodeClassRef,
        requirements: spec.requirements ?? [],
        taints: spec.taints ?? [],
        startupTaints: spec.startupTaints ?? [],
      },
    },
    coreWellKnownLabels,
  )
  return { valid: errors.length === 0, errors: [...errors].sort() }
}
