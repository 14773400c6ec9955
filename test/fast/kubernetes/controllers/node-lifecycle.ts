import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { Taint, Toleration } from '../../../../core/objects.ts'
import { tolerates } from '../../../../core/taints.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { hasKubelet } from './kubelets.ts'
import { podPathOf, setStatus } from './pods.ts'
import {
  conditionOf,
  conditionsOf,
  isDeleting,
  nodeNameOf,
  now,
  specOf,
  type TaintJson,
  withCondition,
} from './seen.ts'

/** How long a kubelet may be silent, and one that has never been heard of. */
const silentMs = 40_000
const startMs = 60_000
/** How long a pod without its Node is left alone. */
const orphanMs = 40_000

const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'
const unschedulable = 'node.kubernetes.io/unschedulable'
const own: ReadonlySet<string> = new Set([notReady, unreachable, unschedulable])

/** Notices silent kubelets, and taints Nodes as they are. */
export function nodeLifecycle(server: ApiServer): Controller {
  /** When each kubelet was heard last; undefined: it is heard all the time. */
  const heardAt = new Map<string, number | undefined>()
  return {
    watches: ['nodes'],
    afterMs: 5,
    reconcile: () => {
      const due: number[] = []
      for (const node of server.objects.of('nodes')) {
        const { uid } = metaOf(node)
        if (hasKubelet(node)) heardAt.set(uid, undefined)
        else {
          const silentAtMs = silenceOf(node, heardAt)
          if (silentAtMs > Date.now()) due.push(silentAtMs)
          else if (conditionOf(node, 'Ready')?.status !== 'Unknown') setUnknown(server, node)
        }
        taint(server, metaOf(node).name)
      }
      return due.length === 0 ? undefined : Math.min(...due)
    },
  }
}

const ttl = 'node.alpha.kubernetes.io/ttl'

/** Says at Nodes for how long kubelets may keep Secrets: for no time, in a small cluster. */
export function nodeTtl(server: ApiServer): Controller {
  return {
    watches: ['nodes'],
    afterMs: 5,
    reconcile: () => {
      for (const node of server.objects.of('nodes')) {
        const { name, annotations = {} } = metaOf(node)
        if (annotations[ttl] === undefined)
          server.edit(pathOf('nodes', name), { metadata: { annotations: { [ttl]: '0' } } })
      }
      return undefined
    },
  }
}

/** From when on the kubelet of a Node counts as silent. */
function silenceOf(node: Json, heardAt: Map<string, number | undefined>): number {
  const { uid, creationTimestamp = '' } = metaOf(node)
  if (conditionOf(node, 'Ready') === undefined) return Date.parse(creationTimestamp) + startMs
  const heard = heardAt.get(uid) ?? Date.now()
  heardAt.set(uid, heard)
  return heard + silentMs
}

function setUnknown(server: ApiServer, node: Json): void {
  const isKnown = conditionOf(node, 'Ready') !== undefined
  const unknown = {
    status: 'Unknown',
    reason: isKnown ? 'NodeStatusUnknown' : 'NodeStatusNeverUpdated',
    message: isKnown ? 'Kubelet stopped posting node status.' : 'Kubelet never posted node status.',
    lastTransitionTime: now(),
  }
  const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].reduce(
    (all, type) => withCondition(all, { ...all.find((one) => one.type === type), type, ...unknown }),
    conditionsOf(node),
  )
  setStatus(server, pathOf('nodes', metaOf(node).name), { conditions })
}

/** The taints of a Node that follow from its condition, in place of those that did. */
function taint(server: ApiServer, name: string): void {
  const path = pathOf('nodes', name)
  const node = server.objects.find(path)
  if (node === undefined) return
  const { taints = [], unschedulable: isCordoned } = specOf(node) as {
    readonly taints?: readonly TaintJson[]
    readonly unschedulable?: boolean
  }
  const status = conditionOf(node, 'Ready')?.status
  const silent = status === 'Unknown' ? unreachable : status === 'False' ? notReady : undefined
  const wanted = [
    ...(silent === undefined ? [] : ['NoSchedule', 'NoExecute'].map((effect) => ({ key: silent, effect }))),
    ...(isCordoned === true ? [{ key: unschedulable, effect: 'NoSchedule' }] : []),
  ]
  const same = (a: TaintJson, b: TaintJson) => a.key === b.key && a.effect === b.effect
  const kept = taints.filter((one) => !own.has(one.key) || wanted.some((other) => same(one, other)))
  const added = wanted.filter((one) => !taints.some((other) => same(one, other)))
  if (added.length === 0 && kept.length === taints.length) return
  const next = [...kept, ...added.map((one) => ({ ...one, timeAdded: now() }))]
  server.change(path, undefined, ({ spec, ...object }) => {
    const { taints: _, ...rest } = spec as Json
    return { ...object, spec: next.length === 0 ? rest : { ...rest, taints: next } }
  })
}

/** Deletes pods whose Node has a taint that they do not tolerate, or tolerate for some time. */
export function taintEviction(server: ApiServer): Controller {
  return {
    watches: ['nodes', 'pods'],
    afterMs: 5,
    reconcile: () => {
      const due: number[] = []
      const nodes = new Map(server.objects.of('nodes').map((node) => [metaOf(node).name, noExecute(node)]))
      for (const pod of server.objects.of('pods')) {
        const taints = nodes.get(nodeNameOf(pod) ?? '') ?? []
        if (taints.length === 0 || isDeleting(pod)) continue
        const atMs = Math.min(...taints.map((one) => evictionOf(pod, one)))
        if (atMs <= Date.now()) server.delete(podPathOf(pod))
        else if (atMs !== Number.POSITIVE_INFINITY) due.push(atMs)
      }
      return due.length === 0 ? undefined : Math.min(...due)
    },
  }
}

const noExecute = (node: Json) =>
  ((specOf(node) as { readonly taints?: readonly TaintJson[] }).taints ?? []).filter(
    ({ effect }) => effect === 'NoExecute',
  )

function evictionOf(pod: Json, taintJson: TaintJson): number {
  const { tolerations = [] } = specOf(pod) as { readonly tolerations?: readonly Toleration[] }
  const covering = tolerations.filter((one) => tolerates(one, taintJson as Taint))
  if (covering.length === 0) return 0
  const seconds = Math.min(...covering.map(({ tolerationSeconds = Number.POSITIVE_INFINITY }) => tolerationSeconds))
  return Date.parse(taintJson.timeAdded ?? now()) + Math.max(0, seconds) * 1000
}

/** Deletes pods whose Node is gone, and those that were to end before they had one. */
export function podGarbage(server: ApiServer): Controller {
  const orphanedAt = new Map<string, number>()
  return {
    watches: ['nodes', 'pods'],
    afterMs: 5,
    reconcile: () => {
      const names = new Set(server.objects.of('nodes').map((node) => metaOf(node).name))
      const due: number[] = []
      for (const pod of server.objects.of('pods')) {
        const { uid } = metaOf(pod)
        const name = nodeNameOf(pod)
        if (name === undefined || names.has(name)) {
          orphanedAt.delete(uid)
          continue
        }
        const sinceMs = orphanedAt.get(uid) ?? Date.now()
        orphanedAt.set(uid, sinceMs)
        if (sinceMs + orphanMs > Date.now()) due.push(sinceMs + orphanMs)
        else {
          orphanedAt.delete(uid)
          server.delete(podPathOf(pod), { gracePeriodSeconds: 0 })
        }
      }
      return due.length === 0 ? undefined : Math.min(...due)
    },
  }
}
