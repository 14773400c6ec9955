import { pauseOf } from '../abortable-wait.ts'
import type { ReconcileMetrics } from '../telemetry/reconcile-metrics.ts'
import { Fence } from './fence.ts'
import { keepPlanning } from './keep-planning.ts'
import { type NextProvisioningDeps, nextProvisioning } from './next-provisioning.ts'

/** How long a pause is believed before it is read again. A resume takes effect within it. */
const pausedMs = 1000

export interface ProvisioningProcess {
  readonly deps: NextProvisioningDeps
  readonly reconciles: ReconcileMetrics
  /** Fires when another process plans, or this one ends. */
  readonly signal: AbortSignal
}

/**
 * Provisions for as long as this process is the planner: plans pods that wait and creates NodeClaims, with Temporal there or not. What guards its writes
 * are the fence and the pauses, both in the cluster (docs/adr/0048-work-goes-on-while-temporal-is-away.md).
 */
export async function provision({ deps, reconciles, signal }: ProvisioningProcess): Promise<void> {
  await keepPlanning({ what: 'provisioning', log: deps.log, signal }, async (attempt, wentWell) => {
    const fence = await begin(deps, attempt, signal)
    // An attempt of a process that only then learned that it plans no more may have taken it since.
    const ends = AbortSignal.any([signal, fence.lost])
    let isFirst = true
    while (!signal.aborted) {
      const measured = { activity: 'nextProvisioning', slots: 1, isCancelled: () => signal.aborted }
      const outcome = await reconciles.measure(measured, () => nextProvisioning(deps, fence, { signal: ends, isFirst }))
      wentWell()
      isFirst = false
      if (outcome === 'paused') await pauseOf(pausedMs, signal)
    }
  })
}

/** Takes the fence, and reads what an earlier planner may have written: a claim that is not known would be created twice. */
async function begin(deps: NextProvisioningDeps, attempt: number, signal: AbortSignal): Promise<Fence> {
  await deps.cache.synced()
  const fence = (await Fence.take(deps, 'joiner-planner-fence', `provisioning/${attempt}`)).until(signal)
  await Promise.all([deps.cache.catchUp(['NodeClaim', 'Node'], signal), deps.cache.catchUpUnboundPods(signal)])
  return fence
}
