import { pauseOf } from '../abortable-wait.ts'
import type { ReconcileMetrics } from '../telemetry/reconcile-metrics.ts'
import { Fence, FenceLostError } from './fence.ts'
import { type NextProvisioningDeps, nextProvisioning } from './next-provisioning.ts'

/** How long a pause is believed before it is read again. A resume takes effect within it. */
const pausedMs = 1000
/** Pause after the first failure; each next one in a row is half as long again, up to the longest. */
const retryMs = 500
const longestRetryMs = 10_000
/** Longer than the planner takes to see that another process has its Lease: two would take the fence from each other. */
const fenceLostMs = 2500

export interface ProvisioningProcess {
  readonly deps: NextProvisioningDeps
  readonly reconciles: ReconcileMetrics
  /** Fires when another process plans, or this one ends. */
  readonly signal: AbortSignal
}

/**
 * Provisions for as long as this process is the planner: plans pods that wait and creates NodeClaims, with Temporal there or not. What guards its writes
 * are the fence and the pauses, both in the cluster (docs/adr/0048-work-goes-on-while-temporal-is-away.md). A failure is logged, and the work begins anew
 * behind a new fence.
 */
export async function provision({ deps, reconciles, signal }: ProvisioningProcess): Promise<void> {
  let failures = 0
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const fence = await begin(deps, attempt, signal)
      while (!signal.aborted) {
        const measured = { activity: 'nextProvisioning', slots: 1, isCancelled: () => signal.aborted }
        const outcome = await reconciles.measure(measured, () => nextProvisioning(deps, fence, signal))
        failures = 0
        if (outcome === 'paused') await pauseOf(pausedMs, signal)
      }
    } catch (error) {
      if (signal.aborted) return
      const isLost = error instanceof FenceLostError
      deps.log[isLost ? 'info' : 'warn']({ err: error }, 'provisioning was interrupted, and begins anew')
      const delayMs = Math.min(retryMs * 1.5 ** failures, longestRetryMs)
      failures += 1
      await pauseOf(isLost ? fenceLostMs : delayMs, signal)
    }
  }
}

/** Takes the fence, and reads what an earlier planner may have written: a claim that is not known would be created twice. */
async function begin(deps: NextProvisioningDeps, attempt: number, signal: AbortSignal): Promise<Fence> {
  await deps.cache.synced()
  const scope = { attemptId: `provisioning/${attempt}`, isFirst: false }
  const fence = await Fence.take(deps, 'joiner-planner-fence', scope)
  await Promise.all([deps.cache.catchUp(['NodeClaim', 'Node'], signal), deps.cache.catchUpUnboundPods(signal)])
  return fence
}
