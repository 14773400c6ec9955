import { type Client, defaultPayloadConverter, isGrpcServiceError } from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import proto from '@temporalio/proto'

const grpcNotFound = 5
const Status = proto.temporal.api.enums.v1.WorkflowExecutionStatus

/** A run of a workflow as Temporal's list shows it. */
export interface WorkflowRun {
  readonly type: string
  readonly workflowId: string
  readonly runId: string
  readonly isRunning: boolean
  /** It was followed by another run of the same execution. */
  readonly isContinued: boolean
  /** Epoch ms. */
  readonly startMs: number
  readonly closeMs?: number
  /** Returns a search attribute of type Keyword; undefined when it is not set or is no text. */
  readonly attribute: (name: string) => string | undefined
  /** Decodes one entry of the memo; undefined when there is none, or when it cannot be decoded. */
  readonly memo: (key: string) => Promise<unknown>
}

/**
 * Lists runs without decoding their memos, which the list of Temporal's library does: one memo that is encrypted with an unknown key, whoever wrote
 * it, would end that list. Errors: Temporal's.
 */
export async function* listRuns(
  client: Client,
  query: string,
  pageSize = 1000,
): AsyncGenerator<WorkflowRun, undefined, undefined> {
  const { namespace, loadedDataConverter: converter } = client.options
  let nextPageToken: Uint8Array = Buffer.alloc(0)
  do {
    const page = await client.workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken })
    for (const info of page.executions) yield runOf(info, converter)
    nextPageToken = page.nextPageToken
  } while (nextPageToken.length > 0)
}

/** Returns the open run of a workflow, likewise; undefined where there is none. Errors: Temporal's, except that there is no such workflow. */
export async function openRun(client: Client, workflowId: string): Promise<WorkflowRun | undefined> {
  const { namespace, loadedDataConverter: converter } = client.options
  try {
    const { workflowExecutionInfo: info } = await client.workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId },
    })
    const run = info == null ? undefined : runOf(info, converter)
    return run?.isRunning === true ? run : undefined
  } catch (error) {
    const code: number = isGrpcServiceError(error) ? error.code : 0
    if (code === grpcNotFound) return undefined
    throw error
  }
}

/** Returns whether a workflow has an open run. Errors: as `openRun`. */
export async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  return (await openRun(client, workflowId)) !== undefined
}

type Converter = Client['options']['loadedDataConverter']

function runOf(info: proto.temporal.api.workflow.v1.IWorkflowExecutionInfo, converter: Converter): WorkflowRun {
  const { execution, type, status, startTime, closeTime, memo, searchAttributes } = info
  return {
    type: type?.name ?? '',
    workflowId: execution?.workflowId ?? '',
    runId: execution?.runId ?? '',
    isRunning: status === Status.WORKFLOW_EXECUTION_STATUS_RUNNING,
    isContinued: status === Status.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
    startMs: msOf(startTime) ?? 0,
    ...(closeTime == null ? {} : { closeMs: msOf(closeTime) ?? 0 }),
    attribute: (name) => keyword(searchAttributes?.indexedFields?.[name]),
    memo: (key) => decoded(memo?.fields?.[key], converter),
  }
}

function keyword(payload: Payload | null | undefined): string | undefined {
  try {
    const value: unknown = payload == null ? undefined : defaultPayloadConverter.fromPayload(payload)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

async function decoded(payload: Payload | null | undefined, converter: Converter): Promise<unknown> {
  if (payload == null) return undefined
  try {
    let plain = [payload]
    for (const codec of converter.payloadCodecs.toReversed()) plain = await codec.decode(plain)
    return plain[0] && converter.payloadConverter.fromPayload(plain[0])
  } catch {
    return undefined
  }
}

function msOf(time: proto.google.protobuf.ITimestamp | null | undefined): number | undefined {
  return time == null ? undefined : Number(time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1_000_000)
}
