// Upstream's end-to-end suite "regression": nodes that drive their pods away.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { isTrue, type Seen, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
  await world.apply(nodeClass())
})

afterAll(() => world?.stop())

const poolLabel = 'karpenter.sh/nodepool'
const ofPool = async (kind: 'nodes' | 'nodeclaims', pool: string) =>
  (await world.list(kind)).filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)

test.each([
  ['while consolidation is enabled', 'WhenEmptyOrUnderutilized', '0s'],
  ['while emptiness is enabled', 'WhenEmpty', '5s'],
])(
  'no runaway scale-up where each node gets a taint that drives its pod away, %s',
  async (_, consolidationPolicy, consolidateAfter) => {
    const name = consolidationPolicy.toLowerCase()
    const pool = nodePool({ name })
    const disruption = { ...pool.spec.disruption, consolidationPolicy, consolidateAfter }
    await world.apply({ ...pool, spec: { ...pool.spec, disruption } })
    await world.untilReady(name)
    await world.apply(deployment({ name, replicas: 1, cpu: '100m', nodeSelector: { [poolLabel]: name } }))
    const tainted = new Set<string>()
    let most = 0
    await world.until('three of the nodes that lost their pod are gone', async () => {
      const nodes = await ofPool('nodes', name)
      most = Math.max(most, nodes.length)
      for (const node of nodes) if (await taint(node)) tainted.add(node.metadata.name)
      const present = new Set(nodes.map(({ metadata }) => metadata.name))
      return [...tainted].filter((node) => !present.has(node)).length >= 3
    })
    // Upstream's own bound.
    expect(most).toBeLessThan(35)
    await world.scale(name, 0)
    await world.until('nothing of the NodePool is left', async () => (await ofPool('nodeclaims', name)).length === 0)
  },
)

/** Taints a Node, so that its pods have to go. Returns whether it is tainted. */
async function taint(node: Seen): Promise<boolean> {
  if (node.spec.taints?.some(({ key }) => key === 'test')) return true
  if (!isTrue(node, 'Ready')) return false
  try {
    await world.operator.kubectl(['taint', 'node', node.metadata.name, 'test=true:NoExecute'])
    return true
  } catch {
    // It went in this moment.
    return false
  }
}
