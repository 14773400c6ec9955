// Evaluators of the vector kinds about NodePools: durations, claims made from templates, hashes, budgets, checks after admission.
import { allowedDisruptions } from '../../core/disruption/budgets/budgets.ts'
import { claimLabels, staticClaimRequirements, templateRequirements } from '../../core/node-pool/node-claim-template.ts'
import { nodePoolHash, nodePoolHashVersion } from '../../core/node-pool/node-pool-hash.ts'
import { templateErrors } from '../../core/node-pool/node-pool-validation.ts'
import type { Budget, NodeClassRef, RequirementSpec, Taint } from '../../core/objects.ts'
import { coreWellKnownLabels } from '../../core/requirements/labels.ts'
import { serializeAll } from '../../core/requirements/requirements.ts'
import { parseDurationSetting, parseGoDuration } from '../../core/values/duration.ts'
import { claimRequirements } from '../plain-scheduler/claim-requirements.ts'
import { formatGoDuration } from './go-duration.ts'
import { type InstanceTypeInput, instanceType } from './instance-types.ts'
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

/** Kind `nodeclaim-template`. */
export function evaluateTemplate(input: { nodePool: NodePoolInput; instanceTypes: InstanceTypeInput[] | null }) {
  const { nodePool } = input
  const { metadata, spec } = nodePool.spec.template
  const template = {
    nodePool: nodePool.metadata.name,
    labels: metadata?.labels ?? {},
    nodeClassRef: spec.nodeClassRef,
    requirements: spec.requirements ?? [],
  }
  const planned = templateRequirements(template)
  const isDynamic = nodePool.spec.replicas === undefined || nodePool.spec.replicas === null
  const claimed = isDynamic
    ? claimRequirements(planned, (input.instanceTypes ?? []).map(instanceType))
    : staticClaimRequirements(planned)
  return {
    generateName: `${nodePool.metadata.name}-`,
    labels: claimLabels(template, planned),
    annotations: {
      ...metadata?.annotations,
      'karpenter.sh/nodepool-hash': nodePoolHash(nodePool.spec.template),
      'karpenter.sh/nodepool-hash-version': nodePoolHashVersion,
    },
    owners: [ownerOf(nodePool)],
    spec: {
      requirements: sortSpecs(serializeAll(claimed)),
      nodeClassRef: spec.nodeClassRef,
      expireAfter: spec.expireAfter ?? 'Never',
      resources: {},
      ...(spec.taints ? { taints: spec.taints } : {}),
      ...(spec.startupTaints ? { startupTaints: spec.startupTaints } : {}),
      ...(spec.terminationGracePeriod
        ? { terminationGracePeriod: formatGoDuration(parseGoDuration(spec.terminationGracePeriod) ?? 0n) }
        : {}),
    },
  }
}

function ownerOf({ metadata }: NodePoolInput) {
  return {
    apiVersion: 'karpenter.sh/v1',
    blockOwnerDeletion: true,
    kind: 'NodePool',
    name: metadata.name,
    uid: metadata.uid ?? '',
  }
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
