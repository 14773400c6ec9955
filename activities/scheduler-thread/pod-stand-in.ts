import type { Pod } from '../../core/objects.ts'
import { annotations } from '../../core/requirements/labels.ts'

/** A pod that fills its node, keeps it from being disrupted, and asks nothing of other nodes. */
export function standIn(pod: Pod): Pod {
  const { affinity: _, metadata, ...rest } = pod
  return {
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.doNotDisrupt]: 'true' } },
    nodeSelector: {},
    tolerations: [],
    topologySpreadConstraints: [],
    hostPorts: [],
    persistentVolumeClaims: [],
    resourceClaims: [],
  }
}
