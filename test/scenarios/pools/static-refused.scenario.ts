// A static NodePool whose NodeClaims cannot be created, since a webhook for them does not answer: pods go on to get their nodes.
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import type { FastWorld } from '../../fast/world/fast-world.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, fastTest } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', { FEATURE_GATES: 'StaticCapacity=true' })
  await world.apply(nodeClass(), nodePool({ consolidateAfter: 'Never' }), deployment())
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const fixed = async () =>
  (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'fixed')

fastTest(
  'pods get nodes while the NodeClaims of a static NodePool fail, and it gets its own when they do no more',
  async () => {
    const { cluster } = world.servers.fast as FastWorld
    const end = cluster.intercept(({ verb, path, body }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims') && JSON.stringify(body).includes('"fixed"'))
        throw new ApiError(500, 'InternalError', 'Internal error occurred: failed calling webhook "fixed.example.com"')
    })
    const pool = nodePool({ name: 'fixed' })
    await world.apply({ ...pool, spec: { ...pool.spec, replicas: 1 } })
    await world.untilReady('fixed')
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    expect(await fixed()).toEqual([])
    end()
    await world.until('the static NodePool has its node', async () => (await fixed()).length === 1, 600_000)
  },
)
