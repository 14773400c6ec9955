import type { LabelSelector } from '../../objects.ts'
import { entryOf } from '../../values/records.ts'

type Expression = NonNullable<LabelSelector['matchExpressions']>[number]

/** Whether labels match a selector by Kubernetes' rules: no selector selects nothing, an empty one everything, an invalid one nothing. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return false
  const { matchLabels = {}, matchExpressions = [] } = selector
  for (const key in matchLabels) if (entryOf(labels, key) !== matchLabels[key]) return false
  return matchExpressions.every(isValid) && matchExpressions.every((expression) => matches(expression, labels))
}

function matches({ key, operator, values = [] }: Expression, labels: Readonly<Record<string, string>>): boolean {
  const value = entryOf(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}

/** `In` and `NotIn` need values, the others must have none. */
function isValid({ operator, values = [] }: Expression): boolean {
  const needsValues = operator === 'In' || operator === 'NotIn'
  return needsValues ? values.length > 0 : values.length === 0
}
