import type { Client } from '@temporalio/client'
import { defaultPayloadConverter, type Payload } from '@temporalio/common'
import proto from '@temporalio/proto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CommandFacts, LifeFacts } from '../../core/history/life.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { EncryptionCodec } from '../temporal/encryption.ts'
import { readHistory } from './history.ts'

type Info = proto.temporal.api.workflow.v1.IWorkflowExecutionInfo
type Status = keyof typeof statuses

const { WorkflowExecutionStatus } = proto.temporal.api.enums.v1
const statuses = {
  running: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
  completed: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED,
  failed: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED,
  terminated: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED,
  continued: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
}

const hour = 3_600_000
const now = Date.UTC(2026, 0, 10)
const time = (ms: number) => ({ seconds: ms / 1000, nanos: 0 }) as never
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload<unknown>(value)

let infos: Info[]
let queries: string[]
let retention: number | Error
beforeEach(() => {
  infos = []
  queries = []
  retention = 168 * hour
})

interface Listed {
  readonly status?: Status
  readonly type?: string
  readonly runId?: string
  readonly startMs?: number
  readonly memo?: Payload
  readonly attributes?: Readonly<Record<string, string>>
}

function list(workflowId: string, facts: unknown, listed: Listed = {}): void {
  const { status = 'completed', type = 'nodeClaimLifecycle', runId = 'run', startMs = now - 5 * hour } = listed
  infos.push({
    execution: { workflowId, runId },
    type: { name: type },
    status: statuses[status],
    startTime: time(startMs),
    ...(status === 'running' ? {} : { closeTime: time(now - hour) }),
    memo: { fields: { facts: listed.memo ?? payload(facts) } },
    searchAttributes: {
      indexedFields: Object.fromEntries(Object.entries(listed.attributes ?? {}).map(([key, v]) => [key, payload(v)])),
    },
  })
}

const client = (pageSize = 2, keys = new Map<string, Buffer>()): Client =>
  ({
    options: {
      namespace: 'joiner',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [new EncryptionCodec(keys)] },
    },
    workflowService: {
      listWorkflowExecutions: async ({ query, nextPageToken }: { query: string; nextPageToken: Uint8Array }) => {
        queries.push(query)
        const from = Number(Buffer.from(nextPageToken).toString() || 0)
        const next = from + pageSize
        return {
          executions: infos.slice(from, next),
          nextPageToken: Buffer.from(next < infos.length ? String(next) : ''),
        }
      },
      describeNamespace: async () => {
        if (retention instanceof Error) throw retention
        return { config: { workflowExecutionRetentionTtl: { seconds: retention / 1000 } } }
      },
    },
  }) as never

const read = (from: Client = client(), sinceMs = now - 24 * hour) =>
  readHistory(from, { cluster: 'prod', sinceMs, nowMs: now })

const uidOf = (name: string) => name.repeat(8)
const idOf = (name: string) => lifecycleId('prod', { name, uid: uidOf(name) })

const facts: LifeFacts = {
  nodePool: 'general',
  node: 'aks-a',
  createdMs: now - 5 * hour,
  vms: [
    { instanceType: 'D4', zone: '1', capacityType: 'spot', pricePerHour: 1, fromMs: now - 5 * hour, toMs: now - hour },
  ],
  came: { kind: 'pods', pods: 3 },
  went: { kind: 'deleted' },
  endedMs: now - hour,
  refused: [],
  attempts: 1,
  labels: { team: 'a' },
}
const { endedMs: _, went: __, ...alive } = facts

const command: CommandFacts = {
  id: 'drift-0123456789-01234567',
  method: 'drift',
  reason: 'Drifted',
  decision: 'replace',
  candidates: ['a'],
  replacements: ['b'],
  savings: 0.5,
  startedMs: now - 2 * hour,
}

test('commands for the same nodes have one workflow id, and each is told, also of a reset one the last run alone', async () => {
  const workflowId = 'disrupt/prod/drift-0123456789'
  const type = 'disruptionCommand'
  const at = (hours: number, suffix: string) => ({
    ...command,
    id: `drift-0123456789-${suffix}`,
    startedMs: now - hours * hour,
  })
  list(
    workflowId,
    { ...at(5, '00000001'), outcome: 'undone', message: 'no capacity' },
    { type, startMs: now - 5 * hour },
  )
  list(workflowId, at(4, '00000002'), { type, startMs: now - 4 * hour, status: 'terminated' })
  list(workflowId, { ...at(4, '00000002'), outcome: 'undone' }, { type, startMs: now - 3 * hour })
  list(workflowId, { ...at(2, '00000003'), dueMs: now - 2 * hour }, { type, startMs: now - 2 * hour })
  expect((await read()).commands.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['drift-0123456789-00000001', 'undone'],
    ['drift-0123456789-00000002', 'undone'],
  ])
})

test('lives and commands are read over pages, the oldest first', async () => {
  list(idOf('b'), { ...facts, createdMs: now - 4 * hour })
  list(idOf('a'), facts)
  list(idOf('c'), alive, { status: 'running' })
  list('disrupt/prod/drift-0123456789', { ...command, outcome: 'done' }, { type: 'disruptionCommand' })
  const second = { ...command, id: 'drift-1123456789-01234567' }
  list('disrupt/prod/drift-1123456789', second, { type: 'disruptionCommand', status: 'running' })
  // What was rejected, or waits for its commit, disrupted nothing.
  list('disrupt/prod/drift-2123456789', { ...command, dueMs: now }, { type: 'disruptionCommand' })
  const history = await read()
  expect(history.lives.map(({ nodeClaim, uid, isRunning }) => [nodeClaim, uid, isRunning])).toEqual([
    ['a', uidOf('a'), false],
    ['c', uidOf('c'), true],
    ['b', uidOf('b'), false],
  ])
  expect(history.lives[0]).toEqual({
    ...facts,
    nodeClaim: 'a',
    uid: uidOf('a'),
    workflowId: 'nodeclaim/prod/a-aaaaaaaa',
    runId: 'run',
    isRunning: false,
  })
  expect(history.commands).toEqual([{ ...command, outcome: 'done', endedMs: now - hour }, second])
  expect(history).toMatchObject({ unreadable: 0, sinceMs: now - 24 * hour, untilMs: now, retentionMs: 168 * hour })
  expect(queries).toEqual(
    Array.from(
      { length: 3 },
      () =>
        "(WorkflowType = 'nodeClaimLifecycle' OR WorkflowType = 'disruptionCommand') AND TaskQueue = 'joiner-core-prod' AND (ExecutionStatus = 'Running' OR CloseTime >= '2026-01-09T00:00:00.000Z')",
    ),
  )
})

describe('the time that Temporal covers', () => {
  test('ends with its retention', async () => {
    expect(await read(client(), now - 30 * 24 * hour)).toMatchObject({ sinceMs: now - 168 * hour })
  })

  test('is the asked time where Temporal does not say', async () => {
    retention = new Error('PermissionDenied')
    const history = await read(client(), now - 30 * 24 * hour)
    expect(history).toMatchObject({ sinceMs: now - 720 * hour })
    expect(history).not.toHaveProperty('retentionMs')
  })
})

describe('several runs of one lifecycle', () => {
  test('count as one, the one that runs', async () => {
    list(idOf('a'), alive, { status: 'running', runId: 'second', startMs: now - 2 * hour })
    list(idOf('a'), alive, { status: 'terminated', runId: 'first' })
    expect(await read()).toMatchObject({ lives: [{ runId: 'second' }], unreadable: 0 })
  })

  test('count as one, the last one', async () => {
    list(idOf('a'), alive, { status: 'terminated', runId: 'first' })
    list(idOf('a'), facts, { runId: 'second', startMs: now - 2 * hour })
    expect(await read()).toMatchObject({ lives: [{ runId: 'second' }], unreadable: 0 })
  })

  test.each([
    ['found its NodeClaim gone', alive],
    ['recorded the end again', { ...facts, endedMs: now - hour / 2, went: { kind: 'deleted' } }],
  ])('count as one, the one that ended first, where one that was reset %s', async (_, second) => {
    const went = { kind: 'expired', message: 'expired' }
    list(idOf('a'), second, { runId: 'second', startMs: now - hour })
    list(idOf('a'), { ...facts, went, drainedPods: 3 }, { runId: 'first', status: 'failed' })
    list(idOf('a'), second, { runId: 'third' })
    expect(await read()).toMatchObject({ lives: [{ runId: 'first', went, drainedPods: 3 }], unreadable: 0 })
  })

  test('that continued as new are not listed twice', async () => {
    list(idOf('a'), alive, { status: 'continued', runId: 'first', startMs: now - hour })
    expect(await read()).toMatchObject({ lives: [], unreadable: 0 })
  })
})

describe('what cannot be read is counted', () => {
  test.each<[string, unknown, Listed]>([
    ['no facts', undefined, {}],
    ['the facts of somebody else', { createdMs: 'soon' }, {}],
    ['a run that was terminated', alive, { status: 'terminated' }],
    [
      'bytes that are no JSON',
      undefined,
      { memo: { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') } },
    ],
    ['an unknown encoding', undefined, { memo: { metadata: { encoding: Buffer.from('x') }, data: Buffer.from('x') } }],
    [
      'a payload of an unknown key',
      undefined,
      {
        memo: {
          metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('gone') },
          data: Buffer.alloc(40),
        },
      },
    ],
  ])('%s', async (_, value, listed) => {
    list(idOf('a'), value, listed)
    list(idOf('b'), facts)
    expect(await read()).toMatchObject({ lives: [{ nodeClaim: 'b' }], unreadable: 1 })
  })

  test.each([
    'nodeclaim/other/a-aaaaaaaa',
    'nodeclaim/prod/a',
    'nodeclaim/prod/a/aaaaaaaa-0000-4000-8000-000000000000',
    'nodeclaim/prod/a-aaaaaaaa/more',
    'x',
  ])('the id %s', async (id) => {
    list(id, facts)
    expect(await read()).toMatchObject({ lives: [], unreadable: 1 })
  })
})

test('encrypted facts are read with the key', async () => {
  const keys = new Map([['k1', Buffer.alloc(32, 7)]])
  const [memo] = await new EncryptionCodec(keys).encode([payload(facts)])
  list(idOf('a'), undefined, memo === undefined ? {} : { memo })
  expect(await read(client(2, keys))).toMatchObject({
    lives: [{ nodeClaim: 'a', labels: { team: 'a' } }],
    unreadable: 0,
  })
})

test.each<[string, Partial<typeof alive>, number]>([
  ['whose Node has not joined', { vms: [] }, 1],
  ['whose next VM comes', { vms: alive.vms }, 1],
  ['whose node works', { vms: alive.vms.map(({ toMs: ___, ...vm }) => vm) }, 0],
  ['whose node goes', { drainingMs: now }, 0],
])('a lifecycle %s is counted as one without its VM', async (_, facts, count) => {
  list(idOf('a'), { ...alive, ...facts }, { status: 'running' })
  expect((await read()).withoutVm ?? 0).toBe(count)
})
