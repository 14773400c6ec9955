import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import {
  applyUpdate,
  consolidateNowSignal,
  consolidateUpdate,
  forceFinishSignal,
  forceFinishUpdate,
  holdSignal,
  holdUpdate,
  loopStatusQuery,
  pauseSignal,
  pauseUpdate,
  planUpdate,
  pokeSignal,
  releaseSignal,
  releaseUpdate,
  resumeSignal,
  resumeUpdate,
  retryNowSignal,
  retryNowUpdate,
} from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { UnreadableMessages, unreadablePayloads } from '../../faults/unreadable-payloads.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

let world: World
let claim: Seen
let send: UnreadableMessages

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  send = new UnreadableMessages(world)
  await world.startWithPool(nodePool(), nodeClass(), deployment({ apart: true, replicas: 1 }))
  await world.untilRunning(1)
  claim = (await world.list('nodeclaims'))[0] as Seen
})

afterAll(() => world?.stop())

const lifecycle = () => lifecycleId(clusterName, claim.metadata)
const provisioning = `provisioning/${clusterName}`
const disruption = `disruption/${clusterName}`

/** Workflow tasks that failed, of all runs. */
async function failedTasks(): Promise<number> {
  const histories = [...(await world.histories()).values()]
  return histories.reduce((count, history) => count + history.split('EVENT_TYPE_WORKFLOW_TASK_FAILED').length - 1, 0)
}

describe.each(Object.entries(unreadablePayloads))('a payload %s', (_, payload) => {
  test('of an update is refused with an answer, whichever workflow it is for', async () => {
    const asked = [
      ...[holdUpdate, releaseUpdate, retryNowUpdate, forceFinishUpdate].map((each) => [lifecycle(), each] as const),
      ...[pauseUpdate, resumeUpdate].map((each) => [provisioning, each] as const),
      ...[pauseUpdate, resumeUpdate, planUpdate, applyUpdate, consolidateUpdate].map(
        (each) => [disruption, each] as const,
      ),
    ]
    for (const [workflowId, each] of asked)
      expect(await send.update(workflowId, each, payload)).toMatch(
        new RegExp(`^${each.name}: the payload cannot be read \\(.+\\); send it as JSON$`),
      )
  })

  test('of a signal or a query stops nothing: no workflow task fails, and a new pod gets its node', async () => {
    const { length } = await world.list('nodes')
    for (const each of [pokeSignal, releaseSignal, retryNowSignal, forceFinishSignal])
      await send.signal(lifecycle(), each, payload)
    await send.signal(provisioning, resumeSignal, payload)
    for (const each of [resumeSignal, consolidateNowSignal]) await send.signal(disruption, each, payload)
    for (const workflowId of [lifecycle(), provisioning, disruption])
      expect(await send.query(workflowId, payload)).toMatchObject({ sinceMs: expect.any(Number) })
    await world.scale('inflate', length + 1)
    await world.untilRunning(length + 1)
    expect(await failedTasks()).toBe(0)
  })
})

test('a pause that cannot be read is in force all the same, and says so', async () => {
  const payload = unreadablePayloads['of an encoding that Joiner does not know']
  await send.signal(provisioning, pauseSignal, payload)
  const { pause } = await world.until('provisioning is paused', async () => {
    const status = await world.loop('provisioning').query(loopStatusQuery)
    return status.pause !== undefined && status
  })
  expect(pause?.reason).toBe(
    'no reason given; what it says cannot be read (Unknown encoding: json/protobuf): all is paused',
  )
  await world.loop('provisioning').signal(resumeSignal, dated())
  await world.until(
    'it is resumed',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause === undefined,
  )
  expect(await failedTasks()).toBe(0)
})

test('a hold that cannot be read holds the node, and says so', async () => {
  await send.signal(lifecycle(), holdSignal, unreadablePayloads['that is no JSON'])
  const held = await world.until('the node is held', async () =>
    (await world.list('events')).find(
      ({ reason, involvedObject }) => reason === 'NodeHeld' && involvedObject?.name === claim.metadata.name,
    ),
  )
  expect(held.message).toMatch(/what it says cannot be read \(.*JSON.*\): no end/)
})
