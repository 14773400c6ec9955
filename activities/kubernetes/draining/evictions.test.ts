import pino from 'pino'
import { describe, expect, test } from 'vitest'
import type { DrainPlan } from '../../../core/node-claim/drain.ts'
import { samplePod, sampleTime } from '../../../test/samples/sample-objects.ts'
import { ClusterCache } from '../cache/cluster-cache.ts'
import { ApiError } from '../client/api-error.ts'
import type { EventInput } from '../event-recorder.ts'
import { Evictions } from './evictions.ts'

const several = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'

/** A drain whose evictions an API server answers so, with a clock. */
function drainWith(answer: (name: string) => Error | undefined) {
  const clock = { now: sampleTime }
  const asked: string[] = []
  const reported: EventInput[] = []
  const log = pino({ level: 'silent' })
  const respond = async (verb: string, name: string) => {
    asked.push(`${verb} ${name}`)
    const error = answer(name)
    if (error !== undefined) throw error
  }
  const client = {
    evict: (_namespace: string, name: string) => respond('evict', name),
    delete: (path: string, { gracePeriodSeconds }: { gracePeriodSeconds: number }) =>
      respond(`delete in ${gracePeriodSeconds} s`, path.slice(path.lastIndexOf('/') + 1)),
  }
  const cache = new ClusterCache({} as never, log)
  for (const name of ['web', 'other'])
    cache.upsert('PodDisruptionBudget', {
      metadata: { name, namespace: 'default', uid: name, resourceVersion: '1' },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
      status: { disruptionsAllowed: 0 },
    })
  const counted: (string | number)[] = []
  const count = (what: string | number) => counted.push(what)
  const lifecycleMetrics = { evictionAnswered: count, podDrained: count }
  const deps = {
    client,
    lifecycleMetrics,
    cache,
    log,
    now: () => clock.now,
    events: { record: (event: EventInput) => reported.push(event) },
  }
  return { clock, asked, reported, counted, evictions: new Evictions(deps as never) }
}

const web = samplePod('web-1', { phase: 'Running', metadata: { labels: { app: 'web' } } })
const plan = (change: Partial<DrainPlan>): DrainPlan => ({
  done: false,
  evict: [],
  forceDelete: [],
  heldBy: [],
  ...change,
})
const evicting = plan({ evict: [web] })
const tooMany = () => new ApiError(429, 'TooManyRequests', 'Cannot evict pod')

describe('an answer to an eviction', () => {
  test.each([
    ['that a budget forbids', tooMany(), { kind: 'budget', budgets: ['default/web'] }],
    ['that several budgets do', new ApiError(500, 'InternalError', `POST: 500 ${several}`), { kind: 'manyBudgets' }],
    ['that the server failed', new ApiError(500, 'InternalError', 'POST: 500 etcd'), { kind: 'other' }],
    ['that never came', new Error('ECONNREFUSED'), { kind: 'other', message: 'ECONNREFUSED' }],
  ])('%s is a refusal', async (_, error, refusal) => {
    const { evictions, reported } = drainWith(() => error)
    await evictions.carryOut(evicting, 'Drifted', undefined)
    expect(evictions.refusalOf(web)).toMatchObject(refusal)
    expect([evictions.count, reported]).toEqual([0, []])
  })

  test.each([404, 409])('%i: the pod is gone, and no eviction is counted', async (code) => {
    const { evictions, reported } = drainWith(() => new ApiError(code, 'Gone', ''))
    await evictions.carryOut(evicting, 'Drifted', undefined)
    expect([evictions.refusalOf(web), evictions.count, reported]).toEqual([undefined, 0, []])
  })

  test('success is reported once', async () => {
    const { evictions, asked, reported, counted } = drainWith(() => undefined)
    for (let look = 0; look < 2; look += 1) await evictions.carryOut(evicting, 'Drifted', undefined)
    expect([evictions.count, asked]).toEqual([1, ['evict web-1']])
    expect(reported.map(({ reason, message }) => [reason, message])).toEqual([['Evicted', 'Evicted pod: Drifted']])
    expect(counted).toEqual([200, 'Drifted'])
  })
})

test('a pod that is refused is requested with growing delays, and at once when a budget of its namespace changes', async () => {
  const { clock, asked, evictions } = drainWith(tooMany)
  const askedWithin = async (ms: number) => {
    const before = asked.length
    for (const end = clock.now + ms; clock.now < end; clock.now += 50) await evictions.carryOut(evicting, '', undefined)
    return asked.length - before
  }
  expect(await askedWithin(10_000)).toBe(7)
  expect(await askedWithin(60_000)).toBeLessThanOrEqual(7)
  await askedWithin(1000)
  expect(evictions.budgetChanged('elsewhere')).toBe(false)
  expect(evictions.budgetChanged('default')).toBe(true)
  expect(await askedWithin(50)).toBe(1)
})

test('pods are deleted by force though budgets refuse others, and the event says how much grace is left', async () => {
  const late = samplePod('late', { terminationGracePeriodSeconds: 300 })
  const { asked, reported, evictions } = drainWith((name) => (name === 'web-1' ? tooMany() : undefined))
  await evictions.carryOut(
    plan({ evict: [web], forceDelete: [{ pod: late, gracePeriodSeconds: 20 }] }),
    '',
    sampleTime + 20_000,
  )
  expect(asked.sort()).toEqual(['delete in 20 s late', 'evict web-1'])
  expect(reported).toMatchObject([{ reason: 'Disrupted' }])
  expect(reported[0]?.message).toMatch(/termination time 2026-01-01T00:00:20.000Z .* 20 of its 300 seconds/)
})
