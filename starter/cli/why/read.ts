import {
  decodeNode,
  decodeNodeClaim,
  decodeNodePool,
  decodePodDisruptionBudget,
} from '../../../activities/kubernetes/cache/decode.ts'
import { decodeMeta } from '../../../activities/kubernetes/cache/decode-meta.ts'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { readPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { faultText } from '../../../api/kept/document.ts'
import { verdictMapName, verdictShard } from '../../../core/disruption/verdicts/verdict.ts'
import { claimOfNode } from '../../../core/node-claim/node-owner.ts'
import { asClaimed } from '../../../core/node-claim/registration.ts'
import type { Condition, Node, NodeClaim, Pod } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import type { LifecycleClaim } from '../../../core/task-queues.ts'
import { Adornments } from '../../picture/missing.ts'
import { readEvaluations } from '../../view/evaluations.ts'
import { withCluster } from '../access/cluster.ts'
import type { ClusterOptions } from '../shared/options.ts'
import type { CountedBudget, EventFacts, KeptVerdict, NodeFacts, PodFacts } from './facts.ts'
import { readDrain } from './read-drain.ts'
import { readWaitingPod } from './read-waiting.ts'

interface Where extends ClusterOptions {
  readonly now: number
  /** As Temporal knows the cluster. */
  readonly cluster?: string
}

/** The node of that name, or the one of the NodeClaim of that name; undefined: there is neither. Errors: what the API server says. */
export function readNode(name: string, where: Where): Promise<NodeFacts | undefined> {
  return withCluster(where, (client) => readNodeWith(client, name, where))
}

/** Does it with a client at hand. `namespace`: Joiner's. */
export async function readNodeWith(
  client: KubernetesClient,
  name: string,
  where: Pick<Where, 'namespace' | 'now' | 'cluster'>,
): Promise<NodeFacts | undefined> {
  const [node, claim] = await Promise.all([
    one(client, resourcePath('nodes', name)).then((json) => json && decodeNode(json)),
    one(client, resourcePath('nodeclaims', name)).then((json) => json && decodeNodeClaim(json)),
  ])
  if (node !== undefined) return nodeFacts(client, where, { node, claim: await claimOf(client, node) })
  if (claim === undefined) return undefined
  const own =
    claim.status.nodeName === undefined ? undefined : await one(client, resourcePath('nodes', claim.status.nodeName))
  return nodeFacts(client, where, { node: own && decodeNode(own), claim })
}

/** Undefined: there is no such pod. */
export function readPod(namespace: string, name: string, where: Where): Promise<PodFacts | undefined> {
  return withCluster(where, async (client) => {
    const json = await one(client, resourcePath('pods', name, namespace))
    if (json === undefined) return undefined
    const pod = withMessages(decodePod(json), json)
    const sources = new Adornments()
    const [node, budgets, events] = await Promise.all([
      pod.nodeName === undefined ? undefined : one(client, resourcePath('nodes', pod.nodeName)),
      readBudgets(client, namespace),
      sources.read('events', readEvents(client, [pod.metadata.uid], namespace)),
    ])
    const facts = { now: where.now, pod, budgets, events: events ?? [], missing: sources.missing }
    if (pod.nodeName === undefined)
      return { ...facts, waiting: await readWaitingPod(client, facts, { ...where, sources }) }
    if (node === undefined) return facts
    const decoded = decodeNode(node)
    return { ...facts, node: await nodeFacts(client, where, { node: decoded, claim: await claimOf(client, decoded) }) }
  })
}

async function one(client: KubernetesClient, path: string): Promise<Json | undefined> {
  try {
    return await client.get(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function claimOf(client: KubernetesClient, node: Node): Promise<NodeClaim | undefined> {
  const { items } = await client.list(resourcePath('nodeclaims'))
  return claimOfNode(
    node,
    items.map((item) => decodeNodeClaim(item)),
  )
}

async function nodeFacts(
  client: KubernetesClient,
  { namespace, now, cluster }: Pick<Where, 'namespace' | 'now' | 'cluster'>,
  { node: reported, claim }: { readonly node: Node | undefined; readonly claim: NodeClaim | undefined },
): Promise<NodeFacts> {
  const node = reported && claim ? asClaimed(reported, claim) : reported
  const poolName = (node ?? claim)?.metadata.labels[labels.nodePool]
  const uids = [node, claim].flatMap((object) => (object === undefined ? [] : [object.metadata.uid]))
  const sources = new Adornments()
  const [pool, pods, budgets, pauses, kept, events, drain] = await Promise.all([
    poolName === undefined ? undefined : one(client, resourcePath('nodepools', poolName)),
    node === undefined
      ? undefined
      : client.list(resourcePath('pods'), { fieldSelector: `spec.nodeName=${node.metadata.name}` }),
    readBudgets(client),
    readPauses({ client, namespace }, now),
    claim === undefined ? {} : readVerdict(client, namespace, claim.metadata.name),
    // Events of objects without a namespace stand in this one. Nodes go by their name as UID with the kubelet.
    sources.read('events', readEvents(client, node === undefined ? uids : [...uids, node.metadata.name], 'default')),
    claim?.metadata.deletionTimestamp === undefined ? undefined : readDrain(client, node?.metadata.name, sources),
  ])
  return {
    now,
    pods: (pods?.items ?? []).map((item) => decodePod(item)),
    budgets,
    pauses,
    events: events ?? [],
    missing: sources.missing,
    ...kept,
    ...(node === undefined ? {} : { node }),
    ...(claim === undefined ? {} : { claim }),
    ...(pool === undefined ? {} : { pool: decodeNodePool(pool) }),
    ...(drain === undefined ? {} : { drain }),
    ...(cluster === undefined ? {} : { cluster }),
  }
}

async function readVerdict(client: KubernetesClient, namespace: string, nodeClaim: string): Promise<KeptVerdict> {
  const [own, first] = await Promise.all(
    [verdictShard(nodeClaim), 0].map((shard) => readEvaluations({ client, namespace }, shard)),
  )
  const verdict = own?.verdicts.get(nodeClaim)
  const fault = own?.faults.find(({ key }) => key === nodeClaim)
  return {
    ...(verdict === undefined ? {} : { verdict }),
    ...(fault && { unread: faultText(verdictMapName(verdictShard(nodeClaim)), namespace, fault) }),
    ...(first?.lastPass === undefined ? {} : { lastPassMs: first.lastPass.atMs }),
  }
}

async function readBudgets(client: KubernetesClient, namespace?: string): Promise<readonly CountedBudget[]> {
  const { items } = await client.list(resourcePath('poddisruptionbudgets', undefined, namespace))
  return items.map((item) => {
    const {
      currentHealthy = 0,
      desiredHealthy = 0,
      expectedPods = 0,
    } = (item['status'] ?? {}) as Record<string, number>
    return {
      ...decodePodDisruptionBudget(item),
      healthy: currentHealthy,
      wanted: desiredHealthy,
      pods: expectedPods,
    }
  })
}

interface EventJson {
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly kind?: string; readonly uid?: string }
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly count?: number
}

/** The latest first, those that say the same as one. */
async function readEvents(
  client: KubernetesClient,
  uids: readonly string[],
  namespace: string,
): Promise<readonly EventFacts[]> {
  const path = resourcePath('events', undefined, namespace)
  const lists = await Promise.all(uids.map((uid) => client.list(path, { fieldSelector: `involvedObject.uid=${uid}` })))
  return eventFacts(lists.flatMap(({ items }) => items))
}

/** Reads the events of a NodeClaim, also of one that is gone. `uid`: its first eight characters suffice. */
export async function readEventsOfClaim(
  client: KubernetesClient,
  { name, uid }: LifecycleClaim,
): Promise<readonly EventFacts[]> {
  const path = resourcePath('events', undefined, 'default')
  const fieldSelector = `involvedObject.kind=NodeClaim,involvedObject.name=${name}`
  const { items } = await client.list(path, { fieldSelector })
  return eventFacts(items.filter((item) => (item as EventJson).involvedObject?.uid?.startsWith(uid) === true))
}

function eventFacts(items: readonly Json[]): readonly EventFacts[] {
  const reported = items.map((item): EventFacts => {
    const { reason = '', message = '', involvedObject, lastTimestamp, eventTime, count = 1 } = item as EventJson
    const at = Date.parse(lastTimestamp ?? eventTime ?? decodeMeta(item).creationTimestamp)
    return { reason, message, about: involvedObject?.kind ?? '', at, times: count }
  })
  const same = Map.groupBy(reported, ({ reason, message, about }) => JSON.stringify([reason, message, about]))
  return [...same.values()]
    .map((group) => ({
      ...(group[0] as EventFacts),
      at: Math.max(...group.map(({ at }) => at)),
      times: group.reduce((sum, { times }) => sum + times, 0),
    }))
    .sort((a, b) => b.at - a.at)
}

/** The watch cache leaves out the messages of conditions, which are kube-scheduler's words here. */
function withMessages(pod: Pod, { status }: Json): Pod {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] }
  const messages = new Map(conditions.map(({ type, message }) => [type, message]))
  return {
    ...pod,
    conditions: pod.conditions.map((condition) => {
      const message = messages.get(condition.type)
      return message === undefined ? condition : { ...condition, message }
    }),
  }
}
