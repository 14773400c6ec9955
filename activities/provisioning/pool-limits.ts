import type { NodePool } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { limitExcess, mergeResources, type Resources, subtractResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { capacityOf, isLeaving, labelsOf, stateNodes } from '../../core/scheduling/state-nodes.ts'
import { defined } from '../../core/values/defined.ts'
import { integerQuantity } from '../../core/values/quantity.ts'
import { perCache } from '../kubernetes/cache/per-cache.ts'
import { getIfAny } from '../kubernetes/client/answers.ts'
import { resourcePath } from '../kubernetes/client/resources.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { poolState } from './refused-claims.ts'

export type PoolLimitsDeps = Pick<Parts, 'client' | 'cache' | 'now'>

/** Time after which a NodePool is read again while claims are created. */
const validMs = 500

export type Admission =
  | { readonly kind: 'admitted'; readonly nodePool: NodePool }
  /** The pool is gone or going: the garbage collector would take its claims too. */
  | { readonly kind: 'poolGone' }
  | { readonly kind: 'limitExceeded'; readonly message: string }
  /** The pool or its class was edited since: the node would have labels of the earlier template, and the hash of the later one. */
  | { readonly kind: 'poolChanged'; readonly message: string }

interface Read {
  readonly atMs: number
  readonly nodePool: Promise<NodePool | undefined>
}

/** What a process has admitted to each NodePool. */
interface Admitted {
  /** All that was ever admitted, less what was given back. */
  readonly total: Map<string, Resources>
  /** What is being created: the cache does not have it yet. */
  readonly underWay: Map<string, Resources>
}

/** Provisioning and disruption of a process share one count. */
const admittedOf = perCache((): Admitted => ({ total: new Map(), underWay: new Map() }))

/** The usage of a pool when a plan first asked for it, and what had been admitted by then. */
interface Base {
  readonly usage: Resources
  readonly total: Resources
}

/**
 * Checks the claims of one plan against the limits of their NodePools as the API server has them now. They may differ from the plan's
 * (reference/karpenter-core.md 3.14). A claim counts with its pods' requests from its admission, in every plan of this process that is carried out.
 */
export class PoolLimits {
  readonly #deps: PoolLimitsDeps
  readonly #without: ReadonlySet<string>
  readonly #read = new Map<string, Read>()
  readonly #bases = new Map<string, Base>()
  readonly #admitted: Admitted

  /** `without`: names of NodeClaims that do not count, because the new claims replace them. */
  constructor(deps: PoolLimitsDeps, without: ReadonlySet<string> = new Set()) {
    this.#deps = deps
    this.#without = without
    this.#admitted = admittedOf(deps)
  }

  /**
   * Returns whether a claim may be created, and counts it if so. Then the caller says how it ended: `created`, `giveBack`, or `created` where it
   * cannot know.
   */
  async admit(planned: Pick<PlannedNodeClaim, 'nodePool' | 'requests' | 'plannedWith'>): Promise<Admission> {
    const { nodePool: name, plannedWith } = planned
    const nodePool = await this.#current(name)
    if (nodePool === undefined || nodePool.metadata.deletionTimestamp !== undefined) return { kind: 'poolGone' }
    if (plannedWith !== undefined && plannedWith !== poolState(this.#deps.cache, name))
      return { kind: 'poolChanged', message: `NodePool ${name} or its AKSNodeClass was edited after it was planned` }
    const excess = limitExcess(nodePool.limits, mergeResources(this.#usage(name), sizeOf(planned)))
    if (excess !== undefined) return { kind: 'limitExceeded', message: `NodePool ${name}: spec.limits: ${excess}` }
    add(this.#admitted.total, planned)
    add(this.#admitted.underWay, planned)
    return { kind: 'admitted', nodePool }
  }

  /** Records that an admitted claim was created: the cache has it, or will. */
  created(planned: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): void {
    subtract(this.#admitted.underWay, planned)
  }

  /** Subtracts a claim that was admitted and not created. */
  giveBack(planned: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): void {
    subtract(this.#admitted.underWay, planned)
    subtract(this.#admitted.total, planned)
  }

  /** Returns the usage of a pool: as it was when this plan began, and what any plan has admitted since. */
  #usage(name: string): Resources {
    const { total, underWay } = this.#admitted
    const base = this.#bases.get(name) ?? {
      usage: mergeResources(usageOf(this.#deps, name, this.#without), underWay.get(name) ?? {}),
      total: total.get(name) ?? {},
    }
    this.#bases.set(name, base)
    return mergeResources(base.usage, subtractResources(total.get(name) ?? {}, base.total))
  }

  #current(name: string): Promise<NodePool | undefined> {
    const known = this.#read.get(name)
    if (known !== undefined && this.#deps.now() - known.atMs < validMs) return known.nodePool
    const nodePool = readPool(this.#deps, name)
    this.#read.set(name, { atMs: this.#deps.now(), nodePool })
    return nodePool
  }
}

function sizeOf({ requests }: Pick<PlannedNodeClaim, 'requests'>): Resources {
  return mergeResources(requests, { nodes: integerQuantity(1) })
}

function add(sums: Map<string, Resources>, planned: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): void {
  sums.set(planned.nodePool, mergeResources(sums.get(planned.nodePool) ?? {}, sizeOf(planned)))
}

function subtract(sums: Map<string, Resources>, planned: Pick<PlannedNodeClaim, 'nodePool' | 'requests'>): void {
  sums.set(planned.nodePool, subtractResources(sums.get(planned.nodePool) ?? {}, sizeOf(planned)))
}

/** Returns what marks a planned claim with the state that its NodePool has now. It is to be called before the plan is made. */
export function markedByPools({ cache }: Pick<PoolLimitsDeps, 'cache'>) {
  const states = new Map([...cache.nodePools.values()].map(({ metadata: { name } }) => [name, poolState(cache, name)]))
  return (planned: PlannedNodeClaim): PlannedNodeClaim => ({
    ...planned,
    ...defined({ plannedWith: states.get(planned.nodePool) }),
  })
}

/** Reads a NodePool from the API server; undefined when it is gone. It enters the cache at once. */
export async function readPool(
  { client, cache }: Pick<PoolLimitsDeps, 'client' | 'cache'>,
  name: string,
): Promise<NodePool | undefined> {
  const json = await getIfAny(client, resourcePath('nodepools', name))
  if (json === undefined) return undefined
  cache.upsert('NodePool', json)
  return cache.nodePools.get(name)
}

/**
 * Returns the capacity of the pool's nodes, in-flight ones included. Those that leave count only in a static pool, which never has more nodes than its
 * limit (reference/karpenter-core.md 3.16).
 */
function usageOf({ cache }: PoolLimitsDeps, pool: string, without: ReadonlySet<string>): Resources {
  const isStatic = cache.nodePools.get(pool)?.isStatic === true
  const known = stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] })
  const own = known.filter(
    (one) =>
      labelsOf(one)[labels.nodePool] === pool &&
      (isStatic || !isLeaving(one.claim, one.node)) &&
      !without.has(one.claim?.metadata.name ?? ''),
  )
  return mergeResources(...own.map(capacityOf), { nodes: integerQuantity(own.length) })
}
