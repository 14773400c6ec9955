import type { RequirementSpec } from '../../core/objects.ts'

/** Requirements by key, then by operator, as the vectors list them. */
export function sortSpecs(specs: readonly RequirementSpec[]): readonly RequirementSpec[] {
  const rank = (spec: RequirementSpec) => `${spec.key} ${spec.operator}`
  return [...specs].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0))
}
