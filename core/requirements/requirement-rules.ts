import type { RequirementSpec } from '../objects.ts'
import { shortened } from '../values/texts.ts'
import { labelValueErrors, qualifiedNameErrors } from './label-syntax.ts'
import { isRestrictedLabel, knownValues, normalizedLabel } from './labels.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']
const boundOperators: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte'])
const maxInt64 = (1n << 63n) - 1n

/**
 * Returns the errors of a requirement of a NodePool or a pod, in upstream's words (reference/karpenter-core.md 1.1, "Runtime validation", and 3.2).
 * `wellKnown` are the keys that are never restricted.
 */
export function requirementErrors(entry: RequirementSpec, wellKnown: ReadonlySet<string>): readonly string[] {
  const key = normalizedLabel(entry.key)
  const { operator, minValues = 0 } = entry
  const values = entry.values ?? []
  return [
    ...operatorErrors(key, operator),
    ...(isRestrictedLabel(key, wellKnown) ? [restriction(key, wellKnown)] : []),
    ...(operator === 'In' && wellKnown.has(key) ? knownValueErrors(key, values, minValues) : []),
    ...keyAndValueErrors(key, operator, values),
    ...(operator === 'In' && values.length < minValues
      ? [`key ${key} with operator ${operator} must have at least minimum number of values defined in 'values' field`]
      : []),
  ]
}

/** Returns why no node's labels can meet a requirement: its operator, its key or a value is invalid in Kubernetes. */
export function syntaxErrors(entry: RequirementSpec): readonly string[] {
  const key = normalizedLabel(entry.key)
  return [...operatorErrors(key, entry.operator), ...keyAndValueErrors(key, entry.operator, entry.values ?? [])]
}

/** Returns upstream's text about a label key that users may not set. */
export function restriction(key: string, wellKnown: ReadonlySet<string>): string {
  return (
    `using label ${key} is not allowed as it might interfere with the internal provisioning logic; specify a well known ` +
    `label: [${[...wellKnown].sort().join(' ')}], or a custom label that does not use a restricted domain: [karpenter.sh]`
  )
}

function operatorErrors(key: string, operator: string): readonly string[] {
  if (operators.includes(operator)) return []
  return [`key ${key} has an unsupported operator ${operator} not in [${operators.join(' ')}]`]
}

function keyAndValueErrors(key: string, operator: string, values: readonly string[]): readonly string[] {
  const subject = `key ${shortened(key)} with operator ${operator}`
  return [
    ...qualifiedNameErrors(key).map((error) => `key ${shortened(key)} is not a qualified name, ${error}`),
    ...values.flatMap((value) =>
      labelValueErrors(value).map((error) => `invalid value ${shortened(value)} for key ${key}, ${error}`),
    ),
    ...(operator === 'In' && values.length === 0 ? [`${subject} must have a value defined`] : []),
    ...(boundOperators.has(operator) && !isBound(values)
      ? [`${subject} must have a single positive integer value`]
      : []),
  ]
}

/** The maximum is the length of the longest label value: parsing many more digits would take long. */
function isBound([value = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && /^(\+?[0-9]{1,63}|-0{1,62})$/.test(value) && BigInt(value.replace('+', '')) <= maxInt64
}

/** Unknown values of a key whose values are known are accepted while enough known ones remain. */
function knownValueErrors(key: string, values: readonly string[], minValues: number): readonly string[] {
  const all = knownValues.get(key)
  if (all === undefined) return []
  const unknown = values.filter((value) => !all.includes(value))
  const known = values.length - unknown.length
  const given = `valid values found in [${values.map((value) => shortened(value)).join(' ')}] for ${key}, expected`
  if (known === 0) {
    const expected = all.toSorted().map((value) => `${value}:{}`)
    return [
      `no ${given} one of: map[${expected.join(' ')}], got: [${unknown.map((value) => shortened(value)).join(' ')}]`,
    ]
  }
  if (known >= minValues) return []
  return [`not enough ${given} at least ${minValues} valid values from: [${all.join(' ')}], got: ${known}`]
}
