import { describe, expect, test, vi } from 'vitest'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { admitted } from './admission.ts'
import { ApiError } from './api-error.ts'
import { RequestGate } from './request-gate.ts'

useFakeTime()

const lost = (code: string) => Object.assign(new Error('other side closed'), { code })

function busy(code: number, retryAfterSeconds?: number): ApiError {
  const error = new ApiError(code, 'TooManyRequests', `answered ${code}`)
  if (retryAfterSeconds !== undefined) error.retryAfterSeconds = retryAfterSeconds
  return error
}

const atOnce = () => ({ gate: new RequestGate({ now: () => Date.now() }), turnOf: () => undefined })

/** Sends a request that is answered with these errors, one after the other, and then well. Returns how often it was sent, its end, and how long that took. */
async function sent(method: string, path: string, errors: readonly Error[], signal?: AbortSignal) {
  const left = [...errors]
  let times = 0
  const startMs = Date.now()
  const ended = admitted(atOnce(), { method, path, signal }, () => {
    times += 1
    const error = left.shift()
    return error === undefined ? Promise.resolve('done') : Promise.reject(error)
  }).catch((error: unknown) => (error as Error).message)
  await vi.runAllTimersAsync()
  return { end: await ended, times, seconds: (Date.now() - startMs) / 1000 }
}

const node = '/api/v1/nodes/a'

describe('a request that the API server was too busy for', () => {
  test.each([
    ['GET', node, busy(429)],
    ['POST', '/api/v1/nodes', busy(429)],
    ['PATCH', node, busy(504)],
    ['DELETE', node, busy(503)],
    ['PATCH', node, lost('ECONNRESET')],
    ['GET', node, lost('UND_ERR_SOCKET')],
  ])('is sent again: %s %s %s', async (method, path, error) => {
    expect(await sent(method, path, [error])).toMatchObject({ end: 'done', times: 2 })
  })

  test('waits as long as the server asks for, give or take a half, and 15 s at most', async () => {
    const { seconds } = await sent('GET', node, [busy(429, 4)])
    expect(seconds).toBeGreaterThanOrEqual(2)
    expect(seconds).toBeLessThanOrEqual(6)
    expect((await sent('GET', node, [busy(429, 3600)])).seconds).toBeLessThanOrEqual(15)
  })

  test('is sent three times at most', async () => {
    expect(
      await sent(
        'GET',
        node,
        Array.from({ length: 9 }, () => busy(504)),
      ),
    ).toMatchObject({
      end: 'answered 504',
      times: 3,
    })
  })

  test.each([
    ['an object may be made twice', 'POST', '/api/v1/nodes', busy(504)],
    ['an object may be made twice', 'POST', '/api/v1/nodes', lost('ECONNRESET')],
    ['a PodDisruptionBudget forbids it', 'POST', '/api/v1/namespaces/a/pods/b/eviction', busy(429)],
    ['the answer is no', 'GET', node, busy(404)],
    ['the answer is no', 'PATCH', node, busy(409)],
    ['it ran into its time limit', 'GET', node, new Error('no answer in 10 s')],
  ])('is not sent again where %s: %s %s', async (_, method, path, error) => {
    expect(await sent(method, path, [error])).toMatchObject({ end: error.message, times: 1 })
  })

  test('is not sent again once its caller has left', async () => {
    const caller = new AbortController()
    setTimeout(() => caller.abort(new Error('called off')), 100)
    expect(await sent('GET', node, [busy(503)], caller.signal)).toMatchObject({ end: 'called off', times: 1 })
  })
})

test('refused evictions make no server an overloaded one', async () => {
  const gate = new RequestGate({ now: () => Date.now() })
  const admission = { gate, turnOf: () => ({ at: 0 }) }
  const request = { method: 'POST', path: '/api/v1/namespaces/a/pods/b/eviction' }
  for (let time = 0; time < 50; time++)
    await expect(admitted(admission, request, () => Promise.reject(busy(429)))).rejects.toThrow('answered 429')
  expect(gate.state.limit).toBe(32)
})
