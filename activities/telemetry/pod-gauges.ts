import { isTrue } from '../../core/conditions.ts'
import type { Node, Pod } from '../../core/objects.ts'
import { type GaugeFamily, labelPairs, labelText } from './gauge-family.ts'
import { type ObservedNodes, placeOf } from './node-gauges.ts'

/** The part of the watch cache that the gauge of pods reads. */
interface ObservedPods extends Pick<ObservedNodes, 'nodeClaims'> {
  readonly pods: { values(): Iterable<Pod> }
  readonly nodes: { get(name: string): Node | undefined }
}

/** Returns a series for each pod, with its place (reference/karpenter-core.md 6.1). */
export function podStates(cluster: ObservedPods): GaugeFamily {
  return {
    name: 'karpenter_pods_state',
    help: 'A pod, with its owner, its node and its phase as labels.',
    *samples() {
      const places = new Map<string, string>()
      for (const pod of cluster.pods.values()) {
        const { nodeName = '' } = pod
        let place = places.get(nodeName)
        if (place === undefined) {
          place = placePairs(cluster, nodeName)
          places.set(nodeName, place)
        }
        yield [labelText(podPairs(pod), place), 1] as const
      }
    },
  }
}

function placePairs(cluster: ObservedPods, nodeName: string): string {
  return labelPairs({ node: nodeName, ...placeOf(cluster, cluster.nodes.get(nodeName)) })
}

function podPairs({ metadata, nodeName, phase, conditions }: Pod): string {
  const { name, namespace = '', ownerReferences } = metadata
  const [owner] = ownerReferences
  return labelPairs({
    name,
    namespace,
    owner: owner && `/apis/${owner.apiVersion}/namespaces/${namespace}/${owner.kind.toLowerCase()}s/${owner.name}`,
    scheduled: String(nodeName !== undefined),
    phase,
    ready: String(isTrue(conditions, 'Ready')),
  })
}
