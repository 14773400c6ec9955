import { decodeNodePool } from '../../../activities/kubernetes/cache/decode.ts'
import type { NodePool } from '../../../core/objects.ts'
import { Pauses, pauseText } from '../../../core/pauses/pauses.ts'
import { formatQuantity } from '../../../core/values/quantity.ts'
import { type Document, section } from '../../document/document.ts'
import { counted } from '../../document/words.ts'
import { object } from '../../picture/from-cluster.ts'
import { missingLines } from '../../picture/gaps.ts'
import { disruptionPauses, provisioningPauses, waiting } from '../../picture/kept.ts'
import { readPicture, readWhole, type Scene } from '../../picture/picture.ts'

/** What keeps a NodePool from making nodes, and its nodes from disruption. */
export interface NodePoolReport {
  readonly nodePool: string
  readonly headline: string
  /** Conditions that are not True. */
  readonly conditions: readonly string[]
  /** How much of each limit is used. */
  readonly limits: readonly string[]
  readonly pauses: readonly string[]
  /** What pods that wait miss in it. */
  readonly waiting: readonly string[]
  readonly notRead: readonly string[]
}

/** Undefined: there is no such NodePool. Errors: `CommandError`. */
export async function readNodePool(name: string, scene: Scene): Promise<NodePoolReport | undefined> {
  const [pool] = (await readWhole(scene, { pools: object('nodepools', decodeNodePool, { name }) })).pools
  if (pool === undefined) return undefined
  const read = await readPicture(scene, { disruption: disruptionPauses, provisioning: provisioningPauses, waiting })
  const making = read.provisioning && new Pauses(read.provisioning).wholeLoop
  const going = read.disruption?.onNodePool(name) ?? []
  const conditions = pool.conditions.filter(({ status }) => status !== 'True')
  const classes = [...(read.waiting?.classes.values() ?? [])]
  return {
    nodePool: name,
    headline: headlineOf(pool, making !== undefined),
    conditions: conditions.map(({ type, status, reason, message }) =>
      [`${type} ${status}`, reason, message].filter(Boolean).join(': '),
    ),
    limits: Object.entries(pool.limits).map(([resource, limit]) => {
      const used = pool.resources?.[resource]
      return `${resource}: ${used === undefined ? 'not counted yet' : formatQuantity(used)} of ${formatQuantity(limit)}`
    }),
    pauses: [
      ...(making === undefined ? [] : [pauseText('provisioning', making)]),
      ...going.map((pause) => pauseText('disruption', pause)),
    ],
    waiting: classes.flatMap(({ count, pods: [first], funnel }) =>
      funnel
        .filter((line) => line.includes(`"${name}"`))
        .map((line) => `${counted(count, 'pod')} such as ${first}: ${line}`),
    ),
    notRead: missingLines(read.missing),
  }
}

function headlineOf({ conditions, limits, resources, isStatic }: NodePool, isPaused: boolean): string {
  const full = Object.entries(limits)
    .filter(([name, { nano }]) => (resources?.[name]?.nano ?? -1n) >= nano)
    .map(([name]) => name)
  if (conditions.some(({ type, status }) => type === 'Ready' && status !== 'True'))
    return 'makes no nodes: it is not ready'
  if (isPaused) return 'makes no nodes: provisioning is paused'
  if (full.length > 0) return `makes no nodes: its limit of ${full.join(', ')} is used up; raise spec.limits`
  return isStatic ? 'keeps a fixed number of nodes' : 'makes nodes for pods that fit'
}

/** The report for people. */
export function nodePoolDocument(report: NodePoolReport): Document {
  return [
    [
      { title: `NodePool ${report.nodePool}`, items: [report.headline] },
      section('conditions that are not True', report.conditions),
      section('limits', report.limits),
      section('pauses', report.pauses),
      section('what pods that wait miss in it', report.waiting),
      `how many of its nodes may go: joiner budgets ${report.nodePool}`,
      section('not known', report.notRead),
    ],
  ]
}
