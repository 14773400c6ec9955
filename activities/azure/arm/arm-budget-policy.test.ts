import {
  createHttpHeaders,
  createPipelineRequest,
  type HttpMethods,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ArmBudget, ArmBudgetExhausted } from './arm-budget.ts'
import { armBudgetPolicy } from './arm-budget-policy.ts'
import { createArmMetrics } from './arm-metrics.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Headers = Readonly<Record<string, string>>
type Answer = readonly [status: number, headers?: Headers]

const vmUrl = (name: string) =>
  `https://arm.test/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/${name}`

/** A client whose ARM gives these answers one by one, then 200. */
function client(answers: readonly Answer[], patienceMs = 45_000) {
  const registry = new Registry()
  const metrics = createArmMetrics(() => budget.levels(), registry)
  const budget = new ArmBudget({ share: 1, now: () => performance.now(), waited: metrics.waited })
  const policy = armBudgetPolicy({ budget, metrics, replicas: 2, patienceMs })
  const arrivals: (readonly [string, number])[] = []
  const left = [...answers]
  const next = async (request: PipelineRequest): Promise<PipelineResponse> => {
    arrivals.push([`${request.method} ${request.url.split('/').at(-1)}`, Date.now()])
    const [status, headers = {}] = left.shift() ?? [200]
    return { request, status, headers: createHttpHeaders(headers) }
  }
  const send = (method: HttpMethods, name: string, abortSignal?: AbortSignal) =>
    policy.sendRequest(
      createPipelineRequest({ method, url: vmUrl(name), ...(abortSignal === undefined ? {} : { abortSignal }) }),
      next,
    )
  return { send, arrivals, budget, registry }
}

const refused = (seconds: number, headers: Headers = {}): Answer => [
  429,
  { 'retry-after': String(seconds), ...headers },
]

describe('a refused request', () => {
  it.each(['31536000', '1e999'])('holds others up for an hour at most, whatever asks for %s s', async (asked) => {
    const { send, arrivals } = client([[429, { 'retry-after-ms': `${asked}000` }]])
    expect((await send('PUT', 'vm')).status).toBe(429)
    await vi.advanceTimersByTimeAsync(3_601_000)
    const sent = send('PUT', 'vm').catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await sent).toMatchObject({ status: 200 })
    expect(arrivals).toHaveLength(2)
  })

  it.each(['GET', 'PUT', 'DELETE'] as const)('%s is sent again, not before Azure allows it', async (method) => {
    const { send, arrivals } = client([refused(7), refused(3)])
    const sent = send(method, 'vm')
    await vi.runAllTimersAsync()
    expect((await sent).status).toBe(200)
    const [first = 0, second = 0, third = 0] = arrivals.map(([, at]) => at)
    expect(second - first).toBeGreaterThanOrEqual(7000)
    expect(third - second).toBeGreaterThanOrEqual(3000)
    expect(third).toBeLessThan(11_000)
  })

  it.each(['PATCH', 'POST'] as const)('%s is left to its caller', async (method) => {
    const { send, arrivals } = client([refused(1)])
    expect((await send(method, 'vm')).status).toBe(429)
    expect(arrivals).toHaveLength(1)
  })

  it('fails when its time is beyond the longest wait', async () => {
    const { send, arrivals } = client([refused(60)])
    expect((await send('PUT', 'vm')).status).toBe(429)
    await expect(send('PUT', 'other')).rejects.toBeInstanceOf(ArmBudgetExhausted)
    expect(arrivals).toHaveLength(1)
  })

  it('may name its time by a date, or not at all', async () => {
    const [date, after] = ['Thu, 01 Jan 2026 00:00:00 GMT', 'Thu, 01 Jan 2026 00:00:09 GMT']
    const dated = client([[429, { date, 'retry-after': after }], [429]])
    const sent = dated.send('GET', 'vm')
    await vi.runAllTimersAsync()
    await sent
    const [, second = 0, third = 0] = dated.arrivals.map(([, at]) => at)
    expect(second).toBeGreaterThanOrEqual(9000)
    expect(third - second).toBeGreaterThanOrEqual(5000)
  })

  it('stops the whole class, and no other', async () => {
    const { send, arrivals } = client([refused(20)])
    const all = [send('PUT', 'a')]
    await vi.advanceTimersByTimeAsync(1)
    all.push(send('PUT', 'b'), send('DELETE', 'c'), send('GET', 'd'))
    await vi.runAllTimersAsync()
    await Promise.all(all)
    const at = (call: string) => arrivals.findLast(([name]) => name === call)?.[1] ?? -1
    expect(at('PUT a')).toBeGreaterThanOrEqual(20_000)
    expect(at('PUT b')).toBeGreaterThanOrEqual(20_000)
    expect([at('DELETE c'), at('GET d')]).toEqual([1, 1])
  })

  it('leaves one to ask at each announced time while Azure refuses, and lets all follow when it serves that one', async () => {
    const { send, arrivals } = client([refused(10), refused(10), refused(10)])
    const all = [send('PUT', 'a')]
    await vi.advanceTimersByTimeAsync(1)
    for (const name of ['b', 'c', 'd', 'e']) all.push(send('PUT', name))
    await vi.runAllTimersAsync()
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const seconds = arrivals.map(([, at]) => Math.floor(at / 1000))
    expect(seconds).toEqual([0, 10, 20, 30, 30, 30, 30, 30])
  })

  it('stops no other request where only its own VM’s limit is reached', async () => {
    const own = { 'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/CreateVMResource;0' }
    const { send, arrivals, registry } = client([refused(15, own)])
    const first = send('PUT', 'a')
    await vi.advanceTimersByTimeAsync(10)
    const second = send('PUT', 'b')
    await vi.runAllTimersAsync()
    await Promise.all([first, second])
    expect(arrivals.map(([name]) => name)).toEqual(['PUT a', 'PUT b', 'PUT a'])
    expect(arrivals[2]?.[1]).toBeGreaterThanOrEqual(15_000)
    expect(await registry.getSingleMetricAsString('joiner_arm_throttled_total')).toContain('{bucket="alone"} 1')
  })

  it('waits no longer than its caller', async () => {
    const { send, arrivals } = client([refused(30)])
    const stop = new AbortController()
    const sent = send('PUT', 'vm', stop.signal)
    sent.catch(() => {})
    await vi.advanceTimersByTimeAsync(1000)
    stop.abort(new Error('the activity ends'))
    await expect(sent).rejects.toThrow('the activity ends')
    await vi.runAllTimersAsync()
    expect(arrivals).toHaveLength(1)
  })
})

it('shares with the other replicas what Azure says is left', async () => {
  const { send, budget } = client([[200, { 'x-ms-ratelimit-remaining-subscription-reads': '40' }]])
  await send('GET', 'vm')
  expect(budget.levels().get('armReads')).toBe(20)
})

it('counts in metrics what was sent, answered and waited for', async () => {
  const { send, registry } = client([refused(2), [404]])
  const sent = send('GET', 'vm')
  await vi.runAllTimersAsync()
  expect((await sent).status).toBe(404)
  const text = await registry.metrics()
  expect(text).toContain('joiner_arm_requests_total{operation="get virtualMachines",status="429"} 1')
  expect(text).toContain('joiner_arm_requests_total{operation="get virtualMachines",status="404"} 1')
  expect(text).toContain('joiner_arm_request_duration_seconds_count{operation="get virtualMachines"} 2')
  expect(text).toContain('joiner_arm_throttled_total{bucket="getVm"} 1')
  expect(text).toMatch(/joiner_arm_bucket_wait_seconds_sum\{bucket="getVm"\} 2\.\d+/)
  expect(text).toContain('joiner_arm_bucket_tokens{bucket="listVms"} 900')
})
