import type { ConsolidateRequest } from '../../../core/disruption/plan/plan-requests.ts'
import type { EventReason } from '../../../core/events.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import type { DisruptionProposal } from '../contract.ts'

export type RequestEventsDeps = Pick<Parts, 'cache' | 'events' | 'now'>

const mostNames = 5

/** Publishes to NodePools who requested a pass by hand, and what it found of their nodes. No event where nothing is named and nothing found. */
export function publishConsolidateNow(
  deps: RequestEventsDeps,
  { by, nodePools = [], nodes, budget }: ConsolidateRequest,
  proposals: readonly DisruptionProposal[],
): void {
  const limits = [
    ...(nodes === undefined ? [] : [`of the nodes ${shown(nodes)}`]),
    ...(budget === undefined ? [] : [`at most ${budget} of each NodePool`]),
  ]
  publish(deps, proposals, {
    reason: 'ConsolidateNow',
    named: nodePools,
    message: (found) =>
      `A pass was asked for by ${by ?? 'somebody'}${limits.map((limit) => `, ${limit}`).join('')}: ${found}`,
  })
}

/** Publishes to NodePools who applies a plan, and which of their nodes go by it. */
export function publishPlanApplied(
  deps: RequestEventsDeps,
  { id, by }: { readonly id: string; readonly by?: string | undefined },
  proposals: readonly DisruptionProposal[],
): void {
  publish(deps, proposals, {
    reason: 'PlanApplied',
    named: [],
    message: (found) => `Plan ${id} is carried out as ${by ?? 'somebody'} asked: ${found}`,
  })
}

interface Published {
  readonly reason: EventReason
  /** NodePools that get an event even if nothing was found of their nodes. */
  readonly named: readonly string[]
  readonly message: (found: string) => string
}

function publish(
  { cache, events, now }: RequestEventsDeps,
  proposals: readonly DisruptionProposal[],
  { reason, named, message }: Published,
): void {
  const candidates = Map.groupBy(
    proposals.flatMap((proposal) => proposal.candidates),
    ({ nodePool }) => nodePool,
  )
  for (const name of new Set([...named, ...candidates.keys()])) {
    const pool = cache.nodePools.get(name)
    if (pool === undefined) continue
    const nodes = candidates.get(name)?.map(({ nodeName }) => nodeName) ?? []
    const found = nodes.length === 0 ? 'nothing to do' : `${shown(nodes)} can go`
    // A repeated request is published again.
    events.record({ about: subject(pool), reason, message: message(found), values: [pool.metadata.uid, String(now())] })
  }
}

function shown(names: readonly string[]): string {
  const more = names.length - mostNames
  return `${names.slice(0, mostNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
