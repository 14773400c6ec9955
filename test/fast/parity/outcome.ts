import type { Client } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import { optionalTsToMs } from '@temporalio/common/lib/time.js'
import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import type { Row } from './row.ts'

type HistoryEvent = temporal.api.history.v1.IHistoryEvent
type Failure = temporal.api.failure.v1.IFailure
type Payloads = temporal.api.common.v1.IPayloads | null | undefined

/** What came of a row: the answers of its acts, its result, and the events of its runs but for workflow tasks, whose number depends on speed. */
export interface Outcome {
  readonly answers: readonly string[]
  readonly result: string
  readonly events: readonly string[]
}

export interface World {
  readonly client: Client
  /** Waits in the world's own time. */
  readonly sleep: (ms: number) => Promise<void>
  /** Waits until a workflow has done all that it can do now, however busy the machine is. */
  readonly atRest: (workflowId: string) => Promise<void>
  /** Histories of all runs of a workflow, oldest first. */
  readonly histories: (workflowId: string) => Promise<readonly (readonly HistoryEvent[])[]>
}

const textOf = (error: unknown): string => {
  const { message, cause } = error as { readonly message: string; readonly cause?: { readonly message?: string } }
  return cause?.message === undefined ? message : `${message}: ${cause.message}`
}

/** Plays a row in a world. */
export async function play(row: Row, { client, sleep, atRest, histories }: World): Promise<Outcome> {
  const workflowId = `parity/${row.name}`
  const options = { ...row.options, workflowId, taskQueue: 'parity', args: [...row.args] }
  await client.workflow.start(row.workflow, options)
  const answers: Promise<string>[] = []
  let passedMs = 0
  for (const { afterMs, isInTask, what } of row.acts ?? []) {
    await sleep(afterMs - passedMs)
    if (isInTask !== true) await atRest(workflowId)
    passedMs = afterMs
    const latest = client.workflow.getHandle(workflowId)
    answers.push(
      what(latest as never, client).then(
        (value) => JSON.stringify(typeof value === 'object' ? null : value) ?? 'null',
        textOf,
      ),
    )
  }
  const result = await client.workflow
    .getHandle(workflowId)
    .result()
    .then((value) => JSON.stringify(value) ?? 'null', textOf)
  // Whatever still runs, such as an activity that was given up, comes to its end.
  await sleep(6000)
  const all = await histories(workflowId)
  return {
    answers: await Promise.all(answers),
    result,
    events: all.flatMap((events) => linesOf(events)),
  }
}

function linesOf(events: readonly HistoryEvent[]): readonly string[] {
  return events.flatMap((event) => {
    const line = lineOf(event)
    return line === undefined ? [] : [line]
  })
}

const names = new Map(Object.entries(proto.temporal.api.enums.v1.EventType).map(([name, value]) => [value, name]))

function lineOf(event: HistoryEvent): string | undefined {
  const type = String(names.get(event.eventType as never)).replace('EVENT_TYPE_', '')
  if (type.startsWith('WORKFLOW_TASK_')) return undefined
  const [, attributes] =
    Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value != null) ?? []
  const of = (attributes ?? {}) as Readonly<Record<string, unknown>>
  return [type, ...detailsOf(of)].join(' | ')
}

/** What of an event's attributes must be equal: not ids of runs, times and identities. */
function detailsOf(of: Readonly<Record<string, unknown>>): readonly string[] {
  const { activityType, attempt, retryState, failure, lastFailure, timerId, signalName, markerName, outcome, reason } =
    of as {
      readonly activityType?: { readonly name?: string }
      readonly attempt?: number
      readonly retryState?: number
      readonly failure?: Failure
      readonly lastFailure?: Failure
      readonly timerId?: string
      readonly signalName?: string
      readonly markerName?: string
      readonly reason?: string
      readonly outcome?: { readonly success?: Payloads; readonly failure?: Failure }
    }
  const { input, result, timeoutType, startToFireTimeout, upsertedMemo } = of as {
    readonly input?: Payloads
    readonly result?: Payloads
    readonly timeoutType?: number
    readonly startToFireTimeout?: object
    readonly upsertedMemo?: { readonly fields?: Readonly<Record<string, object>> }
  }
  const parts = {
    activity: activityType?.name,
    attempt,
    retryState: retryState || undefined,
    failure: failure == null ? undefined : failureOf(failure),
    lastFailure: lastFailure == null ? undefined : failureOf(lastFailure),
    timer: timerId,
    signal: signalName,
    marker: markerName,
    reason: reason || undefined,
    timeoutType,
    after: startToFireTimeout === undefined ? undefined : optionalTsToMs(startToFireTimeout),
    input: valuesOf(input),
    result: valuesOf(result),
    outcome: outcome?.failure == null ? valuesOf(outcome?.success) : failureOf(outcome.failure),
    memo: upsertedMemo?.fields == null ? undefined : Object.keys(upsertedMemo.fields).join(),
  }
  return Object.entries(parts).flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
}

function valuesOf(payloads: Payloads): string | undefined {
  const all = payloads?.payloads ?? []
  return all.length === 0
    ? undefined
    : all.map((one) => JSON.stringify(defaultPayloadConverter.fromPayload(one))).join()
}

function failureOf({ message, cause, applicationFailureInfo, timeoutFailureInfo }: Failure): string {
  const kind =
    timeoutFailureInfo == null ? (applicationFailureInfo?.type ?? '') : `timeout ${timeoutFailureInfo.timeoutType}`
  const own = `${message}${kind === '' ? '' : ` (${kind})`}`
  return cause == null ? own : `${own} <- ${failureOf(cause)}`
}
