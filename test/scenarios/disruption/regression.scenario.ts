// Upstream's end-to-end suite "regression": expiry with a PodDisruptionBudget. Its runaway scale-ups are in runaway.all.test.ts.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

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
const namesOf = (objects: readonly Seen[]) => objects.map(({ metadata }) => metadata.name)
const isRunning = ({ status }: Seen) => status?.phase === 'Running'
const podsOf = async (app: string) =>
  (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === app)

test('an expired node is replaced by a single node, though a budget lets its pods go one by one', async () => {
  const pool = nodePool({ name: 'expiring', consolidateAfter: 'Never' })
  const spec = (expireAfter: string) => ({
    template: { spec: { ...pool.spec.template.spec, expireAfter } },
    disruption: { ...pool.spec.disruption, budgets: [{ nodes: '0', reasons: ['Drifted'] }] },
  })
  await world.apply(
    { ...pool, spec: spec('45s') },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'one-by-one', namespace: 'default' },
      spec: { minAvailable: 4, selector: { matchLabels: { app: 'expiring' } } },
    },
  )
  await world.untilReady('expiring')
  await world.apply(deployment({ name: 'expiring', replicas: 5, cpu: '100m' }))
  await world.until('all pods run on one node', async () => (await podsOf('expiring')).filter(isRunning).length === 5)
  const [first, ...others] = await ofPool('nodeclaims', 'expiring')
  expect(others).toEqual([])
  // What comes from now on does not expire, and the node that is there keeps its end.
  await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/expiring', { spec: spec('Never') })

  const seen = new Set<string>()
  let fewest = 5
  await world.until('the expired node is gone, and all pods run elsewhere', async () => {
    const [claims, pods] = [await ofPool('nodeclaims', 'expiring'), await podsOf('expiring')]
    for (const name of namesOf(claims)) seen.add(name)
    const running = pods.filter((pod) => isRunning(pod) && pod.metadata.deletionTimestamp === undefined)
    fewest = Math.min(fewest, running.length)
    return claims.every(({ metadata }) => metadata.name !== first?.metadata.name) && running.length === 5
  })
  expect(fewest).toBeGreaterThanOrEqual(4)
  expect(seen.size).toBe(2)
  const left = await ofPool('nodes', 'expiring')
  expect(new Set((await podsOf('expiring')).map(({ spec }) => spec.nodeName))).toEqual(new Set(namesOf(left)))
  expect(left).toHaveLength(1)
  expect(await endOf(world, first?.metadata.name ?? '')).toMatchObject({
    status: 'COMPLETED',
    outcome: 'expired',
    reason: expect.stringMatching(/^expired at 20/),
  })
  await world.scale('expiring', 0)
})
