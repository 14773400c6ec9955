import type { Pod } from '../../../../../core/objects.ts'
import { subtractResources } from '../../../../../core/resources.ts'
import { untolerated } from '../../../../../core/taints.ts'
import { decimalText } from '../../../../../core/values/quantity.ts'
import { meetsTerm } from './node-affinity.ts'
import type { Place, Places } from './places.ts'
import { countsOf, inDomain, isMeant } from './topology.ts'

const weights = { taints: 3, nodeAffinity: 2, spread: 2, podAffinity: 2, free: 1 } as const

/** Returns the best of several places: that which kube-scheduler's scores prefer, by name where they are equal. */
export function bestOf(pod: Pod, among: readonly Place[], places: Places): Place | undefined {
  const scores = {
    taints: among.map((place) => -untolerated(place.node.taints, pod.tolerations).length),
    nodeAffinity: among.map((place) => preferredNode(pod, place)),
    spread: spreadScores(pod, among, places),
    podAffinity: among.map((place) => preferredCompany(pod, place, places)),
    free: among.map((place) => freeShare(pod, place)),
  }
  const totals = among.map((_, at) =>
    (Object.keys(weights) as (keyof typeof weights)[]).reduce(
      (total, name) =>
        total + weights[name] * (name === 'free' ? 100 * (scores.free[at] ?? 0) : share(scores[name], at)),
      0,
    ),
  )
  return among[totals.indexOf(Math.max(...totals))]
}

/** From 0 for the least of several to 100 for the most. */
function share(all: readonly number[], at: number): number {
  const [least, most] = [Math.min(...all), Math.max(...all)]
  return most === least ? 0 : (100 * ((all[at] ?? 0) - least)) / (most - least)
}

/** How much of a place would be left. */
function freeShare(pod: Pod, { node, free }: Place): number {
  const left = subtractResources(free, pod.requests)
  const shares = ['cpu', 'memory'].map((name) => {
    const [all, rest] = [node.allocatable[name], left[name]].map((amount) =>
      amount === undefined ? 0 : Number(decimalText(amount)),
    )
    return all === undefined || all === 0 ? 0 : Math.max(0, rest ?? 0) / all
  })
  return shares.reduce((sum, one) => sum + one, 0) / shares.length
}

function preferredNode({ affinity }: Pod, { node }: Place): number {
  const terms = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return terms.filter(({ preference }) => meetsTerm(preference, node)).reduce((sum, { weight }) => sum + weight, 0)
}

function preferredCompany(pod: Pod, place: Place, places: Places): number {
  const { podAffinity, podAntiAffinity } = pod.affinity ?? {}
  const sum = (terms: typeof podAffinity) =>
    (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).reduce(
      (total, { weight, podAffinityTerm }) =>
        total +
        weight *
          inDomain(place, podAffinityTerm, places).filter((one) => isMeant(pod, podAffinityTerm, one, places)).length,
      0,
    )
  return sum(podAffinity) - sum(podAntiAffinity)
}

/** Fewer pods of the same kind in the domain are better: by the pod's own constraints, or else by those that clusters have for all. */
function spreadScores(pod: Pod, among: readonly Place[], { all }: Places): readonly number[] {
  const own = pod.topologySpreadConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway')
  const isOwned = pod.metadata.ownerReferences.length > 0
  const constraints = own.length > 0 || !isOwned || pod.topologySpreadConstraints.length > 0 ? own : defaults(pod)
  const counts = constraints.map((constraint) => countsOf(pod, constraint, all))
  return among.map(
    ({ node }) =>
      -constraints.reduce(
        (sum, { topologyKey }, at) => sum + (counts[at]?.get(node.metadata.labels[topologyKey] ?? '') ?? 0),
        0,
      ),
  )
}

const defaults = ({ metadata }: Pod) =>
  ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    topologyKey,
    maxSkew: 3,
    whenUnsatisfiable: 'ScheduleAnyway' as const,
    labelSelector: { matchLabels: metadata.labels },
  }))
