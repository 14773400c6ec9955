import { Counter, Histogram, type Registry } from 'prom-client'
import type { NodeClass } from '../../api/objects.ts'
import type { CapacityBuffer } from '../../core/capacity-buffer/capacity-buffer.ts'
import { conditionOf } from '../../core/conditions.ts'
import type { Condition, Node, NodeClaim, NodePool } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { doublingBuckets } from './buckets.ts'
import { type GaugeFamily, labelPairs, labelText } from './gauge-family.ts'

type Conditioned = NodeClaim | NodePool | NodeClass | Node | CapacityBuffer

/** A kind whose conditions and terminations are published, under the names of AWS' operatorpkg, which Karpenter uses. */
interface ConditionedKind {
  readonly kind: Conditioned['kind']
  /** API group, for the older names, which distinguish kinds by labels. Unset where the kind has no older names. */
  readonly group?: string
  /** Labels of the object that its series carry. */
  readonly labelKeys: readonly string[]
}

/** The kinds of upstream (reference/karpenter-core.md 6.1; AKSNodeClass: reference/azure-provider.md 1). */
const conditionedKinds: readonly ConditionedKind[] = [
  { kind: 'NodeClaim', group: 'karpenter.sh', labelKeys: [labels.nodeClass, labels.nodePool] },
  { kind: 'NodePool', group: 'karpenter.sh', labelKeys: [] },
  { kind: 'Node', labelKeys: [labels.nodeClass, labels.nodePool, labels.initialized] },
  { kind: 'AKSNodeClass', labelKeys: [] },
  { kind: 'CapacityBuffer', group: 'autoscaling.x-k8s.io', labelKeys: [] },
]

/** `karpenter.sh/nodepool` as `karpenter_sh_nodepool`. */
const metricLabel = (key: string) => key.replaceAll(/[/.-]/g, '_')

/** A metric name prefix of a kind, with the labels that identify the object. */
interface Naming {
  readonly prefix: string
  readonly labelsOf: (object: Conditioned) => Readonly<Record<string, string>>
  readonly labelNames: readonly string[]
}

function namingsOf({ kind, group, labelKeys }: ConditionedKind): readonly Naming[] {
  const own: Naming = {
    prefix: `operator_${kind.toLowerCase()}`,
    labelsOf: ({ metadata }) =>
      Object.fromEntries(labelKeys.map((key) => [metricLabel(key), metadata.labels[key] ?? ''])),
    labelNames: labelKeys.map(metricLabel),
  }
  if (group === undefined) return [own]
  return [own, { prefix: 'operator', labelsOf: () => ({ group, kind }), labelNames: ['group', 'kind'] }]
}

type Objects = (kind: Conditioned['kind']) => Iterable<Conditioned>

/** The gauges of conditions and of objects that are being deleted. `now` is in epoch ms. */
export function conditionGauges(objects: Objects, now: () => number): readonly GaugeFamily[] {
  const byPrefix = Map.groupBy(
    conditionedKinds.flatMap((of) => namingsOf(of).map((naming) => ({ kind: of.kind, naming }))),
    ({ naming }) => naming.prefix,
  )
  return [...byPrefix].flatMap(([prefix, sources]) => {
    const perCondition = (name: string, help: string, value: (condition: Condition) => number): GaugeFamily => ({
      name: `${prefix}_status_condition_${name}`,
      help,
      *samples() {
        for (const { kind, naming } of sources)
          for (const object of objects(kind)) {
            const own = labelPairs({ name: object.metadata.name, ...naming.labelsOf(object) })
            for (const condition of conditionsOf(object))
              yield [labelText(own, conditionPairs(condition)), value(condition)] as const
          }
      },
    })
    return [
      perCondition('count', 'A condition of an object, with its status and reason as labels.', () => 1),
      perCondition(
        'current_status_seconds',
        'Time for which a condition has had its status.',
        ({ lastTransitionTime }) =>
          lastTransitionTime === undefined ? 0 : (now() - Date.parse(lastTransitionTime)) / 1000,
      ),
      {
        name: `${prefix}_termination_current_time_seconds`,
        help: 'Time since the deletion of an object was asked for.',
        *samples() {
          for (const { kind, naming } of sources)
            for (const object of objects(kind)) {
              const { name, deletionTimestamp } = object.metadata
              if (deletionTimestamp === undefined) continue
              const own = labelPairs({ name, ...naming.labelsOf(object) })
              yield [labelText(own), (now() - Date.parse(deletionTimestamp)) / 1000] as const
            }
        },
      },
    ]
  })
}

function conditionPairs({ type, status, reason }: Condition): string {
  return labelPairs({ type, status, reason })
}

function conditionsOf(object: Conditioned): readonly Condition[] {
  return 'status' in object ? object.status.conditions : object.conditions
}

/** Called for each change of an object; the second argument is undefined when it is gone. */
type Reported = (before: Conditioned | undefined, after: Conditioned | undefined) => void

/** Counts and measures transitions of conditions and ends of objects. Returns the listener for the changes of a kind. */
export function conditionTransitions(now: () => number, registry: Registry): (kind: string) => Reported | undefined {
  const metrics = new Map<string, ReturnType<typeof transitionMetrics>>()
  const reported = new Map<string, Reported>()
  for (const of of conditionedKinds) {
    const namings = namingsOf(of).map((naming) => {
      const made = metrics.get(naming.prefix) ?? transitionMetrics(naming, registry)
      metrics.set(naming.prefix, made)
      return { naming, metrics: made }
    })
    reported.set(of.kind, (before, after) => {
      for (const { naming, metrics: to } of namings) record(to, naming, { before, after, nowMs: now() })
    })
  }
  return (kind) => reported.get(kind)
}

function record(
  { transitions, seconds, termination }: ReturnType<typeof transitionMetrics>,
  { labelsOf }: Naming,
  change: { readonly before: Conditioned | undefined; readonly after: Conditioned | undefined; readonly nowMs: number },
): void {
  const { before, after, nowMs } = change
  if (after === undefined) {
    const deleted = before?.metadata.deletionTimestamp
    if (before !== undefined && deleted !== undefined)
      termination.observe(labelsOf(before), (nowMs - Date.parse(deleted)) / 1000)
    return
  }
  const earlier = before === undefined ? [] : conditionsOf(before)
  for (const { type, status, reason = '', lastTransitionTime } of conditionsOf(after)) {
    const was = conditionOf(earlier, type)
    if (was?.status === status) continue
    transitions.inc({ type, status, reason, ...labelsOf(after) })
    if (was?.lastTransitionTime === undefined || lastTransitionTime === undefined) continue
    const lasted = (Date.parse(lastTransitionTime) - Date.parse(was.lastTransitionTime)) / 1000
    seconds.observe({ type, status: was.status, to_status: status, ...labelsOf(after) }, lasted)
  }
}

function transitionMetrics({ prefix, labelNames }: Naming, registry: Registry) {
  const registers = [registry]
  // Half a second to a little over two hours.
  const buckets = doublingBuckets(0.5, 15)
  return {
    transitions: new Counter({
      name: `${prefix}_status_condition_transitions_total`,
      help: 'Changes of the status of a condition.',
      labelNames: ['type', 'status', 'reason', ...labelNames],
      registers,
    }),
    seconds: new Histogram({
      name: `${prefix}_status_condition_transition_seconds`,
      help: 'Time for which a condition had its status before it changed.',
      labelNames: ['type', 'status', 'to_status', ...labelNames],
      buckets,
      registers,
    }),
    termination: new Histogram({
      name: `${prefix}_termination_duration_seconds`,
      help: 'Time from the deletion of an object being asked for to its end.',
      labelNames: [...labelNames],
      buckets,
      registers,
    }),
  }
}
