import { consolidateUpdate, loopStatusQuery, pauseSignal, resumeSignal } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { untilResyncs } from '../../observed/metrics.ts'
import { summaries } from '../../observed/summaries.ts'
import { patient } from '../../runner/patience.ts'
import { World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const made = 5

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '2s' })
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true, replicas: made }))
  await world.untilReady('general')
  await world.untilRunning(made)
})

afterAll(() => world?.stop())

const deletes = async () => (await world.journal()).filter(({ method }) => method === 'DELETE').length

/** Ids of the disruption commands that were ever started. */
async function commands(): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { workflowId } of world.temporal.workflow.list({ query: "WorkflowType = 'disruptionCommand'" }))
    found.push(workflowId)
  return found
}

test('a paused disruption loop taints and deletes nothing, also when its workflow was lost', async () => {
  await world.loop('disruption').signal(pauseSignal, { reason: 'audit' })
  await world.scale('inflate', 0)
  await world.until(
    'the pause is in force',
    async () => (await world.loop('disruption').query(loopStatusQuery)).pause?.reason === 'audit',
  )
  await world.loop('disruption').terminate('lost on purpose')
  await world.until(
    'the bootstrap has started it again, still paused',
    async () => (await world.loop('disruption').query(loopStatusQuery)).pause?.reason === 'audit',
  )
  // The empty nodes are due: a command would have been started by now.
  await untilResyncs(world, 5)
  expect(await commands()).toEqual([])
  const nodes = await world.list('nodes')
  expect(nodes).toHaveLength(made)
  expect(nodes.filter(({ spec }) => spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'))).toEqual([])
  expect(await deletes()).toBe(0)
  expect((await world.loop('disruption').describe()).historyLength).toBeLessThan(20)
  await world.loop('disruption').signal(resumeSignal, dated())
  await world.untilNothingLeft(120_000)
})

test('a pause with an end ends by itself', async () => {
  await world.loop('provisioning').signal(pauseSignal, {
    reason: 'coffee',
    by: 'alice',
    until: new Date(Date.now() + 4000).toISOString(),
  })
  await world.scale('inflate', 1)
  await world.until(
    'the pause is in force',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause?.reason === 'coffee',
  )
  expect(await world.list('nodeclaims')).toHaveLength(0)
  await world.untilRunning(1)
  const says = /^provisioning is paused by alice until 20\S+Z: coffee$/
  const loop = world.loop('provisioning')
  expect(await summaries(loop, {})).toEqual([expect.stringMatching(says)])
  expect(await summaries(loop, { activity: 'writePause' })).toEqual([expect.stringMatching(says), 'the pause is over'])
})

test('odd payloads and a cancelled loop stop nothing for good', async () => {
  await world.loop('provisioning').signal('pause', null)
  await world.until(
    'the pause is in force',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause !== undefined,
  )
  await world.loop('provisioning').signal('pause', { reason: 7, until: 'tomorrow' })
  await world.until('the loop says what it ignored', async () =>
    (await world.loop('provisioning').query(loopStatusQuery)).pause?.reason.includes('tomorrow'),
  )
  await world.loop('provisioning').signal(resumeSignal, dated())
  await world.until(
    'the pause is lifted',
    async () => (await world.loop('provisioning').query(loopStatusQuery)).pause === undefined,
  )
  const { runId } = await world.loop('provisioning').describe()
  await world.loop('provisioning').cancel()
  await world.until('the bootstrap has started it again', async () => {
    const now = await world.loop('provisioning').describe()
    return now.runId !== runId && now.status.name === 'RUNNING'
  })
  await world.scale('inflate', 2)
  await world.untilRunning(2)
})

test('what came together with the cancellation of its loop is in force in the next run', async () => {
  await world.loop('provisioning').signal(pauseSignal, { reason: 'over soon' })
  const pauseOf = async (name: 'provisioning' | 'disruption') =>
    (await world.loop(name).query(loopStatusQuery)).pause?.reason
  await world.until('the pause is in force', async () => (await pauseOf('provisioning')) === 'over soon')
  // One task of the workflow hears of both.
  await world.cluster.supervisor.stop('joiner')
  await world.loop('provisioning').signal(resumeSignal, dated())
  await world.loop('disruption').signal(pauseSignal, { reason: 'release day' })
  const answer = world.loop('disruption').executeUpdate(consolidateUpdate, { args: [dated()] })
  const failed = answer.then(
    () => undefined,
    (error: Error) => error,
  )
  const cancelled = await Promise.all(
    (['provisioning', 'disruption'] as const).map(async (name) => {
      const { runId } = await world.loop(name).describe()
      await world.loop(name).cancel()
      return { name, runId }
    }),
  )
  world.startJoiner()
  for (const { name, runId } of cancelled) {
    await world.until(
      `the ${name} loop has begun again`,
      async () => (await world.loop(name).describe()).runId !== runId,
    )
    const { status } = await world.temporal.workflow.getHandle(world.loop(name).workflowId, runId).describe()
    expect(status.name).toBe('CANCELLED')
  }
  expect(await failed).toBeInstanceOf(Error)
  await world.until('the disruption loop is paused', async () => (await pauseOf('disruption')) === 'release day')
  expect(await pauseOf('provisioning')).toBeUndefined()
  await world.loop('disruption').signal(resumeSignal, dated())
})

test('a pause holds however long nobody is there to take it, and a resume expires', async () => {
  await world.cluster.supervisor.stop('joiner')
  // As the command line leaves them.
  const resume = dated({ by: 'alice' })
  await world.loop('provisioning').signal(pauseSignal, { reason: 'an outage' })
  await world.loop('provisioning').signal(resumeSignal, resume)
  await world.until('both are old', async () => Date.now() - Date.parse(resume.at) > 130_000, patient(200_000))
  world.startJoiner()
  await world.until('the resume is refused', async () => {
    const { currentDetails = '' } = await world
      .loop('provisioning')
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata')
    return currentDetails.includes('Refused: resume')
  })
  expect((await world.loop('provisioning').query(loopStatusQuery)).pause?.reason).toBe('an outage')
  await world.joiner('resume', '--provisioning')
})
