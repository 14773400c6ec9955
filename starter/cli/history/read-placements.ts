import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { workloadOf } from '../../../core/pods/workload-of.ts'
import { Adornments, type Missing } from '../../picture/missing.ts'
import { withCluster } from '../access/cluster.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import { isNamedAfter, isWorkload, type Placement, type WorkloadName } from './workload.ts'

interface EventJson {
  readonly message?: string
  readonly involvedObject?: { readonly name?: string }
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

export interface Placements {
  readonly placements: readonly Placement[]
  /** The events of the scheduler, where they could not be read: pods that are gone are missing. */
  readonly missing: readonly Missing[]
}

/** Where pods of a workload run, and where the scheduler's events say that others ran. Errors: the API server's, but for events. */
export function readPlacements(options: ConnectionOptions, workload: WorkloadName): Promise<Placements> {
  return withCluster(options, async (client) => {
    const sources = new Adornments()
    const [pods, events = []] = await Promise.all([
      client.list(resourcePath('pods', undefined, workload.namespace)),
      sources.read('events', scheduledEvents(client, workload.namespace)),
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
    const placements = [...present, ...[...scheduled.values()].filter(({ pod }) => !known.has(pod))]
    return { placements, missing: sources.missing }
  })
}

async function scheduledEvents(client: KubernetesClient, namespace: string): Promise<readonly Placement[]> {
  const fieldSelector = 'reason=Scheduled,involvedObject.kind=Pod'
  const { items } = await client.list(resourcePath('events', undefined, namespace), { fieldSelector })
  return items.flatMap(placementOf)
}

function placementOf(item: Json): readonly Placement[] {
  const { message = '', involvedObject, lastTimestamp, eventTime } = item as EventJson
  const [, node] = /^Successfully assigned \S+ to (\S+)$/.exec(message) ?? []
  const pod = involvedObject?.name
  const atMs = Date.parse(lastTimestamp ?? eventTime ?? '')
  if (node === undefined || pod === undefined || Number.isNaN(atMs)) return []
  return [{ pod, node, atMs, exists: false }]
}
