import { Histogram, type Registry, Summary } from 'prom-client'
import { conditionOf, isTrue } from '../../core/conditions.ts'
import type { Pod } from '../../core/objects.ts'
import { isTerminal, neverRuns } from '../../core/pods/pod-rules.ts'
import { durationBuckets, summaryQuantiles } from './buckets.ts'
import { type GaugeFamily, labelPairs, labelText } from './gauge-family.ts'

/** Names and metrics of one kind of wait. */
interface Wait {
  /** The condition that ends it. */
  readonly condition: 'PodScheduled' | 'Ready'
  readonly gauge: { readonly name: string; readonly help: string }
  readonly ended: (pod: Pod, seconds: number) => void
  readonly pairs: (pod: Pod) => string
}

/**
 * Waits of pods that this process has seen waiting: for a node, and for being ready. A wait that ends is recorded once, by the time of the
 * condition that ends it. A wait that goes on is a gauge.
 */
export class PodWaits {
  readonly #wait: Wait
  readonly #since: (pod: Pod) => number | undefined
  readonly #now: () => number
  readonly #waiting = new Map<string, Pod>()

  /** `since` returns the start of a pod's wait in epoch ms; undefined before it starts. */
  constructor(wait: Wait, { since, now }: { since: (pod: Pod) => number | undefined; now: () => number }) {
    this.#wait = wait
    this.#since = since
    this.#now = now
  }

  /** Records a change of a pod; called for each. */
  changed(before: Pod | undefined, after: Pod | undefined): void {
    const uid = (after ?? before)?.metadata.uid
    if (uid === undefined) return
    if (after === undefined || isTerminal(after) || neverRuns(after)) {
      this.#waiting.delete(uid)
      return
    }
    const ended = conditionOf(after.conditions, this.#wait.condition)
    if (ended?.status !== 'True') {
      // A pod that ran before it was seen, and is not ready at the moment, is not starting.
      if (after.phase === 'Pending' || this.#waiting.has(uid)) this.#waiting.set(uid, after)
      return
    }
    if (!this.#waiting.delete(uid)) return
    const since = this.#since(after)
    if (since === undefined || ended.lastTransitionTime === undefined) return
    this.#wait.ended(after, Math.max(0, (Date.parse(ended.lastTransitionTime) - since) / 1000))
  }

  family(): GaugeFamily {
    const { gauge, pairs } = this.#wait
    const [waiting, since, now] = [this.#waiting, this.#since, this.#now]
    return {
      ...gauge,
      *samples() {
        for (const pod of waiting.values()) {
          const start = since(pod)
          if (start !== undefined) yield [labelText(pairs(pod)), (now() - start) / 1000] as const
        }
      },
    }
  }
}

const pairs = ({ metadata: { name, namespace = '' } }: Pod) => labelPairs({ name, namespace })
const dynamicResources = ({ resourceClaims }: Pod) => String(resourceClaims.length > 0)
const pairsWithResources = (pod: Pod) => labelPairs({ ...nameOf(pod), dynamic_resources: dynamicResources(pod) })
const nameOf = ({ metadata: { name, namespace = '' } }: Pod) => ({ name, namespace })

/** Waits from the creation of pods. `isReported`: whether this process reports what has ended. */
export function waitsFromCreation(
  { now, isReported }: { readonly now: () => number; readonly isReported: () => boolean },
  registry: Registry,
): readonly PodWaits[] {
  const bound = new Histogram({
    name: 'karpenter_pods_bound_duration_seconds',
    help: 'Time from the creation of a pod to its binding.',
    labelNames: ['dynamic_resources'],
    buckets: durationBuckets,
    registers: [registry],
  })
  const startup = new Summary({
    name: 'karpenter_pods_startup_duration_seconds',
    help: 'Time from the creation of a pod to its being ready.',
    percentiles: summaryQuantiles,
    maxAgeSeconds: 600,
    ageBuckets: 5,
    registers: [registry],
  })
  const from = { since: ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp), now }
  return [
    new PodWaits(
      {
        condition: 'PodScheduled',
        gauge: {
          name: 'karpenter_pods_unbound_time_seconds',
          help: 'Time since the creation of a pod that is not bound.',
        },
        ended: (pod, seconds) => isReported() && bound.observe({ dynamic_resources: dynamicResources(pod) }, seconds),
        pairs: pairsWithResources,
      },
      from,
    ),
    new PodWaits(
      {
        condition: 'Ready',
        gauge: {
          name: 'karpenter_pods_unstarted_time_seconds',
          help: 'Time since the creation of a pod that is not ready yet.',
        },
        ended: (_pod, seconds) => isReported() && startup.observe(seconds),
        pairs,
      },
      from,
    ),
  ]
}

/** Waits from the first plan that had a place for a pod. `plannedAt` returns epoch ms. */
export function waitsFromPlan(
  { now, plannedAt }: { readonly now: () => number; readonly plannedAt: (pod: Pod) => number | undefined },
  registry: Registry,
): readonly PodWaits[] {
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Histogram({ name, help, labelNames, buckets: durationBuckets, registers: [registry] })
  const bound = histogram(
    'karpenter_pods_provisioning_bound_duration_seconds',
    'Time from the first plan that had a place for a pod to its binding.',
    ['dynamic_resources'],
  )
  const startup = histogram(
    'karpenter_pods_provisioning_startup_duration_seconds',
    'Time from the first plan that had a place for a pod to its being ready.',
    [],
  )
  const from = { since: plannedAt, now }
  return [
    new PodWaits(
      {
        condition: 'PodScheduled',
        gauge: {
          name: 'karpenter_pods_provisioning_unbound_time_seconds',
          help: 'Time since the first plan that had a place for a pod that is not bound.',
        },
        ended: (pod, seconds) => bound.observe({ dynamic_resources: dynamicResources(pod) }, seconds),
        pairs: pairsWithResources,
      },
      from,
    ),
    new PodWaits(
      {
        condition: 'Ready',
        gauge: {
          name: 'karpenter_pods_provisioning_unstarted_time_seconds',
          help: 'Time since the first plan that had a place for a pod that is not ready yet.',
        },
        ended: (_pod, seconds) => startup.observe(seconds),
        pairs,
      },
      from,
    ),
  ]
}

/** Returns whether a pod's start is complete or will never be, with nothing left to report. */
export function hasStarted(pod: Pod): boolean {
  return isTerminal(pod) || neverRuns(pod) || isTrue(pod.conditions, 'Ready')
}
