import { evictionBlockedBy } from '../../../../core/disruption/budgets/pod-disruption-budgets.ts'
import type { DisruptionView } from '../../../../core/disruption/candidates.ts'
import type { Node, Pod } from '../../../../core/objects.ts'
import { hasDoNotDisrupt, isActive } from '../../../../core/pods/pod-rules.ts'
import { annotations } from '../../../../core/requirements/labels.ts'
import { autoscalerAnnotations } from '../cluster/read.ts'
import type { ReadyCluster } from './pass.ts'

/** Something that keeps nodes, and what these cost. */
export interface Holder {
  readonly kind: 'PodDisruptionBudget' | 'pod annotation' | 'node annotation'
  /** `namespace/name` of a PodDisruptionBudget or of the pods' owner; empty for nodes. */
  readonly name: string
  /** Key of the annotation. */
  readonly annotation?: string
  readonly nodes: number
  /** Names of the first few. */
  readonly firstNodes: readonly string[]
  /** USD an hour of these nodes: the most that it can cost. */
  readonly perHour: number
  /** USD an hour of the nodes that nothing else keeps. */
  readonly alonePerHour: number
}

const mostNames = 5

interface Found extends Pick<Holder, 'kind' | 'name' | 'annotation'> {}

/** Returns what keeps nodes that Joiner may disrupt, the most expensive first. */
export function holdersOf({ view, priceOf }: ReadyCluster): readonly Holder[] {
  const found = new Map<string, Holder & { readonly nodesByName: Map<string, number>; alone: number }>()
  for (const { node, claim } of view.nodes) {
    if (node === undefined || claim === undefined) continue
    const price = priceOf(node) ?? 0
    const own = new Map(holdersOn(node, view).map((one) => [JSON.stringify(one), one]))
    for (const [key, one] of own) {
      const known = found.get(key) ?? {
        ...one,
        nodes: 0,
        firstNodes: [],
        perHour: 0,
        alonePerHour: 0,
        nodesByName: new Map(),
        alone: 0,
      }
      known.nodesByName.set(node.metadata.name, price)
      if (own.size === 1) known.alone += price
      found.set(key, known)
    }
  }
  return [...found.values()]
    .map(({ nodesByName, alone, ...one }) => ({
      ...one,
      nodes: nodesByName.size,
      firstNodes: [...nodesByName.keys()].slice(0, mostNames),
      perHour: [...nodesByName.values()].reduce((sum, price) => sum + price, 0),
      alonePerHour: alone,
    }))
    .toSorted((a, b) => b.perHour - a.perHour || b.nodes - a.nodes)
}

function holdersOn(node: Node, { podsOn, podDisruptionBudgets, now }: DisruptionView): readonly Found[] {
  return [
    ...nodeAnnotations(node),
    ...podsOn(node.metadata.name).flatMap((pod) => [...podAnnotations(pod, now), ...budgets(pod)]),
  ]

  function budgets(pod: Pod): readonly Found[] {
    const blocked = evictionBlockedBy(pod, podDisruptionBudgets, now)
    return (blocked?.podDisruptionBudgets ?? []).map((name) => ({ kind: 'PodDisruptionBudget', name }))
  }
}

function nodeAnnotations({ metadata }: Node): readonly Found[] {
  const own = metadata.annotations
  if (own[autoscalerAnnotations.scaleDownDisabled] === 'true')
    return [{ kind: 'node annotation', name: '', annotation: autoscalerAnnotations.scaleDownDisabled }]
  return own[annotations.doNotDisrupt] === 'true'
    ? [{ kind: 'node annotation', name: '', annotation: annotations.doNotDisrupt }]
    : []
}

function podAnnotations(pod: Pod, now: number): readonly Found[] {
  if (!isActive(pod) || !hasDoNotDisrupt(pod, now)) return []
  const isAutoscalers = pod.metadata.annotations[autoscalerAnnotations.safeToEvict] === 'false'
  const annotation = isAutoscalers ? autoscalerAnnotations.safeToEvict : annotations.doNotDisrupt
  return [{ kind: 'pod annotation', name: ownerName(pod), annotation }]
}

/** Pods of one controller are named by it. */
function ownerName({ metadata }: Pod): string {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true)
  return `${metadata.namespace ?? 'default'}/${owner === undefined ? metadata.name : `${owner.kind} ${owner.name}`}`
}
