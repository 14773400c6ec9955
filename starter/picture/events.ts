// Parts of a picture that are events.
import { decodeMeta } from '../../activities/kubernetes/cache/decode-meta.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { ObjectMeta } from '../../core/objects.ts'
import { listed } from './from-cluster.ts'
import type { Part } from './picture.ts'

export interface EventFacts {
  readonly reason: string
  readonly message: string
  /** Kind of the object that it is about. */
  readonly about: string
  /** Epoch ms of the last time it was reported. */
  readonly at: number
  readonly times: number
}

interface EventJson {
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: {
    readonly kind?: string
    readonly namespace?: string
    readonly name?: string
    readonly uid?: string
  }
  readonly related?: { readonly kind?: string; readonly name?: string }
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly count?: number
}

/** Pods that were evicted from a node, the latest first. */
export function evictionsFrom(node: string): Part<readonly string[]> {
  const all = listed('events', (json) => json as EventJson, { fieldSelector: 'reason=Evicted' })
  return {
    ...all,
    read: async (source) =>
      (await all.read(source))
        .filter(({ related }) => related?.kind === 'Node' && related.name === node)
        .sort((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))
        .map(({ involvedObject: { namespace = '', name = '' } = {} }) => `${namespace}/${name}`),
  }
}

/** Events of objects, the latest first, those that say the same as one. Joiner's own accounts may write events and not read them. */
export function eventsOf(uids: readonly string[], namespace: string): Part<readonly EventFacts[]> {
  const lists = uids.map((uid) => eventsWhere(`involvedObject.uid=${uid}`, namespace))
  return {
    ...eventsWhere('', namespace),
    read: async (source) => eventFacts((await Promise.all(lists.map((list) => list.read(source)))).flat()),
  }
}

/** Events of a NodeClaim, also of one that is gone. `uid`: its first eight characters suffice. */
export function eventsOfClaim({ name, uid }: Pick<ObjectMeta, 'name' | 'uid'>): Part<readonly EventFacts[]> {
  const all = eventsWhere(`involvedObject.kind=NodeClaim,involvedObject.name=${name}`, 'default')
  const isOwn = (json: Json) => (json as EventJson).involvedObject?.uid?.startsWith(uid) === true
  return { ...all, read: async (source) => eventFacts((await all.read(source)).filter(isOwn)) }
}

const eventsWhere = (fieldSelector: string, namespace: string) =>
  listed('events', (json) => json, { namespace, fieldSelector })

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

/** Where pods of a namespace were bound. */
export function bindingsIn(namespace: string): Part<readonly Binding[]> {
  const all = eventsWhere('reason=Scheduled,involvedObject.kind=Pod', namespace)
  return { ...all, read: async (source) => (await all.read(source)).flatMap(bindingIn) }
}

export interface Binding {
  readonly pod: string
  readonly node: string
  /** Epoch ms. */
  readonly atMs: number
}

function bindingIn(item: Json): readonly Binding[] {
  const { message = '', involvedObject, lastTimestamp, eventTime } = item as EventJson
  const [, node] = /^Successfully assigned \S+ to (\S+)$/.exec(message) ?? []
  const pod = involvedObject?.name
  const atMs = Date.parse(lastTimestamp ?? eventTime ?? '')
  return node === undefined || pod === undefined || Number.isNaN(atMs) ? [] : [{ pod, node, atMs }]
}
