import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import {
  applyUpdate,
  consolidateNowSignal,
  forceFinishUpdate,
  type LoopStatus,
  lifecycleStatusQuery,
  loopStatusQuery,
  pauseSignal,
  resumeSignal,
} from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { resetToFirstTask } from '../../faults/reset.ts'
import { patient } from '../../runner/patience.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

// Nothing is consolidated by itself: the wait is longer than the test.
const pool = nodePool({ consolidateAfter: '1h' })

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(pool, nodeClass(), deployment({ apart: true }))
  await world.scale('inflate', 3)
  await world.untilRunning(3)
})

afterAll(() => world?.stop())

const loops = ['provisioning', 'disruption'] as const
type Loop = (typeof loops)[number]

async function pauseAndResume(loop: Loop): Promise<void> {
  const which = loop === 'provisioning' ? ['--provisioning'] : []
  await world.joiner('pause', ...which, '--reason', 'an old one')
  await world.joiner('resume', ...which)
}

const idOf = ({ metadata }: Seen) => lifecycleId(clusterName, metadata)
const loopId = (loop: Loop) => `${loop}/${clusterName}`

/** Waits until a run shows that it has refused requests, of which the last one is named. */
async function untilRefused(workflowId: string, what: string): Promise<void> {
  await world.until(`${workflowId} has refused ${what}`, async () => {
    const { currentDetails = '' } = await world.temporal.workflow
      .getHandle(workflowId)
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata')

    return currentDetails.includes(`Refused: ${what}`)
  })
}

const holdOf = async (claim: Seen) => {
  const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.uid === claim.metadata.uid)
  return found?.metadata.annotations?.['joiner.sh/hold-until']
}

const phaseOf = async (claim: Seen) => {
  const { phase } = await world.temporal.workflow.getHandle(idOf(claim)).query(lifecycleStatusQuery)
  return phase
}
const eventsOf = async (reason: string) => (await world.list('events')).filter((event) => event.reason === reason)
const statusOf = (loop: Loop): Promise<LoopStatus> => world.loop(loop).query(loopStatusQuery)

test('a reset repeats no request that removes nodes, holds them or pauses', async () => {
  const [held, released, asked] = (await world.list('nodeclaims')) as [Seen, Seen, Seen]
  const annotate = (claim: Seen, value: string) =>
    world.operator.kubectl([
      'annotate',
      '--overwrite',
      'nodeclaim',
      claim.metadata.name,
      `joiner.sh/hold-until${value}`,
    ])

  await world.scale('inflate', 0)
  await world.until('the pods are gone', async () => (await world.list('pods')).length === 0)
  const { id } = JSON.parse(await world.joiner('plan', '--ignore-consolidate-after', '--output', 'json')) as {
    readonly id: string
  }
  await world.scale('inflate', 3)
  await world.untilRunning(3)
  // All nodes are used, so nothing goes.
  await world.loop('disruption').signal(consolidateNowSignal, dated())
  expect(await world.joiner('consolidate')).toContain('nothing to do now')
  const applied = await world.loop('disruption').executeUpdate(applyUpdate, { args: [dated({ id })] })
  expect(applied.kind).toBe('changed')
  for (const loop of loops) await pauseAndResume(loop)
  // What was asked for is taken back in another way, so that a repetition would show.
  await world.joiner('node', 'hold', held.metadata.name, '--reason', 'an old one')
  await world.joiner('node', 'release', held.metadata.name)
  await annotate(held, '=released')
  await world.joiner('node', 'hold', released.metadata.name, '--reason', 'an old one')
  await annotate(released, '-')
  await world.joiner('node', 'retry', asked.metadata.name)
  const force = dated({ reason: 'an old one', leaveVm: true })
  const refused = await world.temporal.workflow
    .getHandle(idOf(asked))
    .executeUpdate(forceFinishUpdate, { args: [force] })
  expect(refused.kind).toBe('refused')
  const retries = (await eventsOf('RetryNow')).length
  const sentMs = Date.now()

  await world.scale('inflate', 0)
  await world.until('the requests are old', async () => Date.now() - sentMs > 130_000, patient(200_000))
  // Now the nodes are empty, and the deletion of one hangs: each request would have an effect.
  const operation = 'DELETE virtualMachines'
  await world.fault({ kind: 'failSync', operation, code: 'AuthorizationFailed', status: 403, count: 100_000 })
  await world.operator.kubectl(['delete', 'nodeclaim', asked.metadata.name, '--wait=false'])
  await world.until('the VM is to be deleted', async () => (await phaseOf(asked)) === 'Terminating')

  await resetToFirstTask(world.temporal, loopId('disruption'))
  await untilRefused(loopId('disruption'), 'resume: at')
  await resetToFirstTask(world.temporal, loopId('provisioning'))
  await untilRefused(loopId('provisioning'), 'resume: at')
  for (const claim of [held, released, asked]) await resetToFirstTask(world.temporal, idOf(claim))
  await untilRefused(idOf(held), 'release: at')
  await untilRefused(idOf(released), 'hold: at')
  await untilRefused(idOf(asked), 'forceFinish: at')
  await world.until('its deletion goes on', async () => (await phaseOf(asked)) === 'Terminating')
  expect([await holdOf(held), await holdOf(released)]).toEqual(['released', undefined])
  expect(await eventsOf('RetryNow')).toHaveLength(retries)
  for (const loop of loops) expect((await statusOf(loop)).pause).toBeUndefined()

  // A request that is made now is carried out, and is the first one that takes a node.
  await world.operator.simulator('DELETE', '/faults')
  await world.until('the deleted node is gone', async () => (await world.list('nodes')).length === 2)
  await world.loop('disruption').signal(consolidateNowSignal, dated())
  await world.until('the node that is not held is gone', async () => (await world.list('nodes')).length === 1)
  // Its NodeClaim goes last.
  await world.until('so is its NodeClaim', async () => (await world.list('nodeclaims')).length === 1)
  expect((await world.list('nodeclaims')).map(({ metadata }) => metadata.uid)).toEqual([held.metadata.uid])
})

test('a reset loop obeys the pauses that are in force, not those of its past', async () => {
  for (const loop of loops) await pauseAndResume(loop)
  await world.joiner('pause', '--reason', 'the last one')
  const sentMs = Date.now()
  await world.until('the requests are old', async () => Date.now() - sentMs > 130_000, patient(200_000))
  for (const loop of loops) {
    await resetToFirstTask(world.temporal, loopId(loop))
    await untilRefused(loopId(loop), 'resume: at')
  }
  expect((await statusOf('disruption')).pause?.reason).toBe('the last one')
  expect((await statusOf('provisioning')).pause).toBeUndefined()
})

test('without a time a signal brakes, and lifts no brake and removes no node', async () => {
  await world.loop('disruption').signal(resumeSignal)
  await untilRefused(loopId('disruption'), 'resume: at: state when this is asked for')
  expect((await statusOf('disruption')).pause?.reason).toBe('the last one')
  await world.loop('disruption').signal(resumeSignal, dated())
  await world.until('it is resumed', async () => (await statusOf('disruption')).pause === undefined)
  await world.loop('disruption').signal(consolidateNowSignal)
  await untilRefused(loopId('disruption'), 'consolidate: at: state when this is asked for')
  await world.loop('provisioning').signal(pauseSignal)
  await world.until('it is paused', async () => (await statusOf('provisioning')).pause !== undefined)
  await world.joiner('resume', '--provisioning')
})
