import { commandsOver, healthSince } from '../../proofs/disruption-proofs.ts'
import { dedicatedPool, shrink, untilHealthy } from '../../proofs/shrinking.ts'
import { objectsOf, type SpreadWorkload } from '../../proofs/spread-workloads.ts'
import { Witness, type Witnessed } from '../../proofs/witness.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const poolLabel = 'karpenter.sh/nodepool'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
})

afterAll(() => world?.stop())

test('an underutilised cluster shrinks to what the solver would pay, and no PodDisruptionBudget ever counts too few pods', async () => {
  const report = await shrink(world, {
    nodes: 12,
    budget: '100%',
    within: 0.1,
    consolidateAfter: '1s',
    limitMs: 400_000,
    quietMs: 0,
  })
  expect(report.before.nodes).toBeGreaterThanOrEqual(12)
  expect(report.before.cost).toBeGreaterThan(report.solver.cost * 1.5)
  expect(report.after.cost).toBeLessThanOrEqual(report.solver.cost * 1.1)
  expect(report.health.map(({ app, violations }) => ({ app, violations }))).toEqual(
    ['web', 'api', 'cache', 'worker'].map((app) => ({ app, violations: [] })),
  )
  expect(report.health.some(({ moved, healthy }) => healthy > 0 && moved > 0)).toBe(true)
  expect(report.below).toEqual([])
  expect(report.commands.flatMap(({ tooLate }) => tooLate)).toEqual([])
})

test('an expensive node gives way to a cheaper one that is initialized first, and its budgeted pods move one by one', async () => {
  const shop: SpreadWorkload = {
    name: 'shop',
    replicas: 3,
    cpu: '4',
    memory: '1Gi',
    spread: 'none',
    nodePool: 'expensive',
    budget: { maxUnavailable: 1 },
  }
  // The cluster may still be shrinking: pods that move must not come here.
  await world.apply(dedicatedPool('expensive', '100%', 'Never'), ...objectsOf(shop))
  const witness = await Witness.start(world.cluster)
  const claims = () => witness.now('nodeClaim').filter(({ metadata }) => metadata.labels?.[poolLabel] === 'expensive')
  const coresOf = (claim: Witnessed | undefined) => claim?.metadata.labels?.['karpenter.azure.com/sku-cpu']
  try {
    await untilHealthy(world, witness, [shop], 120_000)
    const [expensive, ...others] = claims()
    expect([coresOf(expensive), others]).toEqual(['16', []])
    const small = { ...shop, cpu: '300m' }
    await world.apply(...objectsOf(small))
    await untilHealthy(world, witness, [small], 120_000)
    const since = witness.moments().at(-1)?.revision ?? 0
    await world.apply(dedicatedPool('expensive', '100%', '1s'))
    const isCheap = async () => claims().length === 1 && coresOf(claims()[0]) === '2'
    await world.until('the expensive node has given way to a cheap one', isCheap, 180_000)
    await untilHealthy(world, witness, [small], 60_000)
    const moments = witness.moments()
    const commands = commandsOver(moments).filter(({ candidates }) =>
      candidates.includes(expensive?.metadata.name ?? ''),
    )
    expect(commands).toMatchObject([
      {
        reason: 'Underutilized',
        replacements: [claims()[0]?.metadata.name],
        tooLate: [],
        goneAtMs: expect.any(Number),
      },
    ])
    expect(healthSince(moments, since, [{ app: 'shop', healthy: 2 }])).toMatchObject([
      { lowest: 2, moved: 3, violations: [] },
    ])
  } finally {
    await witness.stop()
  }
})
