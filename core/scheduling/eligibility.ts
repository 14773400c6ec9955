import { labelValueErrors, qualifiedNameErrors } from '../label-syntax.ts'
import { isRestrictedLabel, labels, normalizedLabel } from '../labels.ts'
import type { Pod, RequirementSpec } from '../objects.ts'
import { operatorOf } from '../requirement.ts'
import { podRequirements } from '../requirements.ts'

/**
 * Why a pod is left out before anything is tried, with all reasons there are; undefined when it can be tried (reference/karpenter-core.md 3.2).
 * `volumes` is what is wrong with its volumes.
 */
export function ignoredBecause(
  pod: Pod,
  volumes: string | undefined,
  wellKnown: ReadonlySet<string>,
): string | undefined {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const selected = Object.entries(pod.nodeSelector).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  const reasons = [
    ...(shunsKarpenter(pod) ? [notOnKarpenter] : []),
    ...selected.flatMap((entry) => invalidRequirement(entry, wellKnown)),
    ...terms.flatMap(({ matchFields = [], matchExpressions = [] }) => [
      ...(matchFields.length > 0 ? ['node selector term with matchFields is not supported'] : []),
      ...matchExpressions.flatMap((entry) => invalidRequirement(entry, wellKnown)),
    ]),
    ...(volumes === undefined ? [] : [volumes]),
  ]
  return reasons.length === 0 ? undefined : `ignoring pod, ${reasons.join('; ')}`
}

const notOnKarpenter = `configured to not run on a Karpenter provisioned node (requirement=${labels.nodePool} DoesNotExist)`

/** A wish counts as well as a demand. */
function shunsKarpenter(pod: Pod): boolean {
  const nodePool = podRequirements(pod, { strict: false }).get(labels.nodePool)
  return nodePool !== undefined && operatorOf(nodePool) === 'DoesNotExist'
}

const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Gt', 'Lt', 'Gte', 'Lte', 'Exists', 'DoesNotExist'])
const bounding: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte'])

function invalidRequirement(entry: RequirementSpec, wellKnown: ReadonlySet<string>): readonly string[] {
  const key = normalizedLabel(entry.key)
  const { operator } = entry
  const values = entry.values ?? []
  return [
    ...(operators.has(operator)
      ? []
      : [`key ${key} has an unsupported operator ${operator} not in [${[...operators].join(' ')}]`]),
    ...(isRestrictedLabel(key, wellKnown) ? [restrictedLabel(key, wellKnown)] : []),
    ...unknownCapacityTypes(key, operator, values),
    ...qualifiedNameErrors(key).map((error) => `key ${key} is not a qualified name, ${error}`),
    ...values.flatMap((value) =>
      labelValueErrors(value).map((error) => `invalid value ${value} for key ${key}, ${error}`),
    ),
    ...(operator === 'In' && values.length === 0 ? [`key ${key} with operator In must have a value defined`] : []),
    ...(bounding.has(operator) && !isOneNaturalNumber(values)
      ? [`key ${key} with operator ${operator} must have a single positive integer value`]
      : []),
  ]
}

function isOneNaturalNumber(values: readonly string[]): boolean {
  return values.length === 1 && /^\+?[0-9]+$/.test(values[0] ?? '')
}

const capacityTypes: readonly string[] = ['on-demand', 'reserved', 'spot']

function unknownCapacityTypes(key: string, operator: string, values: readonly string[]): readonly string[] {
  if (key !== labels.capacityType || operator !== 'In' || values.some((value) => capacityTypes.includes(value))) {
    return []
  }
  const known = capacityTypes.map((type) => `${type}:{}`).join(' ')
  const listed = `[${values.join(' ')}]`
  return [`no valid values found in ${listed} for ${key}, expected one of: map[${known}], got: ${listed}`]
}

function restrictedLabel(key: string, wellKnown: ReadonlySet<string>): string {
  const known = [...wellKnown].sort().join(' ')
  return (
    `using label ${key} is not allowed as it might interfere with the internal provisioning logic; ` +
    `specify a well known label: [${known}], or a custom label that does not use a restricted domain: [karpenter.sh]`
  )
}
