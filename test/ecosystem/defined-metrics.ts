import { Registry } from 'prom-client'
import { createArmMetrics } from '../../activities/azure/arm/arm-metrics.ts'
import { observeCapacity } from '../../activities/azure/capacity/capacity-metrics.ts'
import { observeCatalogue } from '../../activities/azure/catalogue/catalogue-metrics.ts'
import { garbageCounter, unprovenGauge, withheldGauges } from '../../activities/azure/garbage/garbage-metrics.ts'
import { vmCreateMetrics } from '../../activities/azure/launch/vm-create-metrics.ts'
import { observeBudgets, observeCommandsInFlight } from '../../activities/disruption/budget-metrics.ts'
import { DisruptionMetrics } from '../../activities/disruption/metrics.ts'
import { Findings } from '../../activities/provisioning/findings/findings.ts'
import { PlanningMetrics } from '../../activities/provisioning/metrics.ts'
import { observeNodePoolCost } from '../../activities/provisioning/node-pool-cost.ts'
import { observePoolOfferings } from '../../activities/provisioning/node-pool-offerings.ts'
import { observeQuarantine } from '../../activities/scheduler-thread/quarantine.ts'
import { bridgeMetrics } from '../../activities/telemetry/bridge-metrics.ts'
import { CloudProviderMetrics } from '../../activities/telemetry/cloud-provider-metrics.ts'
import { conditionGauges, conditionTransitions } from '../../activities/telemetry/condition-metrics.ts'
import { LifecycleMetrics } from '../../activities/telemetry/lifecycle-metrics.ts'
import { nodeGauges } from '../../activities/telemetry/node-gauges.ts'
import { podStates } from '../../activities/telemetry/pod-gauges.ts'
import { waitsFromCreation } from '../../activities/telemetry/pod-waits.ts'
import { ReconcileMetrics } from '../../activities/telemetry/reconcile-metrics.ts'
import { WebhookThread } from '../../workers/conversion/webhook-thread.ts'
import { serverTimeOf } from '../../workers/kubernetes-client.ts'
import { observeProcess } from '../../workers/telemetry/process-metrics.ts'

/** Nothing is asked of what is observed before somebody scrapes. */
const nothing = { onChange() {} } as never
const now = () => 0

/** Returns the names of all metrics that Joiner defines itself, of all roles. Those of Node.js and of Temporal's library are not among them. */
export function definedMetrics(): ReadonlySet<string> {
  const registry = new Registry()
  createArmMetrics(() => new Map(), registry)
  observeCapacity(nothing, registry)
  observeCatalogue({ catalogue: nothing, nodeClasses: () => [], now }, registry)
  garbageCounter(registry)
  unprovenGauge(registry)
  withheldGauges(registry)
  vmCreateMetrics(registry)
  observeBudgets(nothing, { now, isReported: () => true }, registry)
  observeCommandsInFlight(nothing, () => true, registry)
  new DisruptionMetrics(registry).startAtZero()
  const planning = new PlanningMetrics({ cache: nothing, now }, registry)
  observeNodePoolCost(nothing, registry)
  observePoolOfferings(nothing, registry)
  observeQuarantine(() => new Map(), registry)
  bridgeMetrics(now, registry)
  // Each registers its metrics.
  void [
    new CloudProviderMetrics(registry),
    new Findings(now, registry),
    new LifecycleMetrics(now, registry),
    new ReconcileMetrics(registry),
    new WebhookThread({ registry } as never),
    serverTimeOf(nothing, registry),
  ]
  conditionTransitions(now, registry)
  const waits = waitsFromCreation({ now, isReported: () => true }, registry)
  observeProcess(nothing, registry)
  const families = [
    ...planning.families(),
    ...waits.map((wait) => wait.family()),
    ...nodeGauges(nothing, now),
    podStates(nothing),
    ...conditionGauges(() => [], now),
  ]
  return new Set([...registry.getMetricsAsArray(), ...families].map(({ name }) => name))
}
