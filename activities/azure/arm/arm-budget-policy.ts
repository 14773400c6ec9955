import type { PipelinePolicy, PipelineRequest, PipelineResponse, SendRequest } from '@azure/core-rest-pipeline'
import { activityScope, pauseFor } from '../../activity-context.ts'
import type { ArmBudget } from './arm-budget.ts'
import { type ArmOperation, armOperation, remainingTokens } from './arm-limits.ts'
import type { ArmMetrics } from './arm-metrics.ts'
import { takeTurn } from './arm-turn.ts'
import { retryAfterMs } from './azure-error.ts'

export interface ArmBudgetPolicyOptions {
  readonly budget: ArmBudget
  readonly metrics: ArmMetrics
  /** Number of processes that share Azure's remaining tokens. */
  readonly replicas: number
  /** Longest wait of one request for tokens altogether, in milliseconds. A longer wait fails, and is retried later. */
  readonly patienceMs?: number
}

/** Well below the time limit of an activity's one attempt, which may send several requests. */
const defaultPatienceMs = 45_000
/** Wait after a refusal without a time, which Azure sends only where it documents none. */
const silentRetryAfterMs = 5000
/** Safety margin: timers fire up to a millisecond early, and no refused request may be sent early. */
const marginMs = 20
/** Methods without an effect, or with the same effect twice. The callers of others retry, since they know the effect. */
const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
const never = new AbortController().signal

/**
 * Holds requests back until this process's budget has tokens for them. Closes what Azure calls empty for as long as Azure says, for all
 * requests of the class. A refused request waits with them and is sent again, unless that takes too long: then it
 * fails with the time of its next attempt. The wait ends with the request's own signal and with the activity's,
 * which does not end a request that was sent.
 */
export function armBudgetPolicy(options: ArmBudgetPolicyOptions): PipelinePolicy {
  return { name: 'joinerArmBudget', sendRequest: (request, next) => sendWithin(options, request, next) }
}

async function sendWithin(
  options: ArmBudgetPolicyOptions,
  request: PipelineRequest,
  next: SendRequest,
): Promise<PipelineResponse> {
  const { budget, metrics, patienceMs = defaultPatienceMs } = options
  const operation = armOperation(request.method, request.url)
  const signal = AbortSignal.any([(request.abortSignal as AbortSignal | undefined) ?? never, activityScope().signal])
  let patience = patienceMs
  for (;;) {
    if (!takeTurn(budget, operation.buckets))
      patience -= (await budget.pass(operation.buckets, patience, signal)).waitedMs
    const response = await timed(metrics, operation, () => next(request))
    if (response.status !== 429) {
      learn(options, operation, response)
      return response
    }
    const { waitMs, isOwn } = refuse(options, operation, response)
    if (!repeatable.has(request.method) || waitMs > patience) return response
    if (!isOwn) continue
    await pauseFor(waitMs, signal)
    patience -= waitMs
  }
}

async function timed(
  metrics: ArmMetrics,
  operation: ArmOperation,
  send: () => Promise<PipelineResponse>,
): Promise<PipelineResponse> {
  const startedAt = performance.now()
  const answered = (status: string) => metrics.answered(operation.name, status, (performance.now() - startedAt) / 1000)
  try {
    const response = await send()
    answered(String(response.status))
    return response
  } catch (error) {
    answered('error')
    throw error
  }
}

/** Records a 429 for all other requests. `isOwn`: a limit of the one resource, which does not hold up others. */
function refuse(
  { budget, metrics }: ArmBudgetPolicyOptions,
  operation: ArmOperation,
  response: PipelineResponse,
): { readonly waitMs: number; readonly isOwn: boolean } {
  const header = (name: string) => response.headers.get(name)
  const waitMs = (retryAfterMs(header) ?? silentRetryAfterMs) + marginMs
  const { left, onlyItself } = remainingTokens(operation, header)
  if (onlyItself) {
    budget.served(operation.buckets)
    metrics.throttled('alone')
    return { waitMs, isOwn: true }
  }
  const empty = [...left].filter(([, tokens]) => tokens < 1).map(([bucket]) => bucket)
  const closed = empty.length === 0 ? operation.buckets : empty
  budget.refused(closed, waitMs)
  for (const bucket of closed) metrics.throttled(bucket)
  return { waitMs, isOwn: false }
}

function learn(
  { budget, replicas }: ArmBudgetPolicyOptions,
  operation: ArmOperation,
  response: PipelineResponse,
): void {
  budget.served(operation.buckets)
  for (const [bucket, tokens] of remainingTokens(operation, (name) => response.headers.get(name)).left)
    budget.learn(bucket, tokens / replicas)
}
