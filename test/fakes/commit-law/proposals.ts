import type { DisruptionProposal } from '../../../activities/disruption/contract.ts'
import { type DisruptionMethod, methodFacts } from '../../../core/disruption/command.ts'
import { sampleTime } from '../../samples/sample-objects.ts'
import type { Draw } from '../../scheduler-equivalence/draw.ts'
import type { DrawnNode } from './cluster.ts'

const proposalCount = 20

/** 20 proposals for the nodes of a cluster. Most of them hold each by itself. Some want nodes of others: Temporal's list may have lacked those. */
export function drawnProposals(draw: Draw, nodes: readonly DrawnNode[]): readonly DisruptionProposal[] {
  const places = shuffled(
    draw,
    Array.from({ length: proposalCount }, (_, at) => at),
  )
  return places.map((place, index) => {
    const first = draw.chance(0.8) ? (nodes[index % nodes.length] as DrawnNode) : draw.pick(nodes)
    const method = methodOf(draw, first)
    const own = [first, ...(method === 'multi-node' ? [second(draw, nodes, first)] : [])]
    const isReplaced =
      method === 'static-drift' || (method !== 'emptiness' && own.some(({ load }) => load === 'pinned'))
    const decision = isReplaced === draw.chance(0.97) ? 'replace' : 'delete'
    return {
      id: `${method}-${hex(index, 10)}-${hex(index + 1, 8)}`,
      method,
      reason: methodFacts[method].reason,
      decision,
      forced: false,
      order: [sampleTime + draw.below(3) * 1000, place],
      candidates: own.map(({ name, pool }) => ({
        name,
        uid: `uid-${name}`,
        nodeName: `aks-${name}`,
        nodePool: pool,
      })),
      replacements: decision === 'replace' ? 1 : 0,
      savings: 0.1,
    }
  })
}

function methodOf(draw: Draw, { isStatic, isDrifted, load }: DrawnNode): DisruptionMethod {
  if (isStatic) return 'static-drift'
  if (isDrifted && draw.chance(0.7)) return 'drift'
  return load === 'empty' ? 'emptiness' : draw.pick(['single-node', 'single-node', 'multi-node'])
}

/** Another node for a command for two, of the same kind where there is one. */
function second(draw: Draw, nodes: readonly DrawnNode[], { name, pool }: DrawnNode): DrawnNode {
  const others = nodes.filter((node) => node.name !== name)
  const alike = others.filter((node) => node.pool === pool && node.load !== 'empty')
  return draw.pick(alike.length > 0 ? alike : others)
}

const hex = (value: number, length: number) => value.toString(16).padStart(length, '0')

export function shuffled<T>(draw: Draw, list: readonly T[]): readonly T[] {
  const left = [...list]
  return list.map(() => left.splice(draw.below(left.length), 1)[0] as T)
}
