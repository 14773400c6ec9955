// What a node costs in requests, by the API server's own record.
import { type AuditedRequest, auditedRequests } from '../audit-log.ts'
import type { World } from '../world.ts'

/** Most requests of Joiner for each node that comes up, and beside these for what a busy machine makes necessary, however many nodes there are. */
interface Budget {
  readonly each: number
  readonly beside: number
}

/**
 * The NodeClaim: create, labels, Launched, Registered, Initialized, Consolidatable. Its Node: registered, initialized. Events: Launched, Registered,
 * Initialized, Ready, Nominated for a pod, and that the new node is not consolidated, reported on NodeClaim and Node; beside these, events of states that
 * pass by themselves, which are at most 10 at once and one a second after that (ADR 30).
 */
const budget: Readonly<Record<string, Budget>> = {
  'create nodeclaims': { each: 1, beside: 0 },
  'patch nodeclaims': { each: 1, beside: 0 },
  'patch nodeclaims/status': { each: 4, beside: 4 },
  'get nodeclaims': { each: 0, beside: 4 },
  'patch nodes': { each: 2, beside: 4 },
  'get nodes': { each: 0, beside: 4 },
  'create secrets': { each: 1, beside: 0 },
  'delete secrets': { each: 1, beside: 2 },
  'create events': { each: 7, beside: 15 },
}
/** Kinds that are never read as a whole once the caches are there. */
const large = ['pods', 'nodes', 'nodeclaims']

/** Joiner's requests in some time, when the API server has written them all down. */
export async function ownRequests(
  world: World,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<readonly AuditedRequest[]> {
  const all = await world.until('the API server has recorded its requests', async () => {
    const recorded = await auditedRequests(world.cluster.stateDir)
    return recorded.some(({ atMs }) => atMs > toMs + 1000) && recorded
  })
  return all.filter(({ actor, atMs }) => actor === 'joiner' && atMs >= fromMs && atMs <= toMs)
}

/** What so many new nodes have cost beyond the budget, in words. */
export function overBudget(requests: readonly AuditedRequest[], nodes: number): readonly string[] {
  const sent = (what: string) => requests.filter((each) => each.what === what).length
  const over = Object.entries(budget).filter(([what, { each, beside }]) => sent(what) > each * nodes + beside)
  const lists = requests.filter(
    ({ what, name }) => name === undefined && large.some((resource) => what === `list ${resource}`),
  )
  return [
    ...over.map(
      ([what, { each, beside }]) =>
        `${what}: ${sent(what)} for ${nodes} nodes, at most ${each} for each and ${beside} beside`,
    ),
    ...lists.map(({ what }) => what),
  ]
}
