import type { DisruptionScenario } from './disruption.ts'
import { parityNodes } from './disruption-parity-nodes.ts'
import { parityWorkload } from './disruption-parity-pods.ts'
import { parityPools, parityTypes } from './disruption-parity-pools.ts'
import { Random } from './random.ts'
import { daemonSetJson, now } from './scenario.ts'

const methods = ['single-node', 'single-node', 'multi-node', 'multi-node', 'drift', 'emptiness'] as const

/** A small cluster of which something may be wrong in many ways. Costs and prices differ, as upstream chooses among equal ones by chance. */
export function disruptionParity(seed: number): DisruptionScenario {
  const random = new Random(7000 + seed)
  const method = random.pick(methods)
  const types = parityTypes(random)
  const pools = parityPools(random, method)
  const daemons = random.chance(0.4)
    ? [daemonSetJson('logs', { cpu: '100m', memory: '64Mi' }, { tolerations: [{ operator: 'Exists' }] })]
    : []
  const nodes = parityNodes(random, { types, pools, count: random.between(2, 14), method })
  const hasDaemon = daemons.length > 0
  return {
    name: `disruption-parity-${seed}`,
    note: `${nodes.length} nodes of ${pools.length} pools, ${types.length} types`,
    now,
    method,
    options: options(random),
    instanceTypes: types,
    objects: [
      ...pools.map(({ object }) => object),
      ...daemons,
      ...nodes.flatMap(({ objects }) => objects),
      ...parityWorkload(random, nodes, hasDaemon),
    ],
  }
}

function options(random: Random): DisruptionScenario['options'] {
  return {
    ...(random.chance(0.4) ? { spotToSpotConsolidation: true } : {}),
    ...(random.chance(0.2) ? { preferencePolicy: 'Ignore' } : {}),
    ...(random.chance(0.1) ? { reconcileConditions: true } : {}),
    ...(random.chance(0.1) ? { nominated: ['n01'] } : {}),
    ...(random.chance(0.15) ? { markedForDeletion: ['n00'] } : {}),
  }
}
