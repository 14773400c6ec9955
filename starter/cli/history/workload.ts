import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { History, Life } from '../../../core/history/life.ts'
import { deathText } from '../../../core/history/texts.ts'
import { workloadOf } from '../../../core/pods/pod-rules.ts'
import { defined } from '../../../core/values/defined.ts'
import { timeText } from '../../../core/values/time.ts'
import type { CsvTable } from '../../document/csv.ts'
import type { Table } from '../../document/document.ts'
import { bindingsIn } from '../../picture/events.ts'
import { listed } from '../../picture/from-cluster.ts'
import type { Missing } from '../../picture/gaps.ts'
import { needed } from '../../picture/picture.ts'
import { pictureOf } from '../access/cluster.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import { iso } from './text.ts'

/** `namespace/Kind/name`, or `namespace/name` of whatever kind. */
export interface WorkloadName {
  readonly namespace: string
  readonly kind?: string
  readonly name: string
}

/** A pod that is or was on a node. */
export interface Placement {
  readonly pod: string
  readonly node: string
  /** Epoch ms: when the scheduler placed it; unset when that event is gone. */
  readonly atMs?: number
  readonly exists: boolean
}

/** A node of a workload, with its lifecycle where Temporal knows it. */
export interface WorkloadNode {
  readonly node: string
  readonly life?: Life
  readonly placements: readonly Placement[]
}

/** Parses the argument of the command; undefined when it names no workload. */
export function workloadNamed(text: string): WorkloadName | undefined {
  const parts = text.split('/')
  const [namespace = '', second = '', third] = parts
  if (parts.length < 2 || parts.length > 3 || parts.some((part) => part === '')) return undefined
  return third === undefined ? { namespace, name: second } : { namespace, kind: second, name: third }
}

/** Returns whether `namespace/Kind/name` is the workload that was asked for; kinds may be written in lower case. */
export function isWorkload(full: string, { namespace, kind, name }: WorkloadName): boolean {
  const [ownNamespace, ownKind = '', ...rest] = full.split('/')
  const isKind = kind === undefined || kind.toLowerCase() === ownKind.toLowerCase()
  return ownNamespace === namespace && rest.join('/') === name && isKind
}

/** Kubernetes' generated names use no vowels and none of 0, 1 and 3, so that a pod's name tells its workload apart from `NAME-other`. */
const generated = '[bcdfghjklmnpqrstvwxz2456789]'

/** Returns whether a pod that is gone belonged to the workload, by its name alone. */
export function isNamedAfter(pod: string, { name }: Pick<WorkloadName, 'name'>): boolean {
  if (pod === name) return true
  if (!pod.startsWith(`${name}-`)) return false
  return new RegExp(`^(${generated}{1,10}-${generated}{5}|${generated}{5}|\\d{1,8}(-${generated}{5})?)$`).test(
    pod.slice(name.length + 1),
  )
}

/** Groups placements by node, the latest first, each with the last lifecycle of a Node of that name. */
export function workloadNodes(placements: readonly Placement[], { lives }: History): readonly WorkloadNode[] {
  const byNode = new Map(lives.flatMap((life) => (life.node === undefined ? [] : [[life.node, life] as const])))
  const latest = ({ placements: own }: WorkloadNode) => Math.max(...own.map(({ atMs = 0 }) => atMs))
  return [...Map.groupBy(placements, ({ node }) => node)]
    .map(([node, own]): WorkloadNode => {
      const life = byNode.get(node)
      return { node, placements: own, ...(life === undefined ? {} : { life }) }
    })
    .sort((a, b) => latest(b) - latest(a) || (a.node < b.node ? -1 : 1))
}

/** The nodes of a workload for people. */
export function workloadTable(nodes: readonly WorkloadNode[]): Table {
  return {
    header: ['NODE', 'NODEPOOL', 'PODS', 'GONE PODS', 'LAST PLACED', 'NODE CREATED', 'NODE ENDED', 'WENT'],
    rows: nodes.map(({ node, life, placements }) => {
      const times = placements.flatMap(({ atMs }) => atMs ?? [])
      return [
        node,
        life?.nodePool,
        placements.filter(({ exists }) => exists).length,
        placements.filter(({ exists }) => !exists).length,
        times.length === 0 ? undefined : timeText(Math.max(...times)),
        life === undefined ? 'no lifecycle' : timeText(life.createdMs),
        life?.endedMs === undefined ? undefined : timeText(life.endedMs),
        life?.went && deathText(life.went),
      ]
    }),
  }
}

export function workloadCsv(nodes: readonly WorkloadNode[]): CsvTable {
  return {
    header: ['pod', 'exists', 'placed', 'node', 'nodeClaim', 'nodePool', 'nodeCreated', 'nodeEnded', 'went'],
    rows: nodes.flatMap(({ node, life, placements }) =>
      placements.map(({ pod, exists, atMs }) => [
        pod,
        String(exists),
        atMs === undefined ? undefined : iso(atMs),
        node,
        life?.nodeClaim,
        life?.nodePool,
        life && iso(life.createdMs),
        life?.endedMs === undefined ? undefined : iso(life.endedMs),
        life?.went && deathText(life.went),
      ]),
    ),
  }
}

/** One node of a workload for programs. */
export function workloadJson({ node, life, placements }: WorkloadNode) {
  return {
    node,
    ...defined({
      nodeClaim: life?.nodeClaim,
      nodePool: life?.nodePool,
      created: life && iso(life.createdMs),
      ended: life?.endedMs === undefined ? undefined : iso(life.endedMs),
      went: life?.went,
    }),
    pods: placements.map(({ pod, exists, atMs }) => ({
      pod,
      exists,
      ...defined({ placed: atMs === undefined ? undefined : iso(atMs) }),
    })),
  }
}

/** What nobody knows about a workload's past. */
export const workloadNote =
  'note: Temporal keeps nodes, not pods. Shown are the nodes of pods that exist, and of those whose event Scheduled the API server still has (an hour by default); earlier placements are not known'

export interface Placements {
  readonly placements: readonly Placement[]
  /** The events of the scheduler, where they could not be read: pods that are gone are missing. */
  readonly missing: readonly Missing[]
}

/** Where pods of a workload run, and where the scheduler's events say that others ran. Errors: `CommandError` where pods cannot be read. */
export async function readPlacements(options: ConnectionOptions, workload: WorkloadName): Promise<Placements> {
  const { namespace } = workload
  const pods = listed('pods', decodePod, { namespace })
  const picture = await pictureOf(options, { pods, bindings: bindingsIn(namespace) }, Date.now())
  const { pods: existing } = needed(picture, { pods })
  const scheduled = new Map(
    (picture.bindings ?? []).filter(({ pod }) => isNamedAfter(pod, workload)).map((each) => [each.pod, each]),
  )
  const present = existing
    .filter((pod) => pod.nodeName !== undefined && isWorkload(workloadOf(pod), workload))
    .map(({ metadata: { name }, nodeName: node = '' }): Placement => {
      const atMs = scheduled.get(name)?.atMs
      return { pod: name, node, exists: true, ...(atMs !== undefined && { atMs }) }
    })
  const known = new Set(existing.map(({ metadata }) => metadata.name))
  const gone = [...scheduled.values()].filter(({ pod }) => !known.has(pod))
  const placements = [...present, ...gone.map((binding) => ({ ...binding, exists: false }))]
  return { placements, missing: picture.missing }
}
