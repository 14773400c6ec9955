// What people and servers do to a command in the middle: its node is held, its replacement goes, its workflow is terminated.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import type { World } from '../../world.ts'
import { lookAgain } from '../look-again.ts'
import { afterAll, afterEach, beforeAll, expect, test } from '../scenario.ts'

const pools = ['alder', 'birch', 'cedar', 'dogwood', 'ebony', 'fir']
const revision = 'revision'

/** Nodes of one expire, and those of another one are static. */
function poolOf(name: string) {
  const pool = nodePool({ name, consolidateAfter: '0s', ...(name === 'ebony' ? { expireAfter: '1m' } : {}) })
  return name === 'fir' ? { ...pool, spec: { ...pool.spec, replicas: 1 } } : pool
}

let faulty: FaultyWorld
let world: World

beforeAll(async () => {
  faulty = await FaultyWorld.startServers({ FEATURE_GATES: 'StaticCapacity=true', JOINER_RESYNC_INTERVAL: '5s' })
  world = faulty.world
  faulty.startJoiner()
  await world.apply(
    nodeClass(),
    ...pools.map(poolOf),
    ...pools.map((name) => deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } })),
  )
  await faulty.untilWhole(pools, 1, 90_000)
})

afterAll(() => faulty?.stop())

afterEach(() => faulty.reset())

/** Makes the node of a pool drift. */
async function renew(pool: string): Promise<void> {
  const spec = { template: { metadata: { labels: { [revision]: '2' } } } }
  await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, { spec })
}

const claimOf = async (name: string) =>
  (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === name)?.metadata

/** The command that runs for a pool. */
async function commandOf(pool: string) {
  const query = `WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running' AND NodePool = '${pool}'`
  const find = async () => {
    for await (const { workflowId } of world.temporal.workflow.list({ query })) return workflowId
    return undefined
  }
  return world.temporal.workflow.getHandle(await world.until('its command is listed', find))
}

/** Waits until the replacement of a node waits to be initialized. Returns it, and what lets it be. */
async function replacing(pool: string) {
  const old = (await faulty.look()).old(pool)
  const starting = faulty.hold(old, 'initialize')
  await renew(pool)
  await faulty.untilReached(starting)
  const replacement = (await faulty.look()).olds(pool).find(({ uid }) => uid !== old.uid)
  return { old, starting, replacement: replacement?.claim ?? '' }
}

test('a node that is held while its deletion is on its way stays', async () => {
  const pool = 'alder'
  const old = (await faulty.look()).old(pool)
  const removing = faulty.hold(old, 'remove')
  await renew(pool)
  await faulty.untilReached(removing)
  await world.joiner('node', 'hold', old.claim, '--reason', 'debugging')
  const command = await commandOf(pool)
  removing.release()
  await command.result()
  expect(await claimOf(old.claim)).not.toHaveProperty('deletionTimestamp')
})

test('so does a replacement that has got a pod while its deletion is on its way', async () => {
  const pool = 'dogwood'
  const { old, starting, replacement } = await replacing(pool)
  const discarding = faulty.hold(old, 'discard')
  await world.operator.kubectl(['annotate', 'pod', ...old.pods, 'karpenter.sh/do-not-disrupt=true'])
  starting.release()
  await faulty.untilReached(discarding)
  await world.scale(pool, 2)
  await world.until('the second pod runs', async () => (await world.running(pool)) === 2)
  // As Joiner itself does a moment later, since a pod came.
  await world.operator.kubectl(['label', 'nodeclaim', replacement, 'team=a'])
  discarding.release()
  const after = await faulty.untilWhole([pool], 2)
  expect(after.olds(pool).map(({ claim }) => claim)).toContain(replacement)
})

test('so does a node that is held with its expiry while it is about to expire', async () => {
  const pool = 'ebony'
  const old = (await faulty.look()).old(pool)
  const removing = faulty.hold(old, 'remove')
  await faulty.untilReached(removing)
  await world.joiner('node', 'hold', old.claim, '--expiry', '--reason', 'debugging')
  removing.release()
  await lookAgain(world)
  expect(await claimOf(old.claim)).not.toHaveProperty('deletionTimestamp')
})

test('so does a node of a static NodePool that is held while the pool is scaled down', async () => {
  const pool = 'fir'
  const old = (await faulty.look()).old(pool)
  const removing = faulty.hold(old, 'remove')
  await world.operator.kubectl(['scale', 'nodepool', pool, '--replicas=0'])
  await faulty.untilReached(removing)
  await world.joiner('node', 'hold', old.claim, '--reason', 'debugging')
  removing.release()
  await lookAgain(world)
  expect(await claimOf(old.claim)).not.toHaveProperty('deletionTimestamp')
})

test('a replacement that somebody deletes while Temporal is away takes no node with it', async () => {
  const pool = 'birch'
  const { old, starting, replacement } = await replacing(pool)
  const command = await commandOf(pool)
  const back = world.restartServer('temporal', 30_000)
  starting.release()
  await world.until('the replacement is initialized', async () =>
    (await world.list('nodeclaims')).some(
      ({ metadata, status }) =>
        metadata.name === replacement &&
        status?.conditions?.some(({ type, status: value }) => type === 'Initialized' && value === 'True'),
    ),
  )
  await world.operator.kubectl(['delete', 'nodeclaim', replacement, '--wait=false'])
  await back
  expect(await command.result()).toMatchObject({ outcome: 'undone' })
  expect(await claimOf(old.claim)).not.toHaveProperty('deletionTimestamp')
})

test('a command that is terminated in Temporal leaves no taint, also while disruption is paused', async () => {
  const pool = 'cedar'
  const { old, starting } = await replacing(pool)
  await world.joiner('pause', '--reason', 'something is wrong')
  await (await commandOf(pool)).terminate('something is wrong')
  starting.release()
  expect((await faulty.untilWhole([pool])).old(pool)).toEqual(old)
})
