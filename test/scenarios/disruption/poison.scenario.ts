// One NodeClaim whose status cannot be written: the others are disrupted all the same.
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { deployment, nodePool } from '../../applied-objects.ts'
import type { FastWorld } from '../../fast/world/fast-world.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import type { World } from '../../world.ts'
import { afterAll, beforeAll, expect, fastTest } from '../scenario.ts'

const pools = ['alder', 'birch']

let faulty: FaultyWorld
let world: World

beforeAll(async () => {
  faulty = await FaultyWorld.start()
  world = faulty.world
  await world.apply(
    ...pools.map((name) => nodePool({ name, consolidateAfter: '0s' })),
    ...pools.map((name) => deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } })),
  )
  await faulty.untilWhole(pools, 1, 90_000)
})

afterAll(() => faulty?.stop())

fastTest('a node drifts and is replaced while another NodeClaim takes no writes', async () => {
  const [alder, birch] = [(await faulty.look()).old('alder'), (await faulty.look()).old('birch')]
  const { cluster } = world.servers.fast as FastWorld
  cluster.intercept(({ verb, path }) => {
    if (verb === 'patch' && path.includes(`/nodeclaims/${alder.claim}`))
      throw new ApiError(500, 'InternalError', 'Internal error occurred: failed calling webhook "alder.example.com"')
  })
  const spec = { template: { metadata: { labels: { revision: '2' } } } }
  for (const pool of pools) await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, { spec })
  await world.until('birch is replaced', async () =>
    (await faulty.look()).olds('birch').every(({ uid }) => uid !== birch.uid),
  )
  expect((await faulty.look()).old('alder').uid).toBe(alder.uid)
})
