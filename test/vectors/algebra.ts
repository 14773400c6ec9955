import { decodePod } from '../../activities/kubernetes/cache/decode-pod.ts'
import type { Affinity, ContainerPort, RequirementSpec, Taint, Toleration } from '../../core/objects.ts'
import { hostPortConflict, hostPorts } from '../../core/pods/host-ports.ts'
import { type PodResourcesInput, podLimits, podRequests, specRequests } from '../../core/pods/pod-requests.ts'
import { coreWellKnownLabels } from '../../core/requirements/labels.ts'
import {
  allows,
  describe,
  intersect,
  intersects,
  operatorOf,
  type Requirement,
  requirement,
  serialize,
  sortedValues,
} from '../../core/requirements/requirement.ts'
import {
  describeAll,
  disjointness,
  hasPreferredNodeAffinity,
  incompatibility,
  incompatibilityText,
  merge,
  podRequirements,
  type Requirements,
  requirements,
  serializeAll,
} from '../../core/requirements/requirements.ts'
import {
  fits,
  formatResources,
  limitExcess,
  maxResources,
  mergeResources,
  minResources,
  parseResources,
  subtractResources,
} from '../../core/resources.ts'
import { intoleranceText, isEphemeralTaint, mergeTaints, untolerated } from '../../core/taints.ts'
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
} from '../../core/values/quantity.ts'

import { formatGoDuration } from './go-duration.ts'
import { evaluatePrice } from './instance-types.ts'
import {
  evaluateBudgets,
  evaluateDuration,
  evaluateHash,
  evaluateRuntimeValidation,
  evaluateTemplate,
} from './node-pools.ts'
import { sortSpecs } from './specs.ts'

type Evaluator = (input: never) => unknown

/** Answers a vector case of a kind. Kind `validation` is answered by a real API server: `crd-server.ts`. */
export const evaluators: Readonly<Record<string, Evaluator>> = {
  requirement: evaluateRequirement,
  requirements: evaluateRequirements,
  'pod-requirements': ({ pod }: { pod: { spec: { nodeSelector?: Record<string, string>; affinity?: Affinity } } }) => ({
    all: both(podRequirements(pod.spec, { strict: false })),
    strict: both(podRequirements(pod.spec, { strict: true })),
    preferred: hasPreferredNodeAffinity(pod.spec),
  }),
  taints: ({ taints, tolerations }: { taints: Taint[]; tolerations: Toleration[] | null }) => {
    const left = untolerated(taints ?? [], tolerations ?? [])
    return { tolerated: left.length === 0, error: left.length === 0 ? null : intoleranceText(left) }
  },
  'taints-merge': (input: { taints: Taint[]; with: Taint[] }) => ({
    taints: mergeTaints(input.taints ?? [], input.with ?? []),
  }),
  'ephemeral-taint': ({ taint }: { taint: Taint }) => ({ ephemeral: isEphemeralTaint(taint) }),
  quantity: evaluateQuantity,
  'quantity-op': evaluateQuantityOperation,
  'resources-op': evaluateResourcesOperation,
  'pod-requests': ({ pod }: { pod: PodResourcesInput }) => ({
    requests: formatResources(podRequests(pod)),
    limits: formatResources(podLimits(pod)),
    specRequests: formatResources(specRequests(pod)),
  }),
  'pods-requests': ({ pods }: { pods: PodResourcesInput[] }) => {
    const none = pods.length === 0 ? { pods: '0' } : {}
    const decoded = pods.map((pod) => decodePod({ metadata: {}, ...pod }))
    return {
      requests: { ...none, ...formatResources(mergeResources(...decoded.map(({ requests }) => requests))) },
      limits: { ...none, ...formatResources(mergeResources(...decoded.map(({ limits }) => limits))) },
    }
  },
  hostports: evaluateHostPorts,
  price: evaluatePrice,
  duration: evaluateDuration,
  'duration-format': ({ nanoseconds }: { nanoseconds: string }) => ({ text: formatGoDuration(BigInt(nanoseconds)) }),
  'nodeclaim-template': evaluateTemplate,
  'nodepool-hash': evaluateHash,
  budgets: evaluateBudgets,
  'runtime-validation': evaluateRuntimeValidation,
}

function setForm(set: Requirement) {
  return {
    string: describe(set),
    operator: operatorOf(set),
    // Go counts a complement as all of int64 but what it excludes.
    length: String(set.complement ? 2n ** 63n - 1n - BigInt(set.values.size) : set.values.size),
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

const textOf = (found: ReturnType<typeof incompatibility>) => (found === undefined ? null : incompatibilityText(found))

function evaluateRequirements(input: { a: RequirementSpec[]; b: RequirementSpec[] }) {
  const a = requirements(input.a)
  const b = requirements(input.b)
  return {
    compatible: textOf(incompatibility(a, b)),
    compatibleAllowingWellKnown: textOf(incompatibility(a, b, coreWellKnownLabels)),
    intersects: textOf(disjointness(a, b)),
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
    input.op === 'add'
      ? addQuantity(a, b)
      : input.op === 'sub'
        ? subtractQuantity(a, b)
        : { nano: -a.nano, format: a.format }
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
    default:
      return { error: limitExcess(first, second) ?? null }
  }
}

interface PodPorts {
  metadata: { name: string; namespace?: string }
  spec: { containers: { ports?: ContainerPort[] | null }[] | null }
}

/** Each pod holds its ports once, under its name; a pod does not conflict with itself. */
function evaluateHostPorts({ existing, pod }: { existing: PodPorts[] | null; pod: PodPorts }) {
  const portsOf = ({ spec }: PodPorts) => (spec.containers ?? []).flatMap(({ ports }) => ports ?? [])
  const nameOf = ({ metadata }: PodPorts) => `${metadata.namespace ?? ''}/${metadata.name}`
  const used = new Map<string, readonly ContainerPort[]>()
  for (const other of existing ?? []) used.set(nameOf(other), portsOf(other))
  used.delete(nameOf(pod))
  const wanted = portsOf(pod)
  const error = hostPortConflict([...used.values()].flat(), wanted)
  const ports = hostPorts(wanted).map(({ ip, port, protocol }) => `IP=${ip} Port=${port} Proto=${protocol}`)
  return { ports, conflict: error !== undefined, error: error ?? null }
}
