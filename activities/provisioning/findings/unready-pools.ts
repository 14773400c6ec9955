import type { NodeClass } from '../../../api/objects.ts'
import { conditionOf, dependents } from '../../../core/conditions.ts'
import type { Condition, NodePool } from '../../../core/objects.ts'
import type { Explanation } from '../../../core/scheduling/explain/explanation.ts'
import { shortened } from '../../../core/values/texts.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'

interface Unready {
  readonly line: string
  readonly remedy: string
}

const mostNamed = 3
const mostText = 400

/** Returns the explanation with the NodePools that take no part in planning, and why. */
export function withUnreadyPools({ cache }: { readonly cache: ClusterCache }, explanation: Explanation): Explanation {
  const { wantedPools } = explanation
  const unready = [...cache.nodePools.values()]
    .filter(({ metadata }) => wantedPools.length === 0 || wantedPools.includes(metadata.name))
    .flatMap((pool) => unreadyPool(cache, pool) ?? [])
    .slice(0, mostNamed)
  const lines = unready.map(({ line }) => shortened(line, mostText))
  const remedies = unready.map(({ remedy }) => shortened(remedy, mostText))
  if (explanation.cause !== 'node-pools')
    return {
      ...explanation,
      funnel: [...explanation.funnel, ...lines],
      remedies: [...explanation.remedies, ...remedies.slice(0, 1)],
    }
  const finding = cache.nodePools.size === 0 ? 'there is no NodePool' : explanation.finding
  return {
    ...explanation,
    finding: shortened([finding, ...lines].join('; '), mostText),
    remedies: [...remedies, ...explanation.remedies],
  }
}

function unreadyPool(cache: ClusterCache, pool: NodePool): Unready | undefined {
  const { name, deletionTimestamp } = pool.metadata
  const about = `NodePool "${name}"`
  if (deletionTimestamp !== undefined)
    return { line: `${about} is being deleted`, remedy: `create ${about} again when it is gone` }
  if (pool.isStatic) return undefined
  if (conditionOf(pool.conditions, 'Ready')?.status === 'True') return undefined
  const className = pool.template.spec.nodeClassRef.name
  const nodeClass = cache.nodeClasses.get(className)
  if (nodeClass === undefined)
    return {
      line: `${about} is not ready: there is no AKSNodeClass "${className}"`,
      remedy: `create AKSNodeClass "${className}", or let spec.template.spec.nodeClassRef of ${about} name another`,
    }
  const lacking = lackingOf(nodeClass) ?? firstLack(pool.conditions, dependents.NodePool)
  const text = lacking === undefined ? '' : `: ${lacking.type}: ${lacking.message || lacking.reason}`
  return {
    line: `${about} is not ready: AKSNodeClass "${className}"${text}`,
    remedy: `make AKSNodeClass "${className}" ready: kubectl describe aksnodeclass ${className}`,
  }
}

function lackingOf({ status }: NodeClass): Condition | undefined {
  return firstLack(status.conditions ?? [], dependents.AKSNodeClass)
}

function firstLack(conditions: readonly Condition[], types: readonly string[]): Condition | undefined {
  return types
    .map((type) => conditionOf(conditions, type))
    .find((condition) => condition !== undefined && condition.status !== 'True')
}
