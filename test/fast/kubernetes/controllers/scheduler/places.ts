import { decodeNode } from '../../../../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../../../activities/kubernetes/client/answers.ts'
import type { LabelSelector, Node, Pod } from '../../../../../core/objects.ts'
import { isTerminal } from '../../../../../core/pods/pod-rules.ts'
import { type Resources, subtractResources } from '../../../../../core/resources.ts'
import { selects } from '../../../../../core/scheduling/topology/label-selector.ts'
import type { ObjectStore } from '../../api/objects.ts'

/** A Node with its pods, while a pass of the scheduler fills it. */
export interface Place {
  readonly node: Node
  readonly pods: Pod[]
  free: Resources
}

/** Everything that a pass looks at. */
export interface Places {
  readonly all: readonly Place[]
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>
}

const pods = new WeakMap<Json, Pod>()
const nodes = new WeakMap<Json, Node>()

function remembered<T>(known: WeakMap<Json, T>, json: Json, decode: (json: Json) => T): T {
  const found = known.get(json) ?? decode(json)
  known.set(json, found)
  return found
}

/** What is stored never changes, so each object is decoded once. */
export const podOf = (json: Json) => remembered(pods, json, decodePod)

export function placesOf(objects: ObjectStore): Places {
  const all = objects.of('nodes').map((json): Place => {
    const node = remembered(nodes, json, decodeNode)
    return { node, pods: [], free: node.allocatable }
  })
  const byName = new Map(all.map((place) => [place.node.metadata.name, place]))
  for (const json of objects.of('pods')) {
    const pod = podOf(json)
    const place = pod.nodeName === undefined || isTerminal(pod) ? undefined : byName.get(pod.nodeName)
    if (place !== undefined) put(place, pod)
  }
  const labelsOf = ({ metadata }: Json) =>
    metadata as { readonly name: string; readonly labels?: Record<string, string> }
  return {
    all: all.sort((a, b) => (a.node.metadata.name < b.node.metadata.name ? -1 : 1)),
    namespaceLabels: new Map(objects.of('namespaces').map((one) => [labelsOf(one).name, labelsOf(one).labels ?? {}])),
  }
}

export function put(place: Place, pod: Pod): void {
  place.pods.push(pod)
  place.free = subtractResources(place.free, pod.requests)
}

export const namespaceOf = ({ metadata }: Pod) => metadata.namespace ?? 'default'

/** Whether a pod is one of a namespace that a selector selects. */
export const isSelected = (pod: Pod, selector: LabelSelector | undefined, namespaces: ReadonlySet<string>) =>
  namespaces.has(namespaceOf(pod)) && selects(selector, pod.metadata.labels)
