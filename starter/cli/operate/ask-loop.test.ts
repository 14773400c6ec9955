import { WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client'
import { expect, test } from 'vitest'
import { DryRun } from '../../document/reported-error.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { askNode, type NodeAsking } from '../node/run.ts'
import { type Asking, askLoop } from './ask-loop.ts'

interface Pending {
  readonly activityType: { readonly name: string }
  readonly attempt: number
  readonly lastFailure?: { readonly message: string }
  readonly state?: number
}

/** Temporal without a worker: updates get no answer, signals are kept. `pending`: what a worker has begun for them all the same. */
function unanswered(...pending: readonly Pending[]) {
  const sent: { readonly how: 'update' | 'signal'; readonly name: string; readonly payload: object }[] = []
  const handle = {
    executeUpdate: async ({ name }: { readonly name: string }, { args }: { readonly args: readonly [object] }) => {
      sent.push({ how: 'update', name, payload: args[0] })
      throw new WorkflowUpdateRPCTimeoutOrCancelledError('no answer')
    },
    describe: async () => ({ raw: { pendingActivities: pending } }),
    signal: async (name: string, payload: object) => void sent.push({ how: 'signal', name, payload }),
  }
  const access = {
    client: { workflow: { getHandle: () => handle } },
    connection: { withDeadline: async (_: number, ask: () => Promise<unknown>) => ask() },
    cluster: 'local',
  }
  return { access: access as unknown as TemporalAccess, sent }
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/) as string

test.each<[Asking, boolean]>([
  [{ what: 'pause', request: { reason: 'release' } }, false],
  [{ what: 'resume', request: { all: true } }, true],
])('a loop is asked with the time; left for later is %j', async (asking, isDated) => {
  const { access, sent } = unanswered()
  const { message } = (await askLoop(access, 'disruption', asking)) as { readonly message: string }
  const dated = { ...asking.request, at: time }
  expect(sent).toEqual([
    { how: 'update', name: asking.what, payload: dated },
    { how: 'signal', name: asking.what, payload: isDated ? dated : asking.request },
  ])
  expect(message.includes('within two minutes')).toBe(isDated)
})

test.each<[NodeAsking, boolean]>([
  [{ what: 'hold', request: { reason: 'core dump' } }, false],
  [{ what: 'release', request: {} }, true],
  [{ what: 'retryNow', request: {} }, true],
])('a lifecycle is asked with the time; left for later is %j', async (asking, isDated) => {
  const { access, sent } = unanswered()
  const lifecycle = { name: 'a', uid: 'u', workflowId: 'nodeclaim/local/a-u' }
  const { message } = await askNode(access, lifecycle as never, asking)
  const dated = { ...asking.request, at: time }
  expect(sent).toEqual([
    { how: 'update', name: asking.what, payload: dated },
    { how: 'signal', name: asking.what, payload: isDated ? dated : asking.request },
  ])
  expect(message.includes('within two minutes')).toBe(isDated)
})

test.each<[string, Pending, string]>([
  [
    'fails',
    { activityType: { name: 'writePause' }, attempt: 4, lastFailure: { message: 'denied by a webhook' } },
    'writePause fails, attempt 4: denied by a webhook',
  ],
  ['hangs', { activityType: { name: 'writePause' }, attempt: 1, state: 2 }, 'writePause has not ended yet'],
])('a pause whose writing %s is not said to wait for a worker, nor to be in force', async (_, pending, why) => {
  const { access, sent } = unanswered(pending)
  const asked = await askLoop(access, 'disruption', { what: 'pause', request: { reason: 'release' } })
  expect(asked).toEqual({
    kind: 'waiting',
    message: `the pause is not in force: ${why}. It is carried out once that succeeds; until then disruption goes on as before. Check: joiner status`,
  })
  expect(sent.map(({ how }) => how)).toEqual(['update'])
})

test('a hold whose writing fails is said not to be done', async () => {
  const { access, sent } = unanswered({
    activityType: { name: 'writeHold' },
    attempt: 3,
    lastFailure: { message: 'denied by a webhook' },
  })
  const asking: NodeAsking = { what: 'hold', request: { reason: 'core dump' } }
  expect(await askNode(access, { name: 'a', workflowId: 'x' } as never, asking)).toEqual({
    kind: 'waiting',
    message:
      'it is not done: writeHold fails, attempt 3: denied by a webhook. It is done once that succeeds. Check: joiner node show a',
  })
  expect(sent.map(({ how }) => how)).toEqual(['update'])
})

test('what cannot be taken back is never left for later', async () => {
  const { access, sent } = unanswered()
  const asking: NodeAsking = { what: 'forceFinish', request: { reason: 'case 43' } }
  await expect(askNode(access, { name: 'a', workflowId: 'x' } as never, asking)).rejects.toThrow('no worker answered')
  expect(sent).toEqual([{ how: 'update', name: 'forceFinish', payload: { reason: 'case 43', at: time } }])
})

test('a dry run asks nobody, and says what would be asked for', async () => {
  const { access, sent } = unanswered()
  const dry: TemporalAccess = { ...access, isDry: true }
  const lifecycle = { workflowId: 'joiner/local/nodeclaim/a', name: 'a', uid: 'u', phase: 'Ready', retried: [] }
  await expect(askLoop(dry, 'disruption', { what: 'pause', request: { reason: 'release' } })).rejects.toThrow(
    /^dry run: nothing is changed\. pause would go to workflow .*: \{"reason":"release"\}$/,
  )
  await expect(askNode(dry, lifecycle, { what: 'hold', request: { reason: 'dump' } })).rejects.toThrow(DryRun)
  expect(sent).toEqual([])
})
