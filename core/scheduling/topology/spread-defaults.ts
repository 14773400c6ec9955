import type { LabelSelector, Pod, TopologySpreadConstraint } from '../../objects.ts'
import type { PodController, Service } from '../../pods/related-objects.ts'
import { emptyRecord } from '../../values/records.ts'
import { selects } from './label-selector.ts'

export type DefaultSpreadConstraint = Omit<TopologySpreadConstraint, 'labelSelector' | 'matchLabelKeys'>

export interface SpreadDefaults {
  readonly constraints: readonly DefaultSpreadConstraint[]
  readonly services: readonly Service[]
  readonly controllers: readonly PodController[]
}

/**
 * Returns the pod with the cluster's default spread constraints, if it states none and a Service or controller selects it
 * (reference/karpenter-core.md 3.8).
 */
export function withDefaultSpread(pod: Pod, defaults: SpreadDefaults): Pod {
  if (defaults.constraints.length === 0 || pod.topologySpreadConstraints.length > 0) return pod
  const labelSelector = deducedSelector(pod, defaults)
  if (labelSelector === undefined) return pod
  return {
    ...pod,
    topologySpreadConstraints: defaults.constraints.map((constraint) => ({ ...constraint, labelSelector })),
  }
}

/** Combines the selectors of the Services and the controller of a pod, by kube-scheduler's own rule. */
function deducedSelector(pod: Pod, { services, controllers }: SpreadDefaults): LabelSelector | undefined {
  const matchLabels = emptyRecord<string>()
  for (const { metadata, selector } of services) {
    if (metadata.namespace !== pod.metadata.namespace || selector === undefined) continue
    if (selects({ matchLabels: selector }, pod.metadata.labels)) Object.assign(matchLabels, selector)
  }
  const controller = controllerOf(pod, controllers)
  const own = controller?.selector ?? {}
  if (controller?.kind === 'ReplicationController') Object.assign(matchLabels, own.matchLabels)
  const matchExpressions =
    controller === undefined || controller.kind === 'ReplicationController' ? [] : expressionsOf(own)
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return undefined
  return { ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }), matchExpressions }
}

function controllerOf(pod: Pod, controllers: readonly PodController[]): PodController | undefined {
  const owner = pod.metadata.ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return undefined
  return controllers.find(
    ({ kind, metadata }) =>
      kind === owner.kind &&
      owner.apiVersion === (kind === 'ReplicationController' ? 'v1' : 'apps/v1') &&
      metadata.name === owner.name &&
      metadata.namespace === pod.metadata.namespace,
  )
}

function expressionsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector) {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] }))
  return [...equal, ...matchExpressions]
}
