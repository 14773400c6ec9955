// A repair that ends before its node goes: the end of its pods that it had fixed must not outlast it.
import { timeText } from '../../../core/values/time.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import type { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const pool = 'alder'
const policies = [
  { conditionType: 'Broken', conditionStatus: 'True', tolerationDuration: '1s', terminationGracePeriod: '6s' },
]

let faulty: FaultyWorld
let world: World

beforeAll(async () => {
  faulty = await FaultyWorld.startServers({
    FEATURE_GATES: 'NodeRepair=true',
    JOINER_REPAIR_POLICIES: JSON.stringify(policies),
    JOINER_RESYNC_INTERVAL: '5s',
  })
  world = faulty.world
  faulty.startJoiner()
  await world.apply(
    nodeClass(),
    nodePool({ name: pool, consolidateAfter: 'Never' }),
    deployment({ name: pool, replicas: 1 }),
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: pool, namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: pool } } },
    },
  )
  await faulty.untilWhole([pool])
})

afterAll(() => faulty?.stop())

async function setBroken(node: string, status: 'True' | 'False'): Promise<void> {
  const time = timeText(Date.now())
  const condition = {
    type: 'Broken',
    status,
    reason: 'Test',
    message: '',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  }
  const patch = JSON.stringify({ status: { conditions: [condition] } })
  await world.operator.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

test('a node that recovers before it is deleted for its repair drains later as if it had never been sick', async () => {
  const old = (await faulty.look()).old(pool)
  const removing = faulty.hold(old, 'remove')
  await setBroken(old.node, 'True')
  await faulty.untilReached(removing)
  await world.crash()
  await setBroken(old.node, 'False')
  await faulty.restart()
  expect((await faulty.untilWhole([pool])).old(pool)).toEqual(old)
  await world.operator.kubectl(['delete', 'nodeclaim', old.claim, '--wait=false'])
  await world.until('its drain waits for the budget', async () =>
    (await world.list('events')).some(({ reason }) => reason === 'FailedDraining'),
  )
  expect((await world.list('pods')).map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([...old.pods]))
})
