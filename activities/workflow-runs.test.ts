import { type Client, defaultPayloadConverter } from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import proto from '@temporalio/proto'
import { describe, expect, test } from 'vitest'
import { isRunning, listRuns, type WorkflowRun } from './workflow-runs.ts'

const { WorkflowExecutionStatus } = proto.temporal.api.enums.v1
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload<unknown>(value)
const startTime = { seconds: 1_767_225_600, nanos: 250_000_000 }

type Info = Readonly<Record<string, unknown>>

/** A Temporal with these runs, two on a page. */
function clientOf(infos: readonly Info[], described: () => Info = () => ({})): Client {
  return {
    options: {
      namespace: 'joiner',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    workflowService: {
      listWorkflowExecutions: async ({ nextPageToken }: { readonly nextPageToken: Uint8Array }) => {
        const from = Number(Buffer.from(nextPageToken).toString() || 0)
        const next = from + 2
        return {
          executions: infos.slice(from, next),
          nextPageToken: Buffer.from(next < infos.length ? String(next) : ''),
        }
      },
      describeWorkflowExecution: async () => ({ workflowExecutionInfo: described() }),
    },
  } as never
}

const info = (workflowId: string, more: Info = {}): Info => ({
  execution: { workflowId, runId: `run-of-${workflowId}` },
  type: { name: 'nodeClaimLifecycle' },
  status: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
  startTime,
  ...more,
})

async function collected(runs: AsyncIterable<WorkflowRun>): Promise<readonly WorkflowRun[]> {
  const all: WorkflowRun[] = []
  for await (const run of runs) all.push(run)
  return all
}

describe('a list of runs', () => {
  test('goes over all pages', async () => {
    const found: string[] = []
    for await (const { workflowId } of listRuns(clientOf(['a', 'b', 'c', 'd', 'e'].map((id) => info(id))), ''))
      found.push(workflowId)
    expect(found).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('has states and times', async () => {
    const closed = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
    const [open, done] = await collected(
      listRuns(clientOf([info('a'), info('b', { status: closed, closeTime: startTime })]), ''),
    )
    expect(open).toMatchObject({
      type: 'nodeClaimLifecycle',
      runId: 'run-of-a',
      isRunning: true,
      isContinued: false,
      startMs: 1_767_225_600_250,
    })
    expect(open).not.toHaveProperty('closeMs')
    expect(done).toMatchObject({ isRunning: false, isContinued: true, closeMs: 1_767_225_600_250 })
  })

  test.each<[string, Payload | undefined, unknown]>([
    ['a text', payload('Ready'), 'Ready'],
    ['a number', payload(5), undefined],
    ['nothing', undefined, undefined],
    [
      'bytes that are no JSON',
      { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') },
      undefined,
    ],
    [
      'an unknown encoding',
      { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('x') },
      undefined,
    ],
  ])('reads %s as attribute and memo, and ends for none of them', async (_, value, attribute) => {
    const more = {
      searchAttributes: { indexedFields: { NodePhase: value } },
      memo: { fields: { facts: value } },
    }
    const [run, next] = await collected(listRuns(clientOf([info('a', more), info('b')]), ''))
    expect(run?.attribute('NodePhase')).toBe(attribute)
    expect(run?.attribute('constructor')).toBeUndefined()
    const memo = await run?.memo('facts')
    expect(typeof memo === 'string' ? memo : undefined).toBe(attribute)
    expect(next?.workflowId).toBe('b')
  })
})

describe('whether a workflow runs', () => {
  const { WORKFLOW_EXECUTION_STATUS_RUNNING: open, WORKFLOW_EXECUTION_STATUS_TERMINATED: ended } =
    WorkflowExecutionStatus
  const failing = (code: number) => () => {
    throw Object.assign(new Error('from Temporal'), { code, details: '', metadata: {} })
  }

  test.each<[string, () => Info, boolean]>([
    ['open', () => ({ status: open, memo: { fields: { facts: { data: Buffer.from('?') } } } }), true],
    ['ended', () => ({ status: ended }), false],
    ['unknown', failing(5), false],
  ])('%s', async (_, described, expected) => {
    expect(await isRunning(clientOf([], described), 'a')).toBe(expected)
  })

  test('is not known when Temporal does not answer', async () => {
    await expect(isRunning(clientOf([], failing(14)), 'a')).rejects.toThrow('from Temporal')
  })
})
