import type { LabelSelector } from '../objects.ts'

/** Whether labels match a selector, as Kubernetes matches them: no selector selects nothing, an empty one everything. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return false
  for (const key in selector.matchLabels ?? {}) if (labels[key] !== selector.matchLabels?.[key]) return false
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key]
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
  })
}
