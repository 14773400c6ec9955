import { decodeMeta } from '../../../activities/kubernetes/cache/decode-meta.ts'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import { isForbidden } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { similarName } from '../../../api/rules/similar-name.ts'
import { podName, workloadOf } from '../../../core/pods/pod-rules.ts'
import { note } from '../../document/print.ts'
import { few } from '../../document/words.ts'
import { listed } from '../../picture/from-cluster.ts'
import { readWhole, type Scene } from '../../picture/picture.ts'

/** What was looked for and is not there. `namespace`: of pods. */
export interface LookedFor {
  readonly name: string
  readonly kinds: readonly ResourceName[]
  readonly namespace?: string
}

/** Returns a pod of the workload of that name: one that waits for a node before others. Which it is, is noted. */
export async function podOfWorkload(scene: Scene, namespace: string, workload: string): Promise<string | undefined> {
  const { pods } = await readWhole(scene, { pods: listed('pods', decodePod, { namespace }) })
  const own = pods.filter((pod) => workloadOf(pod).split('/')[2] === workload)
  const chosen = own.find(({ nodeName }) => nodeName === undefined) ?? own[0]
  if (chosen === undefined) return undefined
  const others = own.filter((one) => one !== chosen).map(({ metadata }) => metadata.name)
  const rest = others.length === 0 ? '' : `; others of "${workload}": ${few(others, 5)}`
  note(`note: this is ${podName(chosen)}${chosen.nodeName === undefined ? ', which waits for a node' : ''}${rest}`)
  return chosen.metadata.name
}

/** Says that there is no such object, which one may be meant, and how to list them. Errors: the API server's. */
export async function missingText(client: KubernetesClient, { name, kinds, namespace }: LookedFor): Promise<string> {
  const isOfPods = kinds.includes('pods')
  const given = kinds.length === 1 && isOfPods ? `${namespace}/${name}` : name
  const [elsewhere, ...lists] = await Promise.all([
    isOfPods ? namesOf(client, resourcePath('pods'), { fieldSelector: `metadata.name=${name}` }) : [],
    ...kinds.map((kind) => namesOf(client, resourcePath(kind, undefined, kind === 'pods' ? namespace : undefined))),
  ])
  const meant = elsewhere.length === 1 ? elsewhere[0] : similarName(given, lists.flat())
  const list = `kubectl get ${kinds.join(',')}${isOfPods ? ` --namespace ${namespace}` : ''}`
  return `there is no ${kinds.map((kind) => words[kind]).join(' or ')} ${given}; ${meant === undefined ? list : `did you mean "${meant}"? If not: ${list}`}`
}

const words: Partial<Record<ResourceName, string>> = {
  nodes: 'Node',
  nodeclaims: 'NodeClaim',
  nodepools: 'NodePool',
  pods: 'pod',
}

/** Returns names of what may be listed, pods with their namespace. What may not is no reason to say nothing. */
async function namesOf(client: KubernetesClient, path: string, query = {}): Promise<readonly string[]> {
  try {
    const metadata = (await client.list(path, query)).items.map((item) => decodeMeta(item))
    return metadata.map(({ name, namespace }) => (namespace === undefined ? name : `${namespace}/${name}`))
  } catch (error) {
    if (isForbidden(error)) return []
    throw error
  }
}
