import type { Node, Pod, RequirementSpec } from '../../../../../core/objects.ts'

interface Term {
  readonly matchExpressions?: readonly RequirementSpec[]
  readonly matchFields?: readonly RequirementSpec[]
}

/** Whether a Node has what a pod's selector and required affinity want. */
export function hasNodeAffinity({ nodeSelector, affinity }: Pod, node: Node): boolean {
  const { labels } = node.metadata
  if (Object.entries(nodeSelector).some(([key, value]) => labels[key] !== value)) return false
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => meetsTerm(term, node))
}

/** A term without anything in it selects nothing. */
export function meetsTerm({ matchExpressions = [], matchFields = [] }: Term, { metadata }: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false
  const fields = { 'metadata.name': metadata.name }
  return matchExpressions.every((one) => meets(one, metadata.labels)) && matchFields.every((one) => meets(one, fields))
}

function meets({ key, operator, values = [] }: RequirementSpec, labels: Readonly<Record<string, string>>): boolean {
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
    case 'Gt':
      return Number(value) > Number(values[0])
    case 'Lt':
      return Number(value) < Number(values[0])
    default:
      return false
  }
}
