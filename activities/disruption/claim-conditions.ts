import { type ConditionChange, isTrue } from '../../core/conditions.ts'
import { consolidatableAt, isConsolidatable } from '../../core/disruption/consolidatable.ts'
import { type Drift, poolDriftChange } from '../../core/drift/drift.ts'
import { poolDrift, typeCheckAgeMs, typeOfClaim } from '../../core/drift/pool-drift.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import { kubeletConversion } from '../../core/node-class/kubelet-conversion.ts'
import { nodePoolHashVersion } from '../../core/node-pool/node-pool-hash.ts'
import type { NodeClaim, NodePool } from '../../core/objects.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import { azureDriftOf, type DriftDeps } from '../azure/node-class/drift.ts'
import type { AzureParts } from '../azure/parts.ts'
import { forEachOf } from '../concurrency.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import { setClaimConditions } from '../kubernetes/client/object-writes.ts'

export type ClaimConditionsDeps = DriftDeps & Pick<AzureParts, 'catalogue'>

const concurrency = 20

/** A pool as its claims are compared with it. It stays the same object for as long as the comparison would come out the same. */
interface Wanted {
  readonly key: string
  readonly pool: NodePool
}

interface PoolView {
  readonly wanted: Wanted
  /** Types that the pool can buy. Undefined when not known, so that nothing drifts by it. */
  readonly types: readonly InstanceType[] | undefined
}

/** A claim without pending changes, what it was compared with, and until when time alone cannot change that (epoch ms). */
interface Settled {
  readonly wanted: Wanted
  readonly type: InstanceType | 'unknown' | undefined
  readonly untilMs: number
}

const settled = new WeakMap<NodeClaim, Settled>()

interface ClaimChange {
  readonly conditions: readonly ConditionChange[]
  readonly clear: readonly string[]
}

/**
 * Keeps the NodeClaim conditions that disruption reads: Consolidatable, and Drifted as far as NodePools decide it. The pass over node classes
 * keeps what AKSNodeClasses decide. A claim without changes since the last call costs a few comparisons.
 */
export async function keepClaimConditions(deps: ClaimConditionsDeps): Promise<void> {
  const now = deps.now()
  const views = poolViews(deps)
  const due: { readonly claim: NodeClaim; readonly view: PoolView }[] = []
  for (const claim of deps.cache.nodeClaims.values()) {
    if (claim.metadata.deletionTimestamp !== undefined) continue
    const view = views.get(claim.metadata.labels[labels.nodePool] ?? '')
    if (view === undefined || isSettled(claim, view, now)) continue
    if (changeOf(deps, claim, { view, now }) === undefined) settle(claim, view, now)
    else due.push({ claim, view })
  }
  const reported = new Map<string, string[]>()
  const failed: { readonly nodeClaim: string; readonly err: ApiError }[] = []
  await forEachOf(due, concurrency, async ({ claim, view }) => {
    let change: ClaimChange | undefined
    const after = await setClaimConditions(deps, claim.metadata, (current) => {
      change = current.metadata.deletionTimestamp === undefined ? changeOf(deps, current, { view, now }) : undefined
      return change
    }).catch((err: unknown) => {
      // A webhook may refuse one for ever: the others do not wait for it.
      if (!(err instanceof ApiError)) throw err
      failed.push({ nodeClaim: claim.metadata.name, err })
      return undefined
    })
    if (change === undefined || after === undefined) return
    const news = newsOf(change)
    if (news !== undefined) reported.set(news, [...(reported.get(news) ?? []), claim.metadata.name])
  })
  if (failed.length > 0)
    deps.log.warn({ nodeClaims: failed.length, ...failed[0] }, 'failed to write what disruption reads of nodeclaims')
  // One line for a pool that was edited, not one for each of its nodes.
  for (const [news, names] of reported) deps.log.info({ nodeClaims: names.length, first: names.slice(0, 5) }, news)
}

/** Returns what has to be written; undefined for nothing. */
function changeOf(
  deps: ClaimConditionsDeps,
  claim: NodeClaim,
  { view, now }: { readonly view: PoolView; readonly now: number },
): ClaimChange | undefined {
  const { pool } = view.wanted
  const isOpen = isConsolidatable(claim, pool, now)
  const conditions: ConditionChange[] = []
  const clear: string[] = []
  if (isOpen !== isTrue(claim.status.conditions, 'Consolidatable')) {
    if (isOpen) conditions.push({ type: 'Consolidatable', status: 'True' })
    else clear.push('Consolidatable')
  }
  const drift: Drift = poolDrift({ claim, nodePool: pool, instanceTypes: view.types, now })
  const drifted = poolDriftChange(claim, drift, () => azureDriftOf(deps, claim))
  if (drifted !== undefined && 'clear' in drifted) clear.push(...drifted.clear)
  else if (drifted !== undefined) conditions.push(...drifted.conditions)
  return conditions.length + clear.length === 0 ? undefined : { conditions, clear }
}

function newsOf({ conditions, clear }: ClaimChange): string | undefined {
  const drift = conditions.find(({ type }) => type === 'Drifted')
  if (drift !== undefined) return `nodes have drifted, ${drift.reason}: ${drift.message}`
  return clear.includes('Drifted') ? 'nodes are as their NodePool asks for again' : undefined
}

function isSettled(claim: NodeClaim, { wanted, types }: PoolView, now: number): boolean {
  const before = settled.get(claim)
  return (
    before !== undefined && before.wanted === wanted && now < before.untilMs && before.type === typeIn(claim, types)
  )
}

function settle(claim: NodeClaim, { wanted, types }: PoolView, now: number): void {
  const consolidatable = consolidatableAt(claim, wanted.pool) ?? Number.POSITIVE_INFINITY
  const typeCheck = Date.parse(claim.metadata.creationTimestamp) + typeCheckAgeMs + 1
  const upcoming = [consolidatable, typeCheck].filter((time) => time > now)
  settled.set(claim, { wanted, type: typeIn(claim, types), untilMs: Math.min(...upcoming) })
}

const typeIn = (claim: NodeClaim, types: PoolView['types']) =>
  types === undefined ? 'unknown' : typeOfClaim(claim, types)

const lastWanted = new WeakMap<ClaimConditionsDeps['cache'], ReadonlyMap<string, Wanted>>()

function poolViews(deps: ClaimConditionsDeps): ReadonlyMap<string, PoolView> {
  const last = lastWanted.get(deps.cache)
  const views = new Map(
    [...deps.cache.nodePools.values()].map((pool): [string, PoolView] => {
      const { name } = pool.metadata
      const wanted = wantedOf(pool)
      const before = last?.get(name)
      return [name, { wanted: before?.key === wanted.key ? before : wanted, types: buyable(deps, pool) }]
    }),
  )
  lastWanted.set(deps.cache, new Map([...views].map(([name, { wanted }]) => [name, wanted])))
  return views
}

/**
 * Returns the pool with the current hash of its template: its annotation follows an edit a moment later. An annotation of another version is
 * left alone, since its claims have hashes of that version too.
 */
function wantedOf(pool: NodePool): Wanted {
  const { uid, generation, resourceVersion, annotations: own } = pool.metadata
  const version = own[annotations.nodePoolHashVersion]
  const hash =
    version === nodePoolHashVersion
      ? (pool.template.hash ?? own[annotations.nodePoolHash])
      : own[annotations.nodePoolHash]
  const stamps = hash === undefined ? {} : { [annotations.nodePoolHash]: hash }
  return {
    key: JSON.stringify([uid, generation ?? resourceVersion, hash, version]),
    pool: { ...pool, metadata: { ...pool.metadata, annotations: { ...own, ...stamps } } },
  }
}

/**
 * Returns what a pool can buy, whether or not there is room for it. Undefined until sizes are loaded, and where they leave the class nothing
 * at all: nodes are not replaced on doubt.
 */
function buyable(
  { cache, catalogue }: ClaimConditionsDeps,
  { metadata, template }: NodePool,
): readonly InstanceType[] | undefined {
  const nodeClass = cache.nodeClasses.get(template.spec.nodeClassRef.name)
  if (nodeClass === undefined || catalogue.sizes.answer === undefined) return undefined
  const types = catalogue.instanceTypesFor(nodeClass, kubeletConversion(metadata.annotations))
  return types.length === 0 ? undefined : types
}
