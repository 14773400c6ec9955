import { createHttpHeaders, createPipelineRequest, type PipelineResponse } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { auxiliaryToken } from './auxiliary-token.ts'

const minute = 60_000
const vm =
  'https://arm/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-a?api-version=1'
const timeOf = (ms: number) => new Date(ms).toISOString()

/** A policy with a clock and a token server that counts its requests. */
function setup(answer: (asked: number) => { readonly status?: number; readonly body: unknown }) {
  const state = { now: 0, asked: [] as string[] }
  const policy = auxiliaryToken({
    url: 'http://tokens/get?x=1',
    scope: 'https://arm/.default',
    now: () => state.now,
    fetch: async (url) => {
      state.asked.push(url)
      const { status = 200, body } = answer(state.asked.length)
      return new Response(JSON.stringify(body), { status })
    },
  })
  /** Sends a request and returns its header. */
  const send = async (method: 'PUT' | 'GET' | 'DELETE', url = vm): Promise<string | undefined> => {
    const request = createPipelineRequest({ url, method, headers: createHttpHeaders() })
    await policy.sendRequest(request, async (sent) => ({ request: sent, status: 200 }) as PipelineResponse)
    return request.headers.get('x-ms-authorization-auxiliary')
  }
  return { state, send }
}

const hour = (asked: number) => ({
  body: { Token: `t${asked}`, ExpiresOn: timeOf(60 * minute), RefreshOn: timeOf(30 * minute) },
})

describe('the token for shared galleries', () => {
  it('goes with PUTs of VMs only, and is requested with its scope', async () => {
    const { state, send } = setup(hour)
    expect(await send('GET')).toBeUndefined()
    expect(await send('DELETE')).toBeUndefined()
    expect(await send('PUT', vm.replace('aks-a', 'aks-a/extensions/x'))).toBeUndefined()
    expect(state.asked).toEqual([])
    expect(await send('PUT')).toBe('Bearer t1')
    expect(state.asked).toEqual(['http://tokens/get?x=1&scope=https%3A%2F%2Farm%2F.default'])
  })

  it.each([
    ['until it should be renewed', 30 * minute, 60 * minute, 30 * minute],
    ['until five minutes are left', 90 * minute, 60 * minute, 55 * minute],
    ['until five minutes are left when nobody says more', Date.parse('0001-01-01T00:00:00Z'), 60 * minute, 55 * minute],
  ])('is used %s', async (_, refreshOn, expiresOn, until) => {
    const { state, send } = setup((asked) => ({
      body: { Token: `t${asked}`, ExpiresOn: timeOf(expiresOn), RefreshOn: timeOf(refreshOn) },
    }))
    expect(await send('PUT')).toBe('Bearer t1')
    state.now = until - 1
    expect(await send('PUT')).toBe('Bearer t1')
    state.now = until
    expect(await send('PUT')).toBe('Bearer t2')
  })

  it('is requested once for requests that come together', async () => {
    const { state, send } = setup(hour)
    expect(await Promise.all([send('PUT'), send('PUT'), send('PUT')])).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1'])
    expect(state.asked).toHaveLength(1)
  })

  it.each([
    [{ status: 503, body: {} }, /HTTP 503.*SIG_ACCESS_TOKEN_SERVER_URL/],
    [{ body: { ExpiresOn: timeOf(minute) } }, /no token/],
    [{ body: { Token: 't' } }, /no token with an end/],
  ])('missing fails the request, which is tried again the next time: %j', async (answer, why) => {
    const { send } = setup((asked) => (asked === 1 ? answer : hour(asked)))
    await expect(send('PUT')).rejects.toThrow(why)
    expect(await send('PUT')).toBe('Bearer t2')
  })
})
