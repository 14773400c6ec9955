import { createHttpHeaders, RestError } from '@azure/core-rest-pipeline'
import { CancelledFailure } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, test } from 'vitest'
import { ArmBudgetExhausted } from './azure/arm/arm-budget.ts'
import { translatingFailures, waitingFailure } from './failure.ts'
import { ApiError } from './kubernetes/client/api-error.ts'

/** Returns an error answer of ARM. */
function armError(
  statusCode: number,
  code: string,
  { message = code, retryAfter }: { readonly message?: string; readonly retryAfter?: string } = {},
) {
  const headers = createHttpHeaders(retryAfter === undefined ? {} : { 'retry-after': retryAfter })
  const error = new RestError(message, {
    statusCode,
    code,
    response: { headers, status: statusCode, bodyAsText: '' } as never,
  })
  error.details = { error: { code, message } }
  return error
}

/** Returns the failure that Temporal gets for an error. */
async function translated(error: unknown): Promise<ApplicationFailure> {
  const { run } = translatingFailures({
    run: async () => {
      throw error
    },
  })
  try {
    await run()
  } catch (failure) {
    return failure as ApplicationFailure
  }
  return expect.fail('it succeeded')
}

describe('what an activity throws', () => {
  test.each<[string, unknown, string, number | undefined]>([
    ['a conflict of Kubernetes', new ApiError(409, 'Conflict', 'modified'), 'KubernetesConflict', undefined],
    [
      'a throttled request of Kubernetes',
      Object.assign(new ApiError(429, 'TooManyRequests', 'slow down'), { retryAfterSeconds: 7 }),
      'KubernetesTooManyRequests',
      7000,
    ],
    ['a budget of ARM', new ArmBudgetExhausted('createVm', 9000), 'ArmBudgetExhausted', 9000],
    ['a missing right in Azure', armError(403, 'AuthorizationFailed'), 'NotAuthorized', 60_000],
    ['a policy', armError(403, 'RequestDisallowedByPolicy'), 'PolicyDenied', 60_000],
    ['a throttled request of Azure', armError(429, 'TooManyRequests', { retryAfter: '33' }), 'Throttled', 33_000],
    ['an error of the code', new TypeError('x is undefined'), 'TypeError', undefined],
    ['what is no error', 'text', 'Error', undefined],
  ])('%s', async (_, error, type, retryAfterMs) => {
    const failure = await translated(error)
    expect(failure).toBeInstanceOf(ApplicationFailure)
    expect(failure.type).toBe(type)
    expect(failure.nextRetryDelay).toBe(retryAfterMs)
    // A result that must not be retried is a value, not an exception.
    expect(failure.nonRetryable).not.toBe(true)
  })

  test.each([ApplicationFailure.create({ message: 'own' }), new CancelledFailure('cancelled')])(
    '%s stays as it is',
    async (error) => {
      expect(await translated(error)).toBe(error)
    },
  )

  test('has a thousand characters at most, from the first line of the message of Azure', async () => {
    expect((await translated(new ApiError(500, 'InternalError', 'x'.repeat(5000)))).message).toHaveLength(1000)
    const { message } = await translated(armError(400, 'InvalidParameter', { message: 'first\nsecret body' }))
    expect(message).toContain('first')
    expect(message).not.toContain('secret')
  })

  test('leaves results alone, and what is passed in', async () => {
    const { run } = translatingFailures({ run: (input: number) => Promise.resolve(input + 1) })
    expect(await run(1)).toBe(2)
  })
})

describe('a failure whose wait the activity spends', () => {
  test.each<[string, unknown, number, number | undefined]>([
    ['that names no wait', new Error('x'), 0, undefined],
    ['of Kubernetes', Object.assign(new ApiError(429, 'TooManyRequests', 'x'), { retryAfterSeconds: 7 }), 0, undefined],
    ['that is shorter than the longest wait', armError(429, 'TooManyRequests', { retryAfter: '20' }), 20_000, 100],
    [
      'that is longer leaves the rest to Temporal',
      armError(429, 'TooManyRequests', { retryAfter: '90' }),
      60_000,
      30_000,
    ],
  ])('%s', (_, error, waitMs, nextRetryDelay) => {
    const { waitMs: waits, failure } = waitingFailure(error, 60_000)
    expect(waits).toBe(waitMs)
    if (waitMs === 0) expect(failure).toBe(error)
    else expect((failure as ApplicationFailure).nextRetryDelay).toBe(nextRetryDelay)
  })
})
