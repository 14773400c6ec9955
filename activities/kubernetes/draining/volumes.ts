import { blockingVolumeAttachments, staysOnDrainedNode } from '../../../core/node-claim/drain.ts'
import type { Pod } from '../../../core/objects.ts'
import type { VolumeAttachment } from '../../../core/pods/related-objects.ts'
import type { ClusterCache } from '../cache/cluster-cache.ts'
import { isNotFound } from '../client/api-error.ts'
import type { KubernetesClient } from '../client/client.ts'
import { resourcePath } from '../client/resources.ts'

export interface VolumesDeps {
  readonly client: KubernetesClient
  readonly cache: ClusterCache
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Returns the attachments that the VM of drained Nodes waits for. Those of pods that stay on the Nodes go with the VM. */
export async function attachmentsInTheWay(
  deps: VolumesDeps,
  nodeNames: readonly string[],
): Promise<readonly VolumeAttachment[]> {
  const attachments = nodeNames.flatMap((name) => [...deps.cache.volumeAttachments.by('byNode', name)])
  if (attachments.length === 0) return []
  const staying = nodeNames
    .flatMap((name) => [...deps.cache.pods.by('byNode', name)])
    .filter((pod) => staysOnDrainedNode(pod, deps.now()))
  const volumes = await Promise.all(staying.map((pod) => volumesOf(deps, pod)))
  return blockingVolumeAttachments(attachments, new Set(nodeNames), new Set(volumes.flat()))
}

/** Returns the persistent volumes that a pod uses. */
async function volumesOf(deps: VolumesDeps, pod: Pod): Promise<readonly string[]> {
  const names = await Promise.all(
    pod.persistentVolumeClaims.map(async (name) => {
      try {
        const claim = await deps.client.get(resourcePath('persistentvolumeclaims', name, pod.metadata.namespace))
        return (claim['spec'] as { volumeName?: string }).volumeName ?? []
      } catch (error) {
        if (isNotFound(error)) return []
        throw error
      }
    }),
  )
  return names.flat()
}
