import type { Affinity, Pod } from '../objects.ts'
import { syntaxErrors } from '../requirements/requirement-rules.ts'

type NodeAffinity = NonNullable<Affinity['nodeAffinity']>
type PreferredTerm = NonNullable<NodeAffinity['preferredDuringSchedulingIgnoredDuringExecution']>[number]

/**
 * Returns a pod's affinity without the preferred node affinity terms that no node can meet, because a key, operator or value is invalid for labels.
 * The API server accepts such values in preferred terms and kube-scheduler skips the terms. The planner would write them into a NodeClaim.
 */
export function withValidPreferences(affinity: Affinity): Pick<Pod, 'affinity' | 'ignoredPreferences'> {
  const { nodeAffinity } = affinity
  const terms = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  let first: string | undefined
  const valid = terms.filter((term, index) => {
    const error = errorOf(term, index)
    first ??= error
    return error === undefined
  })
  if (first === undefined) return { affinity }
  const others = terms.length - valid.length - 1
  return {
    affinity: {
      ...affinity,
      nodeAffinity: { ...nodeAffinity, preferredDuringSchedulingIgnoredDuringExecution: valid },
    },
    ignoredPreferences: `${first}; the term is ignored, correct it${others === 0 ? '' : ` (and ${others} more terms)`}`,
  }
}

function errorOf({ preference: { matchExpressions = [] } }: PreferredTerm, index: number): string | undefined {
  for (const [at, entry] of matchExpressions.entries()) {
    const [error] = syntaxErrors(entry)
    // Whatever the value is, the message is one line.
    if (error !== undefined) return `${pathOf(index, at)}: ${JSON.stringify(error).slice(1, -1)}`
  }
  return undefined
}

const pathOf = (term: number, expression: number) =>
  `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${term}].preference.matchExpressions[${expression}]`
