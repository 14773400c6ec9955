import { ApplicationFailure } from '@temporalio/common'
import { beforeAll, expect, test } from 'vitest'
import type { Leaving } from '../../../core/history/life.ts'
import { notBeingDeleted } from '../../../core/node-claim/lifecycle.ts'
import { workflowBundle } from '../../../workers/bundle.ts'
import { objections } from './judge.ts'
import { OneLife } from './one-life.ts'
import { WorkflowHost } from './workflow-host.ts'

let host: WorkflowHost

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

/** A node that rests. `looks`: how often it was looked at since. */
async function resting(): Promise<{ readonly life: OneLife; readonly looks: () => number }> {
  const life = new OneLife(host)
  const observe = life.activities['observe'] as () => Promise<unknown>
  let looks = 0
  life.activities['observe'] = () => {
    looks += 1
    return observe()
  }
  life.startProcess()
  life.begin()
  await life.until('rest', () => life.phase() === 'Ready')
  looks = 0
  return { life, looks: () => looks }
}

const resultOf = ({ history }: OneLife['run']) => {
  const [ended] = history.of('workflowExecutionCompletedEventAttributes')
  return JSON.parse(Buffer.from(ended?.result?.payloads?.[0]?.data ?? []).toString())
}

const drifted: Leaving = {
  went: { kind: 'disruption', command: 'c', reason: 'Drifted' },
  drainingMs: 1_893_456_000_000,
}

test('a poke that says why the NodeClaim goes begins the drain without a look, and the result has it', async () => {
  const { life, looks } = await resting()
  life.delete(drifted)
  await life.until('the end', () => !life.run.isRunning)
  expect([life.run.status, looks()]).toEqual(['completed', 0])
  expect(resultOf(life.run)).toMatchObject({ outcome: 'disruption', reason: 'Drifted (command c)' })
  expect(await objections(host, life.temporal.runs)).toEqual([])
})

test.each([
  ['without a reason', []],
  ['with one that cannot be read', [{ went: { kind: 'why' }, drainingMs: 1 }]],
])('a poke %s is looked into', async (_, said) => {
  const { life, looks } = await resting()
  life.delete(...said)
  await life.until('the end', () => !life.run.isRunning)
  expect([life.run.status, looks()]).toEqual(['completed', 1])
})

test('a poke that is wrong, or that a restore of etcd has overtaken, ends nothing: the drain refuses, and the node rests again', async () => {
  const { life, looks } = await resting()
  const drain = life.activities['drain'] as () => Promise<unknown>
  life.activities['drain'] = async () => {
    throw ApplicationFailure.nonRetryable('metadata.deletionTimestamp is not set', notBeingDeleted)
  }
  life.signal('observeAgain', 'forged', drifted)
  await life.until('a look', () => looks() === 1)
  await life.until('rest', () => life.phase() === 'Ready')
  expect(life.run.history.of('activityTaskScheduledEventAttributes').at(-1)?.activityType?.name).toBe('drain')
  expect(life.run.isRunning).toBe(true)
  // It leaves no trace in why the node went when somebody deletes it later.
  life.activities['drain'] = drain
  life.delete()
  await life.until('the end', () => !life.run.isRunning)
  expect(resultOf(life.run)).toMatchObject({ outcome: 'deleted' })
})
