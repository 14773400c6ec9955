import { kubeletErrors } from './kubelet-conversion.ts'
import { labelValueErrors, qualifiedNameErrors } from './label-syntax.ts'
import { isRestrictedLabel, labels, normalizedLabel, wellKnownLabels } from './labels.ts'
import type { NodePool, RequirementSpec, Taint } from './objects.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']
const boundOperators: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte'])
const effects: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
const capacityTypes = ['on-demand', 'spot', 'reserved']

/** What of a NodePool only a controller can see to be wrong. */
export function runtimeErrors(pool: NodePool): readonly string[] {
  return [
    ...templateErrors(pool.template, wellKnownLabels),
    ...kubeletErrors(pool.metadata.annotations),
    // The API lets nobody take `replicas` away from a pool that has it.
    ...(pool.isStatic
      ? ['spec.replicas: static NodePools are not supported yet; make another NodePool without it']
      : []),
  ]
}

/** The checks of a NodePool's template after admission, with upstream's texts (karpenter-core.md 1.1, "Runtime validation"). */
export function templateErrors(template: NodePool['template'], wellKnown: ReadonlySet<string>): readonly string[] {
  const { taints, startupTaints, requirements } = template.spec
  const invalid = requirements.flatMap((entry) => {
    const errors = requirementErrors(entry, wellKnown)
    return errors.length === 0 ? [] : [`invalid value: ${errors.join('; ')} in requirements, restricted`]
  })
  return [
    ...Object.entries(template.labels).flatMap(([key, value]) => labelErrors(key, value, wellKnown)),
    ...taintErrors(taints, startupTaints),
    ...invalid,
    ...requirements
      .filter(({ key }) => key === labels.nodePool)
      .map(({ key }) => `invalid key: "${key}" in requirements, restricted`),
  ]
}

function labelErrors(key: string, value: string, wellKnown: ReadonlySet<string>): readonly string[] {
  const name = `invalid key name ${JSON.stringify(key)} in labels,`
  return [
    ...(key === labels.nodePool ? [`${name} restricted`] : []),
    ...qualifiedNameErrors(key).map((error) => `${name} ${JSON.stringify(error)}`),
    ...labelValueErrors(value).map((error) => `invalid value: ${value} for label[${key}], ${error}`),
    ...(isRestrictedLabel(key, wellKnown) ? [`${name} ${restriction(key, wellKnown)}`] : []),
  ]
}

function restriction(key: string, wellKnown: ReadonlySet<string>): string {
  return (
    `using label ${key} is not allowed as it might interfere with the internal provisioning logic; specify a well known ` +
    `label: [${[...wellKnown].sort().join(' ')}], or a custom label that does not use a restricted domain: [karpenter.sh]`
  )
}

/** Key and effect must be unique over both lists. */
function taintErrors(taints: readonly Taint[], startupTaints: readonly Taint[]): readonly string[] {
  const seen = new Set<string>()
  const check = (field: string) => (taint: Taint) => {
    const pair = `${taint.key}=${taint.effect}`
    const duplicate = seen.has(pair)
    seen.add(pair)
    return [
      ...qualifiedNameErrors(taint.key).map((error) => `invalid value: ${error} in ${field}`),
      ...(taint.value ? qualifiedNameErrors(taint.value) : []).map((error) => `invalid value: ${error} in ${field}`),
      ...(!taint.effect || effects.has(taint.effect) ? [] : [`invalid value: "${taint.effect}" in ${field}`]),
      ...(duplicate ? [`duplicate taint Key/Effect pair ${pair}`] : []),
    ]
  }
  return [...taints.flatMap(check('taints')), ...startupTaints.flatMap(check('startupTaints'))]
}

function requirementErrors(entry: RequirementSpec, wellKnown: ReadonlySet<string>): readonly string[] {
  const key = normalizedLabel(entry.key)
  const { operator } = entry
  const values = entry.values ?? []
  const subject = `key ${key} with operator ${operator}`
  const few = operator === 'In' && values.length < (entry.minValues ?? 0)
  return [
    ...(operators.includes(operator)
      ? []
      : [`key ${key} has an unsupported operator ${operator} not in [${operators.join(' ')}]`]),
    ...(isRestrictedLabel(key, wellKnown) ? [restriction(key, wellKnown)] : []),
    ...(key === labels.capacityType && operator === 'In' ? capacityTypeErrors(values, entry.minValues ?? 0) : []),
    ...qualifiedNameErrors(key).map((error) => `key ${key} is not a qualified name, ${error}`),
    ...values.flatMap((value) =>
      labelValueErrors(value).map((error) => `invalid value ${value} for key ${key}, ${error}`),
    ),
    ...(operator === 'In' && values.length === 0 ? [`${subject} must have a value defined`] : []),
    ...(few ? [`${subject} must have at least minimum number of values defined in 'values' field`] : []),
    ...(boundOperators.has(operator) && !isBound(values)
      ? [`${subject} must have a single positive integer value`]
      : []),
  ]
}

const maxInt64 = (1n << 63n) - 1n

function isBound([value = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && /^(\+?[0-9]+|-0+)$/.test(value) && BigInt(value.replace('+', '')) <= maxInt64
}

/** Unknown capacity types are let pass as long as enough known ones remain. */
function capacityTypeErrors(values: readonly string[], minValues: number): readonly string[] {
  const unknown = values.filter((value) => !capacityTypes.includes(value))
  const known = values.length - unknown.length
  const given = `valid values found in [${values.join(' ')}] for ${labels.capacityType}, expected`
  if (known === 0) {
    const all = [...capacityTypes].sort().map((type) => `${type}:{}`)
    return [`no ${given} one of: map[${all.join(' ')}], got: [${unknown.join(' ')}]`]
  }
  if (known >= minValues) return []
  return [`not enough ${given} at least ${minValues} valid values from: [${capacityTypes.join(' ')}], got: ${known}`]
}
