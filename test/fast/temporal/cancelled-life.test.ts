import { beforeAll, expect, test } from 'vitest'
import { workflowBundle } from '../../../workers/bundle.ts'
import { objections } from './judge.ts'
import { OneLife } from './one-life.ts'
import { WorkflowHost } from './workflow-host.ts'

let host: WorkflowHost

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

/** A life whose cancellations come to what the test says. */
function cancellable(...outcomes: readonly ('refused' | 'deleted' | 'late')[]): OneLife {
  const life = new OneLife(host)
  const left = [...outcomes]
  life.activities['takeCancellation'] = async () => {
    const kind = left.shift()
    if (kind === 'deleted') life.story.isDeleted = true
    return kind === 'refused' ? { kind, message: 'it is held' } : { kind }
  }
  life.startProcess()
  life.begin()
  return life
}

const activitiesOf = ({ history }: OneLife['run']) =>
  history.of('activityTaskScheduledEventAttributes').map(({ activityType }) => activityType?.name)

test.each(['Launching', 'Registering', 'Initializing', 'Ready'])(
  'a cancellation in the phase %s: refused, a new run goes on; obeyed, this run drains and still answers',
  async (phase) => {
    const life = cancellable('refused', 'deleted')
    await life.until(phase, () => life.phase() === phase)
    const refused = life.run
    life.temporal.cancelRun(refused, 'by mistake')
    await life.until('a new run', () => life.run !== refused)
    await life.until('rest', () => life.phase() === 'Ready')
    expect(refused.status).toBe('continuedAsNew')

    const { run } = life
    life.temporal.cancelRun(run, 'on purpose')
    await life.until('the drain', () => life.phase() === 'Draining')
    let answer: unknown
    void life.update('retryNow', {}).then((said) => {
      answer = said
    })
    await life.until('an answer', () => answer !== undefined)
    expect(answer).toMatchObject({ kind: 'done' })
    await life.until('the end', () => !run.isRunning)
    expect([life.run.status, life.temporal.runs.length]).toEqual(['completed', 2])
    const steps = activitiesOf(run)
    expect(steps[steps.indexOf('takeCancellation') + 1]).toBe('drain')
    expect(await objections(host, life.temporal.runs)).toEqual([])
  },
)

test('what was asked for before a cancellation is carried out before it, and what comes meanwhile too', async () => {
  const life = cancellable('refused')
  await life.until('rest', () => life.phase() === 'Ready')
  const { run } = life
  const holds = [life.update('hold', { reason: 'before' })]
  life.temporal.cancelRun(run, 'by mistake')
  holds.push(life.update('hold', { reason: 'after' }))
  await life.until('a new run', () => life.run !== run)
  expect(await Promise.all(holds)).toEqual([
    { kind: 'done', message: 'held until noon' },
    { kind: 'done', message: 'held until noon' },
  ])
  expect(activitiesOf(run).slice(-3)).toEqual(['writeHold', 'writeHold', 'takeCancellation'])
})

test('a claim that goes already: the run goes on as if nothing was asked', async () => {
  const life = cancellable('late')
  await life.until('rest', () => life.phase() === 'Ready')
  life.delete()
  await life.until('the drain', () => life.phase() === 'Draining')
  const { run } = life
  life.temporal.cancelRun(run, 'too late')
  await life.until('the end', () => !run.isRunning)
  expect([run.status, life.temporal.runs.length]).toEqual(['completed', 1])
  expect(activitiesOf(run).filter((name) => name === 'drain')).toHaveLength(1)
})
