import { AsyncLocalStorage } from 'node:async_hooks'
import { claimTopic } from '../../kubernetes/cache/change-feed.ts'
import { cachedClaim } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import type { AzureParts } from '../parts.ts'
import type { ArmBudget } from './arm-budget.ts'
import type { ArmBucket } from './arm-limits.ts'

export type ArmTurnDeps = WriteDeps & Pick<AzureParts, 'budget'>

/** Tokens that were taken for one request before its content is known. */
interface Turn {
  readonly buckets: readonly ArmBucket[]
  isUsed: boolean
}

/** The buckets of the request's class, and the longest wait for its turn. */
interface AwaitedTurn {
  readonly buckets: readonly ArmBucket[]
  readonly patienceMs: number
  readonly signal: AbortSignal
}

const turns = new AsyncLocalStorage<Turn>()

/**
 * Runs work that sends one request of a class, once there are tokens for it. So the request's content is decided from the state after the
 * wait, and work that cannot be served sends Azure nothing. Unused tokens are put back. Errors: as `ArmBudget.pass`.
 */
export async function inTurn<T>(
  budget: ArmBudget,
  { buckets, patienceMs, signal }: AwaitedTurn,
  work: () => Promise<T>,
): Promise<T> {
  await budget.pass(buckets, patienceMs, signal)
  const turn: Turn = { buckets, isUsed: false }
  try {
    return await turns.run(turn, work)
  } finally {
    if (!turn.isUsed) budget.giveBack(buckets)
  }
}

/** Uses up the current turn. Returns false when there is none of this class, it is used, or Azure has closed its buckets since. */
export function takeTurn(budget: ArmBudget, buckets: readonly ArmBucket[]): boolean {
  const turn = turns.getStore()
  if (turn === undefined || turn.isUsed || turn.buckets.join() !== buckets.join() || budget.isClosed(buckets))
    return false
  turn.isUsed = true
  return true
}

/** Works like `inTurn`, for a claim: a claim that is deleted meanwhile is `gone`, and waits no longer. */
export async function inTurnWhileWanted<T>(
  deps: ArmTurnDeps,
  ref: ClaimRef,
  { buckets, patienceMs, signal, work, gone }: AwaitedTurn & { readonly work: () => Promise<T>; readonly gone: T },
): Promise<T> {
  const over = new AbortController()
  const unwanted = new AbortController()
  const watch = deps.cache
    .waitFor(
      [claimTopic(ref.name)],
      () => (cachedClaim(deps, ref)?.metadata.deletionTimestamp === undefined ? undefined : true),
      AbortSignal.any([signal, over.signal]),
    )
    .then(
      () => unwanted.abort(new Error(`NodeClaim ${ref.name} is deleted`)),
      () => {},
    )
  let begun = false
  try {
    const awaited = { buckets, patienceMs, signal: AbortSignal.any([signal, unwanted.signal]) }
    return await inTurn(deps.budget, awaited, () => {
      begun = true
      return work()
    })
  } catch (error) {
    if (unwanted.signal.aborted && !begun && !signal.aborted) return gone
    throw error
  } finally {
    over.abort()
    await watch
  }
}
