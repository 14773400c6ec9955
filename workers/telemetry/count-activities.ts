import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import type { ReconcileMetrics } from '../../activities/telemetry/reconcile-metrics.ts'

/** Returns the interceptor that counts the attempts of a worker's activities. `slots`: how many it runs at once. */
export function countActivities(metrics: ReconcileMetrics, slots: number): ActivityInterceptorsFactory {
  return ({ info: { activityType: activity }, cancellationSignal }) => ({
    inbound: {
      execute: (input, next) =>
        metrics.measure({ activity, slots, isCancelled: () => cancellationSignal.aborted }, () => next(input)),
    },
  })
}
