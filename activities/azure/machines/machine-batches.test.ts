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
  const id = (name: string, pool: string) => ({ subscriptionId: 's', resourceGroup: 'g', cluster: 'c', pool, name })
  const { signal } = new AbortController()
  const put = (name: string, body: MachineBody, stop: AbortSignal = signal, pool = 'p') => {
    const work = made.put(id(name, pool), body, stop)
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

  const whole: MachineBody['shared'] = {
    hardware: { vmSize: 'D4' },
    priority: 'Regular',
    operatingSystem: { osSKU: 'Ubuntu2204', enableFIPS: false },
    kubernetes: { orchestratorVersion: '1.31.0' },
    network: { vnetSubnetID: '/a' },
    mode: 'User',
    nodeImageVersion: 'AKSUbuntu-2204gen2containerd-1',
  }
  const made = (change: Readonly<Record<string, unknown>> = {}, zone = '1'): MachineBody => ({
    zones: [zone],
    tags: { zone },
    shared: { ...whole, ...change },
  })

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['size', { hardware: { vmSize: 'D8' } }],
    ['priority', { priority: 'Spot' }],
    ['operating system', { operatingSystem: { osSKU: 'AzureLinux', enableFIPS: false } }],
    ['version of Kubernetes', { kubernetes: { orchestratorVersion: '1.32.0' } }],
    ['subnet', { network: { vnetSubnetID: '/b' } }],
    ['mode', { mode: 'System' }],
    ['FIPS', { operatingSystem: { osSKU: 'Ubuntu2204', enableFIPS: true } }],
    ['node image', { nodeImageVersion: 'AKSUbuntu-2404gen2containerd-1' }],
  ])('is not shared by machines of another %s', async (_what, change) => {
    const { puts, put } = batches()
    const done = [put('a', made()), put('b', made(change))]
    await pass(1000)
    await Promise.all(done)
    expect(puts.map(names)).toEqual([['a'], ['b']])
  })

  it('of many machines of three kinds is three PUTs', async () => {
    const { puts, put } = batches()
    const kinds = [{}, { hardware: { vmSize: 'D8' } }, { priority: 'Spot' }]
    const done = [5, 3, 2].flatMap((count, kind) =>
      Array.from({ length: count }, (_, index) => put(`m${kind}${index}`, made(kinds[kind], `${(index % 3) + 1}`))),
    )
    await pass(1000)
    await Promise.all(done)
    expect(puts.map((one) => names(one).length)).toEqual([5, 3, 2])
  })

  it('is not shared by machines of another pool', async () => {
    const { puts, put } = batches()
    const done = [put('a', body('1')), put('b', body('1'), undefined, 'other')]
    await pass(1000)
    await Promise.all(done)
    expect(puts.map(names)).toEqual([['a'], ['b']])
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

  const detail = (target?: string) => ({ code: 'VMSizeNotSupported', message: 'no D2', target })
  const details = [detail('b')]
  // AKS' own form, and the one of ARM.
  const forms: readonly (readonly [string, (error: object) => object])[] = [
    ['of AKS', (error) => ({ ...error, subcode: '' })],
    ['of ARM', (error) => ({ error })],
  ]
  const refusal = (status: number, error: object) => forms.map(([form, body]) => [form, { status, body: body(error) }])
  type Answered = [string, { readonly status: number; readonly body: object }]
  const clientError = (found?: unknown) =>
    refusal(400, { code: 'BatchMachineClientError', message: 'm', details: found }) as Answered[]
  const internalError = (message: string) =>
    refusal(500, { code: 'BatchMachineInternalServerError', message }) as Answered[]

  const resultsOf = async (answer: { readonly status: number; readonly body: unknown }) => {
    const { put } = batches(answer)
    const both = [put('a', body('1')), put('b', body('1'))]
    await pass(1000)
    return await Promise.all(
      both.map((one) =>
        one.then(
          () => 'accepted',
          (error: unknown) => [armErrorCode(error), armErrorText(error)],
        ),
      ),
    )
  }
  const refused = ['VMSizeNotSupported', expect.stringContaining('no D2')]

  it.each([...clientError(details), ...internalError(JSON.stringify({ details }))])(
    'an error in the form %s is about the machines that it names',
    async (_form, answer) => {
      expect(await resultsOf(answer)).toEqual(['accepted', refused])
    },
  )

  const all = [detail('a'), detail('b')]

  it.each([...clientError(all), ...internalError(JSON.stringify({ details: all }))])(
    'an error in the form %s that names all of them is about all',
    async (_form, answer) => {
      expect(await resultsOf(answer)).toEqual([refused, refused])
    },
  )

  it.each<[string, Answered]>(
    [
      ['of another code', ...(refusal(409, { code: 'OperationNotAllowed', message: 'm', details }) as Answered[])],
      ['that names no machine', ...clientError()],
      ['without details', ...clientError([])],
      ['with a detail of no machine', ...clientError([detail()])],
      ['about a machine that was not asked for', ...clientError([detail('b'), detail('unknown')])],
      ['that is no JSON inside', ...internalError('the following machines failed: b')],
    ].flatMap(([what, ...answers]) => answers.map((answer) => [what, answer] as [string, Answered])),
  )('an error %s is about all', async (_what, [, answer]) => {
    const results = await resultsOf(answer)
    const { code } = ((answer.body as { error?: object }).error ?? answer.body) as { code: string }
    expect(results).toEqual([
      [code, expect.any(String)],
      [code, expect.any(String)],
    ])
  })

  it('that is answered by something else fails for all', async () => {
    expect(await resultsOf({ status: 502, body: 'not json' })).toEqual([
      ['UnknownError', expect.any(String)],
      ['UnknownError', expect.any(String)],
    ])
  })

  it('goes on without the machine of an activity that ends, and asks for that of the latest one', async () => {
    const { puts, put } = batches()
    const stop = new AbortController()
    const [a, b] = [put('a', body('1'), stop.signal), put('b', body('1'))]
    stop.abort()
    await expect(a).rejects.toThrow()
    const [earlier, later] = [put('c', body('1')), put('c', body('2'))]
    await expect(earlier).rejects.toThrow('a later try')
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all([b, later])
    expect(puts.map(names)).toEqual([['b', 'c']])
    expect(puts[0]?.header.batchMachines?.[1]).toMatchObject({ zones: ['2'] })
  })

  it('that nobody waits for is not sent', async () => {
    const { puts, put } = batches()
    const stop = new AbortController()
    const a = put('a', body('1'), stop.signal)
    stop.abort()
    await expect(a).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(5000)
    expect(puts).toEqual([])
  })
})
