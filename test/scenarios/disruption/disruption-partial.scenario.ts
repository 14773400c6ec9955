import { consolidateNowSignal } from '../../../workflows/messages.ts'
import { deployment, nodePool } from '../../applied-objects.ts'
import { traceKeys } from '../../command-writes.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import type { World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, afterEach, beforeAll, expect, test } from '../scenario.ts'

const pools = ['yew', 'zelkova', 'alder']
const cores = 'karpenter.azure.com/sku-cpu'
const { taint, condition, stamp, replacementFor } = traceKeys

let faulty: FaultyWorld
let world: World

/** Nothing is consolidated but when an operator asks for it: the wait is longer than the test. */
function pool(name: string, sizes: readonly string[]) {
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: cores, operator: 'In', values: sizes },
  ]
  const { spec, ...rest } = nodePool({ name, requirements, consolidateAfter: '1h' })
  return {
    ...rest,
    spec: { ...spec, disruption: { ...spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' } },
  }
}

const workload = (name: string, replicas: number) =>
  deployment({ name, replicas, nodeSelector: { 'karpenter.sh/nodepool': name } })

// Each pool gets two large nodes with a small pod each, which one small node can take.
beforeAll(async () => {
  faulty = await FaultyWorld.start()
  world = faulty.world
  await world.apply(...pools.map((name) => pool(name, ['16'])), ...pools.map((name) => workload(name, 1)))
  const first = await faulty.untilWhole(pools, 1, 90_000)
  const nodes = pools.map((name) => first.old(name).node)
  await world.operator.kubectl(['cordon', ...nodes])
  await world.apply(...pools.map((name) => workload(name, 2)))
  await faulty.untilWhole(pools, 2)
  await world.operator.kubectl(['uncordon', ...nodes])
  await world.apply(...pools.map((name) => pool(name, ['2', '4', '16'])))
})

afterAll(() => faulty?.stop())

afterEach(() => faulty.reset())

/** Both nodes of a pool, and their writes of a kind held up. */
async function held(name: string, write: 'stamp' | 'remove') {
  const olds = (await faulty.look()).olds(name)
  expect(olds).toHaveLength(2)
  const holds = olds.map((old) => faulty.hold(old, write))
  await world.loop('disruption').signal(consolidateNowSignal, dated({ nodePools: [name] }))
  await faulty.untilReached(...holds)
  return { olds, first: holds[0], second: olds[1] }
}

test('kill -9 between the stamps of two nodes of one command: the other stamp is set, and both go for the one replacement', async () => {
  const { olds, first } = await held('alder', 'stamp')
  await first?.carryOut()
  await world.crash()
  const traces = [condition, condition, stamp, replacementFor, taint, taint]
  const before = await faulty.look()
  expect(before.traces('alder')).toEqual(traces.sort())
  const gone = new Set(olds.map(({ uid }) => uid))
  const replacements = before.olds('alder').filter(({ uid }) => !gone.has(uid))
  expect(replacements).toHaveLength(1)
  await faulty.restart()
  const seen = await faulty.untilWhole(['alder'])
  expect(seen.old('alder').uid).toBe(replacements[0]?.uid)
  expect(seen.old('alder').pods).toHaveLength(2)
})

test('kill -9 between the deletions of two nodes of one command: both go', async () => {
  const { first } = await held('zelkova', 'remove')
  await first?.carryOut()
  await faulty.restart()
  const seen = await faulty.untilWhole(['zelkova'])
  expect(seen.old('zelkova').pods).toHaveLength(2)
  expect(seen.labels('zelkova')[0]?.[cores]).not.toBe('16')
})

test('kill -9 between two deletions, and the second node must stay by then: it is freed, and the replacement is kept', async () => {
  const { first, second } = await held('yew', 'remove')
  await first?.carryOut()
  await world.crash()
  await world.operator.kubectl(['annotate', 'pod', ...(second?.pods ?? []), 'karpenter.sh/do-not-disrupt=true'])
  await faulty.restart()
  const seen = await faulty.untilWhole(['yew'], 2)
  expect(seen.olds('yew').map(({ uid }) => uid)).toContain(second?.uid)
})
