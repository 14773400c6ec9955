import { joinsOf } from '../node-claim/node-owner.ts'
import { asClaimed } from '../node-claim/registration.ts'
import type { Node, NodeClaim, NodePool } from '../objects.ts'
import { labels } from '../requirements/labels.ts'
import { formatResources, mergeResources, noResources, type Resources } from '../resources.ts'
import { isLeaving } from '../scheduling/state-nodes.ts'
import { integerQuantity, zero } from '../values/quantity.ts'
import { entryOf } from '../values/records.ts'

/** Resources that are always shown, even for a pool without nodes. */
const base: Resources = { cpu: zero, 'ephemeral-storage': zero, memory: zero, nodes: zero, pods: zero }

/**
 * Returns the total resources of each pool's nodes, by pool name, with their number as `nodes` (reference/karpenter-core.md 5.2). A claim counts from
 * its launch on, and no longer when it is being deleted or disrupted. Pools without nodes are not in the answer: see `poolResources`.
 */
export function resourcesByPool(all: Iterable<Node>, nodeClaims: Iterable<NodeClaim>): ReadonlyMap<string, Resources> {
  const [nodes, claims] = [[...all], [...nodeClaims]]
  const { claimOf, strangers, rejoining } = joinsOf(nodes, claims)
  const joined = new Set(claimOf.values())
  const counted = new Map<string, Resources[]>()
  const count = (reported: Node | undefined, claim: NodeClaim | undefined) => {
    const node = reported && claim ? asClaimed(reported, claim) : reported
    const pool = (claim ?? node)?.metadata.labels[labels.nodePool]
    const capacity = capacityOf(node, claim)
    if (pool === undefined || isLeaving(claim, node) || Object.keys(capacity).length === 0) return
    const own = counted.get(pool) ?? []
    counted.set(pool, own)
    own.push({ ...capacity, nodes: integerQuantity(1) })
  }
  for (const node of nodes) if (!strangers.has(node) && !rejoining.has(node)) count(node, claimOf.get(node))
  for (const claim of claims) if (!joined.has(claim)) count(undefined, claim)
  return new Map([...counted].map(([pool, all]) => [pool, mergeResources(...all)]))
}

/** Until initialization, resources that a Node does not report are taken from its claim. */
function capacityOf(node: Node | undefined, claim: NodeClaim | undefined): Resources {
  const promised = claim?.status.capacity ?? noResources
  if (node === undefined) return promised
  if (claim === undefined || node.metadata.labels[labels.initialized] === 'true') return node.capacity
  const known = Object.fromEntries(Object.entries(node.capacity).filter(([, amount]) => amount.nano !== 0n))
  return { ...node.capacity, ...promised, ...known }
}

/** Returns resources as a pool's status shows them. */
export function poolResources(counted: Resources | undefined): Resources {
  return mergeResources(base, counted ?? noResources)
}

/** The counted fields of a pool's status, as a merge patch: `null` removes a resource. */
type CountPatch = { readonly resources: Readonly<Record<string, string | null>>; readonly nodes: number }

/** Returns the patch of a pool's status; undefined when the amounts are already equal, however they are written. */
export function countPatch(pool: NodePool, counted: Resources | undefined): CountPatch | undefined {
  const wanted = poolResources(counted)
  const nodes = Number((wanted['nodes'] ?? zero).nano / integerQuantity(1).nano)
  const shown = pool.resources ?? {}
  const outdated = Object.keys(shown).filter((name) => !Object.hasOwn(wanted, name))
  const same = Object.entries(wanted).every(([name, { nano }]) => entryOf(shown, name)?.nano === nano)
  if (same && outdated.length === 0 && pool.nodes === nodes) return undefined
  return {
    resources: { ...formatResources(wanted), ...Object.fromEntries(outdated.map((name) => [name, null])) },
    nodes,
  }
}
