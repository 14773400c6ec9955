import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { fakeArm } from '../../../test/fake-arm.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { armErrorCode, armErrorText } from '../arm/azure-error.ts'
import { MachineBatches } from './machine-batches.ts'
import type { MachineBody } from './machine-body.ts'

useFakeTime()

interface Put {
  readonly name: string
  readonly header: {
    readonly batchMachines?: readonly { readonly machineName: string; readonly zones: readonly string[] }[]
  }
  readonly body: { readonly zones?: readonly string[]; readonly properties: object }
}

const accepted = { status: 201, body: {} }

/** Batches of an AKS that answers all PUTs in one way, and the PUTs that it got. */
function batches(answer: { readonly status: number; readonly body: unknown } = accepted) {
  const puts: Put[] = []
  const azure = fakeArm(({ url, body, headers }) => {
    const name = /machines\/([^?]+)/.exec(url)?.[1] ?? ''
    puts.push({ name, header: JSON.parse(headers.get('batchputmachine') ?? '{}'), body: JSON.parse(body as string) })
    expect(headers.get('allowspotvmsystemnode')).toBe('true')
    return answer
  })
  const made = new MachineBatches({ azure, config: azureConfig, log: pino({ level: 'silent' }) })
  const id = (name: string) => ({ subscriptionId: 's', resourceGroup: 'g', cluster: 'c', pool: 'p', name })
  const { signal } = new AbortController()
  const put = (name: string, body: MachineBody, stop = signal) => {
    const work = made.put(id(name), body, stop)
    work.catch(() => {})
    return work
  }
  return { puts, put }
}

const body = (zone: string, vmSize = 'D2', ultraSsdEnabled = false): MachineBody => ({
  zones: [zone],
  tags: { zone, team: 'grün' },
  shared: { hardware: { vmSize, ultraSsdEnabled } },
})
const names = ({ header }: Put) => (header.batchMachines ?? []).map(({ machineName }) => machineName)

describe('a batch of machines', () => {
  it('is one PUT for all that differ by name, zone and tags, a second after the last', async () => {
    const { puts, put } = batches()
    const done = [put('a', body('1'))]
    await pass(900)
    done.push(put('b', body('2')), put('c', body('1', 'D4')))
    await pass(900)
    expect(puts).toEqual([])
    await pass(100)
    await Promise.all(done)
    expect(puts.map(names)).toEqual([['a', 'b'], ['c']])
    expect(puts[0]).toMatchObject({
      name: 'a',
      header: {
        batchMachines: [
          { machineName: 'a', zones: ['1'], tags: { zone: '1', team: 'grün' } },
          { machineName: 'b', zones: ['2'], tags: { zone: '2' } },
        ],
      },
    })
    expect(puts[0]?.body).toEqual({ properties: { ...body('1').shared, tags: {} } })
  })

  it('waits no longer than five seconds', async () => {
    const { puts, put } = batches()
    for (let index = 0; index < 8; index += 1) {
      void put(`m${index}`, body('1'))
      await pass(700)
    }
    expect(puts.map((one) => names(one).length)).toEqual([8])
  })

  it('is sent at once when it is full', async () => {
    const { puts, put } = batches()
    for (let index = 0; index < 51; index += 1) void put(`m${index}`, body('1'))
    await pass(0)
    expect(puts.map((one) => names(one).length)).toEqual([50])
    await pass(1000)
    expect(puts.map((one) => names(one).length)).toEqual([50, 1])
  })

  it('has no more machines than a header holds, and one with very long tags goes without a header', async () => {
    const { puts, put } = batches()
    const long = (length: number) => ({ ...body('1'), tags: { team: 'x'.repeat(length) } })
    const done = [put('a', long(5000)), put('b', long(5000)), put('c', long(5000)), put('d', long(20_000))]
    await pass(1000)
    await Promise.all(done)
    expect(puts.map(({ name, header }) => [name, header.batchMachines?.length])).toEqual([
      ['a', 2],
      ['c', 1],
      ['d', undefined],
    ])
    expect(puts[2]?.body.properties).toMatchObject({ tags: { team: 'x'.repeat(20_000) } })
  })

  it('with ultra disks has one zone', async () => {
    const { puts, put } = batches()
    const done = [put('a', body('1', 'D2', true)), put('b', body('2', 'D2', true))]
    await pass(1000)
    await Promise.all(done)
    expect(puts.map(({ body: { zones } }) => zones)).toEqual([['1'], ['2']])
  })

  const details = [{ code: 'VMSizeNotSupported', message: 'no D2', target: 'b' }]

  it.each([
    ['a client error', { status: 400, body: { error: { code: 'BatchMachineClientError', message: 'm', details } } }],
    [
      'an internal error',
      {
        status: 500,
        body: { error: { code: 'BatchMachineInternalServerError', message: JSON.stringify({ details }) } },
      },
    ],
  ])('%s is about the machines that it names', async (_what, answer) => {
    const { put } = batches(answer)
    const [a, b] = [put('a', body('1')), put('b', body('1'))]
    await pass(1000)
    await expect(a).resolves.toBeUndefined()
    const error = await b.catch((reason: unknown) => reason)
    expect([armErrorCode(error), armErrorText(error)]).toEqual(['VMSizeNotSupported', expect.stringContaining('no D2')])
  })

  it.each([
    ['of another code', { status: 409, body: { error: { code: 'OperationNotAllowed', message: 'm', details } } }],
    ['that names no machine', { status: 400, body: { error: { code: 'BatchMachineClientError', message: 'm' } } }],
    [
      'that is no JSON inside',
      { status: 500, body: { error: { code: 'BatchMachineInternalServerError', message: '?' } } },
    ],
  ])('an error %s is about all', async (_what, answer) => {
    const { put } = batches(answer)
    const both = [put('a', body('1')), put('b', body('1'))]
    await pass(1000)
    const results = await Promise.allSettled(both)
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('goes on without an activity that ends', async () => {
    const { puts, put } = batches()
    const stop = new AbortController()
    const [a, b] = [put('a', body('1'), stop.signal), put('b', body('1'))]
    stop.abort()
    await expect(a).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(1000)
    await b
    expect(puts.map(names)).toEqual([['a', 'b']])
  })
})
