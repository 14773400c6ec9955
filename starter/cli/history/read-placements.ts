import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isForbidden } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { workloadOf } from '../../../core/pods/workload-of.ts'
import { withCluster } from '../access/cluster.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import { isNamedAfter, isWorkload, type Placement, type WorkloadName } from './workload.ts'

interface EventJson {
  readonly message?: string
  readonly involvedObject?: { readonly name?: string }
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

/** Where pods of a workload run, and where the scheduler's events say that others ran. Errors: the API server's. */
export function readPlacements(options: ConnectionOptions, workload: WorkloadName): Promise<readonly Placement[]> {
  return withCluster(options, async (client) => {
    const [pods, events] = await Promise.all([
      client.list(resourcePath('pods', undefined, workload.namespace)),
      scheduledEvents(client, workload.namespace),
    ])
    const scheduled = new Map(events.filter(({ pod }) => isNamedAfter(pod, workload)).map((each) => [each.pod, each]))
    const existing = pods.items.map((item) => decodePod(item))
    const present = existing
      .filter((pod) => pod.nodeName !== undefined && isWorkload(workloadOf(pod), workload))
      .map(({ metadata: { name }, nodeName: node = '' }): Placement => {
        const atMs = scheduled.get(name)?.atMs
        return { pod: name, node, exists: true, ...(atMs === undefined ? {} : { atMs }) }
      })
    const known = new Set(existing.map(({ metadata }) => metadata.name))
    return [...present, ...[...scheduled.values()].filter(({ pod }) => !known.has(pod))]
  })
}

/** Errors: the API server's, unless the caller may not read events, of which a note is printed. */
async function scheduledEvents(client: KubernetesClient, namespace: string): Promise<readonly Placement[]> {
  const fieldSelector = 'reason=Scheduled,involvedObject.kind=Pod'
  try {
    const { items } = await client.list(resourcePath('events', undefined, namespace), { fieldSelector })
    return items.flatMap(placementOf)
  } catch (error) {
    if (!isForbidden(error)) throw error
    console.error('note: pods that are gone are missing here: you may not read events (kubectl auth can-i list events)')
    return []
  }
}

function placementOf(item: Json): readonly Placement[] {
  const { message = '', involvedObject, lastTimestamp, eventTime } = item as EventJson
  const [, node] = /^Successfully assigned \S+ to (\S+)$/.exec(message) ?? []
  const pod = involvedObject?.name
  const atMs = Date.parse(lastTimestamp ?? eventTime ?? '')
  if (node === undefined || pod === undefined || Number.isNaN(atMs)) return []
  return [{ pod, node, atMs, exists: false }]
}
