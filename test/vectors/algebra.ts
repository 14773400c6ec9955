import { formatGoDuration, parseDurationSetting } from '../../core/duration.ts'
import {
  allocatable,
  cheapestPrice,
  compatibleTypes,
  type InstanceType,
  isLaunchable,
  minValues,
  orderByPrice,
  truncate,
  worstLaunchPrice,
} from '../../core/instance-type.ts'
import { coreWellKnownLabels } from '../../core/labels.ts'
import { claimLabels, claimRequirements, templateRequirements } from '../../core/node-claim-template.ts'
import { nodePoolHash, nodePoolHashVersion } from '../../core/node-pool-hash.ts'
import type { Affinity, NodeClassRef, RequirementSpec, Taint, Toleration } from '../../core/objects.ts'
import { type PodResourcesInput, podLimits, podRequests, podsRequests, specRequests } from '../../core/pod-requests.ts'
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantity,
} from '../../core/quantity.ts'
import { allows, describe, intersect, intersects, lengthOf, operatorOf, type Requirement, requirement, serialize, sortedValues } from '../../core/requirement.ts'
import {
  describeAll,
  disjointness,
  hasPreferredNodeAffinity,
  incompatibility,
  merge,
  podRequirements,
  type Requirements,
  requirements,
  serializeAll,
} from '../../core/requirements.ts'
import { exceeded, fits, formatResources, maxResources, mergeResources, minResources, parseResources, subtractResources } from '../../core/resources.ts'
import { intolerance, isEphemeralTaint, mergeTaints } from '../../core/taints.ts'

type Evaluator = (input: never) => unknown

/** Answers a vector case of a kind; the kinds that are not here are other issues'. */
export const evaluators: Readonly<Record<string, Evaluator>> = {
  requirement: evaluateRequirement,
  requirements: evaluateRequirements,
  'pod-requirements': ({ pod }: { pod: { spec: { nodeSelector?: Record<string, string>; affinity?: Affinity } } }) => ({
    all: both(podRequirements(pod.spec, { strict: false })),
    strict: both(podRequirements(pod.spec, { strict: true })),
    preferred: hasPreferredNodeAffinity(pod.spec),
  }),
  taints: ({ taints, tolerations }: { taints: Taint[]; tolerations: Toleration[] | null }) => {
    const error = intolerance(taints ?? [], tolerations ?? [])
    return { tolerated: error === undefined, error: error ?? null }
  },
  'taints-merge': (input: { taints: Taint[]; with: Taint[] }) => ({ taints: mergeTaints(input.taints ?? [], input.with ?? []) }),
  'ephemeral-taint': ({ taint }: { taint: Taint }) => ({ ephemeral: isEphemeralTaint(taint) }),
  quantity: evaluateQuantity,
  'quantity-op': evaluateQuantityOperation,
  'resources-op': evaluateResourcesOperation,
  'pod-requests': ({ pod }: { pod: PodResourcesInput }) => ({
    requests: formatResources(podRequests(pod)),
    limits: formatResources(podLimits(pod)),
    specRequests: formatResources(specRequests(pod)),
  }),
  'pods-requests': ({ pods }: { pods: PodResourcesInput[] }) => ({
    requests: formatResources(podsRequests(pods)),
    limits: formatResources(podsRequests(pods, podLimits)),
  }),
  price: evaluatePrice,
  duration: evaluateDuration,
  'duration-format': ({ nanoseconds }: { nanoseconds: string }) => ({ text: formatGoDuration(BigInt(nanoseconds)) }),
  'nodeclaim-template': evaluateTemplate,
  'nodepool-hash': ({ nodePool }: { nodePool: { spec: { template: never } } }) => ({
    hash: nodePoolHash(nodePool.spec.template),
    version: nodePoolHashVersion,
  }),
}

function setForm(set: Requirement) {
  return {
    string: describe(set),
    operator: operatorOf(set),
    length: String(lengthOf(set)),
    values: sortedValues(set),
    minValues: set.minValues ?? null,
    serialized: serialize(set),
  }
}

function evaluateRequirement(input: { a: RequirementSpec; b: RequirementSpec; probe: string[] }) {
  const a = requirement(input.a)
  const b = requirement(input.b)
  const intersection = intersect(a, b)
  return {
    a: setForm(a),
    b: setForm(b),
    intersection: setForm(intersection),
    hasIntersection: intersects(a, b),
    hasA: Object.fromEntries(input.probe.map((value) => [value, allows(a, value)])),
    has: Object.fromEntries(input.probe.map((value) => [value, allows(intersection, value)])),
  }
}

function both(sets: Requirements) {
  return { string: describeAll(sets), serialized: sortSpecs(serializeAll(sets)) }
}

function sortSpecs(specs: readonly RequirementSpec[]) {
  const rank = (spec: RequirementSpec) => `${spec.key} ${spec.operator}`
  return [...specs].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0))
}

function evaluateRequirements(input: { a: RequirementSpec[]; b: RequirementSpec[] }) {
  const a = requirements(input.a)
  const b = requirements(input.b)
  return {
    compatible: incompatibility(a, b) ?? null,
    compatibleAllowingWellKnown: incompatibility(a, b, coreWellKnownLabels) ?? null,
    intersects: disjointness(a, b) ?? null,
    string: describeAll(a),
    merged: both(merge(a, b.values())),
  }
}

const within64Bits = (value: bigint) => (value >= -(1n << 63n) && value < 1n << 63n ? String(value) : null)

function evaluateQuantity({ value }: { value: string }) {
  const parsed = parseQuantity(value)
  if (parsed.kind === 'error') return { valid: false, error: parsed.message }
  const { quantity: amount } = parsed
  return {
    valid: true,
    printed: formatQuantity(amount),
    canonical: formatQuantity(amount),
    nano: String(amount.nano),
    value: within64Bits(quantityValue(amount)),
    milliValue: within64Bits(quantityMilliValue(amount)),
    sign: amount.nano < 0n ? -1 : amount.nano > 0n ? 1 : 0,
    format: amount.format,
  }
}

function evaluateQuantityOperation(input: { op: string; a: string; b?: string }) {
  const a = quantity(input.a)
  const b = quantity(input.b ?? '0')
  if (input.op === 'compare') return { compare: compareQuantity(a, b), equal: a.nano === b.nano }
  const result: Quantity =
    input.op === 'add' ? addQuantity(a, b) : input.op === 'sub' ? subtractQuantity(a, b) : { nano: -a.nano, format: a.format }
  return { canonical: formatQuantity(result), nano: String(result.nano), format: result.format }
}

function evaluateResourcesOperation(input: { op: string; lists: Record<string, string>[] }) {
  const lists = input.lists.map(parseResources)
  const [first = {}, second = {}] = lists
  switch (input.op) {
    case 'merge':
      return { result: formatResources(mergeResources(...lists)) }
    case 'subtract':
      return { result: formatResources(subtractResources(first, ...lists.slice(1))) }
    case 'max':
      return { result: formatResources(maxResources(...lists)) }
    case 'min':
      return { result: formatResources(minResources(...lists)) }
    case 'fits':
      return { fits: fits(first, second) }
    default: {
      const over = exceeded(first, second)
      return { error: over.length === 0 ? null : over }
    }
  }
}

interface OfferingInput {
  requirements: RequirementSpec[]
  price: number
  available: boolean
  reservationCapacity?: number
}

interface InstanceTypeInput {
  name: string
  requirements: RequirementSpec[]
  offerings: OfferingInput[] | null
  capacity: Record<string, string> | null
  overhead: { kubeReserved?: Record<string, string>; systemReserved?: Record<string, string>; evictionThreshold?: Record<string, string> }
}

function instanceType(input: InstanceTypeInput): InstanceType {
  return {
    name: input.name,
    requirements: requirements(input.requirements ?? []),
    offerings: (input.offerings ?? []).map((offering) => ({ ...offering, requirements: requirements(offering.requirements) })),
    capacity: parseResources(input.capacity),
    overhead: Object.fromEntries(Object.entries(input.overhead ?? {}).map(([part, amounts]) => [part, parseResources(amounts)])),
  }
}

function evaluatePrice(input: { instanceTypes: InstanceTypeInput[]; requirements: RequirementSpec[]; maxItems?: number }) {
  const types = input.instanceTypes.map(instanceType)
  const wanted = requirements(input.requirements)
  const ordered = orderByPrice(types, wanted)
  const met = minValues(ordered, wanted)
  const byType = <T>(of: (type: InstanceType) => T) => Object.fromEntries(types.map((type) => [type.name, of(type)]))
  return {
    order: groups(ordered, (type) => cheapestPrice(type, wanted)),
    cheapest: byType((type) => cheapestPrice(type, wanted) ?? null),
    worstLaunchPrice: byType((type) => worstLaunchPrice(type.offerings.filter(isLaunchable), wanted) ?? null),
    compatible: compatibleTypes(types, wanted).map((type) => type.name),
    allocatable: byType((type) => formatResources(allocatable(type))),
    minValues: {
      needed: met.needed,
      satisfied: met.unsatisfied.size === 0,
      unsatisfied: met.unsatisfied.size === 0 ? null : Object.fromEntries(met.unsatisfied),
    },
    ...(input.maxItems === undefined ? {} : { truncated: truncated(types, wanted, input.maxItems) }),
  }
}

function truncated(types: readonly InstanceType[], wanted: Requirements, max: number) {
  const cut = truncate(types, wanted, max)
  return { ok: cut !== undefined, names: (cut ?? types).map((type) => type.name).sort() }
}

function groups(ordered: readonly InstanceType[], priceOf: (type: InstanceType) => number | undefined): string[][] {
  const result: string[][] = []
  let last: number | undefined | null = null
  for (const type of ordered) {
    const price = priceOf(type)
    if (price !== last) result.push([])
    last = price
    result.at(-1)?.push(type.name)
  }
  return result.map((group) => group.sort())
}

function evaluateDuration({ value }: { value: unknown }) {
  const setting = typeof value === 'string' ? parseDurationSetting(value) : undefined
  if (setting === undefined) return { valid: false }
  if (setting.kind === 'never') return { valid: true, nanoseconds: null, printed: 'Never', canonical: 'Never' }
  return { valid: true, nanoseconds: String(setting.nanoseconds), printed: value, canonical: formatGoDuration(setting.nanoseconds) }
}

interface NodePoolInput {
  metadata: { name: string; uid?: string }
  spec: {
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
      spec: {
        nodeClassRef: NodeClassRef
        requirements?: RequirementSpec[]
        taints?: Taint[]
        startupTaints?: Taint[]
        expireAfter?: string
        terminationGracePeriod?: string
      }
    }
  }
}

function evaluateTemplate({ nodePool, instanceTypes }: { nodePool: NodePoolInput; instanceTypes: InstanceTypeInput[] | null }) {
  const { metadata, spec } = nodePool.spec.template
  const template = {
    nodePool: nodePool.metadata.name,
    labels: metadata?.labels ?? {},
    nodeClassRef: spec.nodeClassRef,
    requirements: spec.requirements ?? [],
  }
  const planned = templateRequirements(template)
  return {
    generateName: `${nodePool.metadata.name}-`,
    labels: claimLabels(template, planned),
    annotations: {
      ...metadata?.annotations,
      'karpenter.sh/nodepool-hash': nodePoolHash(nodePool.spec.template),
      'karpenter.sh/nodepool-hash-version': nodePoolHashVersion,
    },
    owners: [{ apiVersion: 'karpenter.sh/v1', blockOwnerDeletion: true, kind: 'NodePool', name: nodePool.metadata.name, uid: nodePool.metadata.uid ?? '' }],
    spec: {
      requirements: sortSpecs(serializeAll(claimRequirements(planned, (instanceTypes ?? []).map(instanceType)))),
      nodeClassRef: spec.nodeClassRef,
      expireAfter: spec.expireAfter ?? 'Never',
      resources: {},
      ...(spec.taints ? { taints: spec.taints } : {}),
      ...(spec.startupTaints ? { startupTaints: spec.startupTaints } : {}),
      ...(spec.terminationGracePeriod ? { terminationGracePeriod: spec.terminationGracePeriod } : {}),
    },
  }
}
