import type { NodePool } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { limitExcess, mergeResources, type Resources, subtractResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { capacityOf, isLeaving, labelsOf, stateNodes } from '../../core/scheduling/state-nodes.ts'
import { integerQuantity } from '../../core/values/quantity.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { isNotFound } from '../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { resourcePath } from '../kubernetes/client/resources.ts'

export interface PoolLimitsDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Time after which a NodePool is read again while claims are created. */
const validMs = 500

export type Admission =
  | { readonly kind: 'admitted'; readonly nodePool: NodePool }
  /** The pool is gone or going: the garbage collector would take its claims too. */
  | { readonly kind: 'poolGone' }
  | { readonly kind: 'limitExceeded'; readonly message: string }

interface Read {
  readonly atMs: number
  readonly nodePool: Promise<NodePool | undefined>
}

/**
 * Checks the claims of one plan against the limits of their NodePools as the API server has them now. They may differ from the plan's
 * (reference/karpenter-core.md 3.14). A claim counts with its pods' requests from its admission.
 */
export class PoolLimits {
  readonly #deps: PoolLimitsDeps
  readonly #without: ReadonlySet<string>
  readonly #read = new Map<string, Read>()
  readonly #usage = new Map<string, Resources>()

  /** `without`: names of NodeClaims that do not count, because the new claims replace them. */
  constructor(deps: PoolLimitsDeps, without: ReadonlySet<string> = new Set()) {
    this.#deps = deps
    this.#without = without
  }

  /** Returns whether a claim may be created, and counts it if so. */
  async admit({ nodePool: name, requests }: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): Promise<Admission> {
    const nodePool = await this.#current(name)
    if (nodePool === undefined || nodePool.metadata.deletionTimestamp !== undefined) return { kind: 'poolGone' }
    const before = this.#usage.get(name) ?? usageOf(this.#deps, name, this.#without)
    const usage = mergeResources(before, requests, { nodes: integerQuantity(1) })
    const excess = limitExcess(nodePool.limits, usage)
    this.#usage.set(name, excess === undefined ? usage : before)
    return excess === undefined
      ? { kind: 'admitted', nodePool }
      : { kind: 'limitExceeded', message: `NodePool ${name}: spec.limits: ${excess}` }
  }

  /** Subtracts a claim that was admitted and not created. */
  giveBack({ nodePool, requests }: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): void {
    const usage = this.#usage.get(nodePool)
    if (usage !== undefined)
      this.#usage.set(nodePool, subtractResources(usage, requests, { nodes: integerQuantity(1) }))
  }

  #current(name: string): Promise<NodePool | undefined> {
    const known = this.#read.get(name)
    if (known !== undefined && this.#deps.now() - known.atMs < validMs) return known.nodePool
    const nodePool = readPool(this.#deps, name)
    this.#read.set(name, { atMs: this.#deps.now(), nodePool })
    return nodePool
  }
}

async function readPool({ client, cache }: PoolLimitsDeps, name: string): Promise<NodePool | undefined> {
  try {
    cache.upsert('NodePool', await client.get(resourcePath('nodepools', name)))
    return cache.nodePools.get(name)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Returns the capacity of the pool's nodes, in-flight ones included. */
function usageOf({ cache }: PoolLimitsDeps, pool: string, without: ReadonlySet<string>): Resources {
  const known = stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] })
  const own = known.filter(
    (one) =>
      labelsOf(one)[labels.nodePool] === pool &&
      !isLeaving(one.claim, one.node) &&
      !without.has(one.claim?.metadata.name ?? ''),
  )
  return mergeResources(...own.map(capacityOf), { nodes: integerQuantity(own.length) })
}
