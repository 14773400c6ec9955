import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { Scenario } from '../workloads/scenario.ts'

const kinds = ['Pod', 'Node', 'NodeClaim', 'NodePool'] as const

/** Enters objects as the API server would serve them, each time as a new version. */
export function entering(cache: ClusterCache, { now }: Scenario): (object: Json) => void {
  let version = 0
  return (object) => {
    const kind = kinds.find((one) => one === object['kind'])
    if (kind === undefined) throw new Error(`the large cluster has a ${String(object['kind'])}: enter it too`)
    version += 1
    const metadata = object['metadata'] as Json
    const namespace = kind === 'Pod' ? { namespace: 'default' } : {}
    const own = { uid: `${kind}/${String(metadata['name'])}`, creationTimestamp: now, ...namespace, ...metadata }
    cache.upsert(kind, { ...object, metadata: { ...own, resourceVersion: String(version) }, ...statusOf(kind, object) })
  }
}

const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }

function statusOf(kind: (typeof kinds)[number], { spec, status }: Json): Json {
  if (kind === 'NodePool') return { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
  if (kind !== 'Pod') return {}
  if ((spec as Json)['nodeName'] !== undefined) return { status: { phase: 'Running', ...(status as Json | undefined) } }
  return { status: { phase: 'Pending', conditions: [unschedulable] } }
}
