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
    const seconds = (version * 7919) % 2_592_000
    const born = new Date(Date.parse(now) - seconds * 1000).toISOString().replace('.000', '')
    const own = { uid: `${kind}/${String(metadata['name'])}`, creationTimestamp: now, ...namespace, ...metadata }
    const served = {
      ...object,
      metadata: { ...own, ...(kind === 'Pod' && { creationTimestamp: born }), resourceVersion: String(version) },
    }
    if (kind === 'Pod') cache.upsert(kind, parsedAgain(podOf(served, born)))
    else if (kind === 'NodePool') cache.upsert(kind, { ...served, status: { conditions: [condition('Ready', now)] } })
    else cache.upsert(kind, served)
  }
}

/** As an answer of the API server: nothing is the same object as in another. */
function parsedAgain(object: Json): Json {
  return JSON.parse(JSON.stringify(object)) as Json
}

const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }
const condition = (type: string, lastTransitionTime: string) => ({
  type,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime,
})
const later = (time: string) => new Date(Date.parse(time) + 3000).toISOString().replace('.000', '')
const bySeconds = (key: string) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })
const defaultTolerations = [
  bySeconds('node.kubernetes.io/not-ready'),
  bySeconds('node.kubernetes.io/unreachable'),
] as const
const kubeletConditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled']

/** A pod of a ReplicaSet, as the API server and a kubelet complete it. */
function podOf({ metadata, spec, status, ...rest }: Json, born: string): Json {
  const { labels } = metadata as { readonly labels?: Readonly<Record<string, string>> }
  const app = labels?.['app'] ?? 'wide'
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-6f5d7c9b4`, uid: `uid-of-${app}` }
  const { nodeName } = spec as { readonly nodeName?: string }
  const phase =
    nodeName === undefined
      ? { phase: 'Pending', conditions: [unschedulable] }
      : {
          phase: 'Running',
          startTime: born,
          conditions: kubeletConditions.map((type) => condition(type, /eady/.test(type) ? later(born) : born)),
        }
  return {
    ...rest,
    metadata: {
      ...(metadata as Json),
      labels: { ...labels, 'pod-template-hash': '6f5d7c9b4' },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: { tolerations: defaultTolerations, terminationGracePeriodSeconds: 30, ...(spec as Json) },
    status: { ...phase, ...(status as Json | undefined) },
  }
}
