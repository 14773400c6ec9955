import { type Blocked, blockedBy, type Candidate, type DisruptionView, eligibility } from './candidates.ts'
import { type DisruptionReason, methodFacts } from './command.ts'
import type { DisruptionClass } from './disruption-class.ts'
import { type FilterSettings, isInScope, isResting } from './filters.ts'
import type { Method } from './methods/method.ts'

export interface MethodCandidates {
  /** Nodes that may be disrupted for any reason. */
  readonly eligible: readonly Candidate[]
  /** Nodes that the method applies to. */
  readonly candidates: readonly Candidate[]
  readonly blocked: readonly Blocked[]
}

/** Returns a method's candidates, and the obstacles of the other nodes (reference/karpenter-core.md 4.2, 4.5). */
export function candidatesFor(method: Method, view: DisruptionView, settings: FilterSettings): MethodCandidates {
  const { reason, disruptionClass } = methodFacts[method.name]
  const { eligible, blocked: ineligible } = eligibleNodes(view, disruptionClass, method.concerns)
  const blocked = [...ineligible]
  const candidates = eligible.filter((candidate) => {
    const { node, nodeClaim, nodePool } = candidate
    const names = [node.metadata.name, nodeClaim.metadata.name]
    if (settings.scope !== undefined && !isInScope(nodePool.metadata.name, names, settings.scope)) return false
    if (settings.resting !== undefined && isResting(candidate, reason, settings.resting)) return false
    const pause = pauseOf(candidate, reason, view)
    if (pause !== undefined) {
      blocked.push(blockedBy(candidate, 'DisruptionBlocked', { kind: 'paused', pause }))
      return false
    }
    const suitable = method.suits(candidate, settings, view)
    if (typeof suitable === 'boolean') return suitable
    blocked.push(blockedBy(candidate, 'Unconsolidatable', suitable))
    return false
  })
  return { eligible, candidates, blocked }
}

type Eligible = Pick<MethodCandidates, 'eligible' | 'blocked'>

/** Three graceful methods evaluate the same view. */
const graceful = new WeakMap<DisruptionView, Eligible>()

function eligibleNodes(view: DisruptionView, by: DisruptionClass, concerns: Method['concerns']): Eligible {
  const known = by === 'graceful' ? graceful.get(view) : undefined
  if (known !== undefined) return known
  const eligible: Candidate[] = []
  const blocked: Blocked[] = []
  for (const one of view.nodes) {
    if (concerns?.(one, view) === false) continue
    const found = eligibility(one, view, by)
    if (found.kind === 'candidate') eligible.push(found.candidate)
    else if (found.kind === 'blocked') blocked.push(found.blocked)
  }
  if (by === 'graceful') graceful.set(view, { eligible, blocked })
  return { eligible, blocked }
}

function pauseOf({ nodePool, node, nodeClaim }: Candidate, reason: DisruptionReason, view: DisruptionView) {
  return view.pauses?.covering({
    nodePool: nodePool.metadata.name,
    node: node.metadata.name,
    nodeClaim: nodeClaim.metadata.name,
    reason,
  })
}
