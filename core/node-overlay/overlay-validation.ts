import type { NodeOverlay } from '../objects.ts'
import { requirementErrors } from '../requirements/requirement-rules.ts'

/** Resources of the machine itself, which no overlay can change. */
const ownResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pods'])

/** Returns the errors of an overlay that the API server's schema lets pass, in upstream's words (reference/karpenter-core.md 1.3). */
export function overlayErrors(overlay: NodeOverlay, wellKnown: ReadonlySet<string>): readonly string[] {
  return [
    ...overlay.requirements.flatMap((entry) => {
      const errors = requirementErrors(entry, wellKnown)
      const { key, operator, values = [] } = entry
      return [
        ...(errors.length === 0 ? [] : [`invalid value: ${errors.join('; ')} in requirements, restricted`]),
        // As In without values; in a NodePool, NotIn without values excludes nothing and is accepted.
        ...(operator === 'NotIn' && values.length === 0
          ? [`key ${key} with operator ${operator} must have a value defined`]
          : []),
      ]
    }),
    ...Object.keys(overlay.capacity)
      .filter((name) => ownResources.has(name))
      .map((name) => `invalid capacity: ${name} in resource, restricted`),
  ]
}
