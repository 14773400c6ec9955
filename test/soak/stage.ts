import { nodeClass } from '../applied-objects.ts'
import { poolObject, workloadObjects } from '../chaos/objects.ts'
import type { ChaosPlan } from '../chaos/plan.ts'
import type { Trouble as ChaosTrouble } from '../chaos/troubles.ts'
import type { Planned, Trouble } from './schedule.ts'

/** What a soak is about: objects, and what happens to them. */
export interface Stage {
  readonly objects: readonly unknown[]
  readonly pools: readonly string[]
  readonly workloads: readonly string[]
  readonly troubles: readonly Planned[]
  /** Whether NodePools keep nodes without pods, and are deleted at the end. */
  readonly keepsNodes: boolean
}

const longestFreezeMs = 15_000

/**
 * Returns the objects of a plan of chaos, and those of its troubles that real servers can have, in so much time. Without its static NodePool: a soak
 * looks at nodes that come and go with pods.
 */
export function stageOf({ pools: all, workloads, timeline, minutes }: ChaosPlan, lengthMs: number): Stage {
  const pools = all.filter(({ nodes }) => nodes === undefined)
  const share = lengthMs / (minutes * 60_000)
  const nameOf = (list: readonly { readonly name: string }[], draw: number) =>
    list[Math.floor(draw * list.length)]?.name ?? ''
  const real = (trouble: ChaosTrouble): Trouble | undefined => {
    switch (trouble.kind) {
      case 'kill':
      case 'lateLaunch':
      case 'cutCommit':
        return { kind: 'kill', process: 'joiner' }
      case 'temporalAway':
      case 'loseReplacement':
        return { kind: 'kill', process: 'temporal' }
      case 'watchesExpire':
        return { kind: 'kill', process: 'kube-apiserver' }
      case 'freeze':
        return { kind: 'freeze', forMs: Math.min(trouble.forMs, longestFreezeMs) }
      case 'apiThrottle':
        return { kind: 'throttleApi', forMs: trouble.forMs * share }
      case 'azure':
      case 'pause':
        return trouble
      case 'vm':
        return trouble.action === 'stop' ? undefined : { ...trouble, action: trouble.action }
      case 'deleteObject':
        return trouble.of === 'pods' ? undefined : { ...trouble, of: trouble.of }
      case 'scale':
        return { kind: 'scale', workload: nameOf(workloads, trouble.draw), replicas: trouble.replicas }
      case 'editTemplate':
        return { kind: 'drift', pool: nameOf(pools, trouble.draw) }
      default:
        return undefined
    }
  }
  return {
    objects: [
      nodeClass(),
      ...pools.map((pool) => poolObject({ ...pool, revision: 0 })),
      ...workloads.flatMap(workloadObjects),
    ],
    pools: pools.map(({ name }) => name),
    workloads: workloads.map(({ name }) => name),
    troubles: timeline.flatMap(({ atMs, trouble }) => {
      const own = real(trouble)
      return own === undefined ? [] : [{ atMs: atMs * share, trouble: own }]
    }),
    keepsNodes: true,
  }
}
