import { describe, expect, it } from 'vitest'
import { bucketsOf } from './throttled-request.ts'
import { documentedLimits, Throttling } from './throttling.ts'

const vm = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines'

function clocked(setting: ConstructorParameters<typeof Throttling>[0]) {
  const clock = { ms: 0 }
  return { clock, throttling: new Throttling(setting, () => clock.ms) }
}

describe('a bucket', () => {
  it('lets its tokens through at once, then as many as its refill gives', () => {
    const { clock, throttling } = clocked({ createVm: { tokens: 3, refillPerMinute: 60 } })
    const ask = (call: string) => throttling.take([{ name: 'createVm' }], call).kind
    expect(['a', 'b', 'c', 'd'].map(ask)).toEqual(['taken', 'taken', 'taken', 'refused'])
    clock.ms = 1000
    expect(['d', 'e'].map(ask)).toEqual(['taken', 'refused'])
    clock.ms = 3_600_000
    expect(['a', 'b', 'c', 'd'].map(ask)).toEqual(['taken', 'taken', 'taken', 'refused'])
  })

  it('says after how many whole seconds there is a token', () => {
    const { clock, throttling } = clocked({ createPerVm: { tokens: 1, refillPerMinute: 4 } })
    const use = [{ name: 'createPerVm', of: 'vm' }] as const
    throttling.take(use, 'PUT vm')
    expect(throttling.take(use, 'PUT vm')).toMatchObject({ kind: 'refused', retryAfterSeconds: 15 })
    clock.ms = 15_000
    expect(throttling.take(use, 'PUT vm').kind).toBe('taken')
  })

  it('with a window is whole again when the window is over', () => {
    const { clock, throttling } = clocked({ networkWrites: { tokens: 2, windowSeconds: 300 } })
    const ask = () => throttling.take([{ name: 'networkWrites' }], 'x')
    expect([ask(), ask(), ask()].map(({ kind }) => kind)).toEqual(['taken', 'taken', 'refused'])
    clock.ms = 100_000
    expect(ask()).toMatchObject({ kind: 'refused', retryAfterSeconds: 200 })
    clock.ms = 300_000
    expect([ask(), ask(), ask()].map(({ kind }) => kind)).toEqual(['taken', 'taken', 'refused'])
  })

  it('is held for each VM, and an empty one takes nothing from the others', () => {
    const { throttling } = clocked({
      createVm: { tokens: 2, refillPerMinute: 1 },
      createPerVm: { tokens: 1, refillPerMinute: 1 },
    })
    const put = (name: string) => throttling.take(bucketsOf('PUT', `${vm}/${name}`), name).kind
    expect(['one', 'one', 'two', 'three'].map(put)).toEqual(['taken', 'refused', 'taken', 'refused'])
    expect(throttling.counts).toEqual({
      createVm: { taken: 2, refused: 1, early: 0, earlyRetries: 0 },
      createPerVm: { taken: 2, refused: 1, early: 0, earlyRetries: 0 },
    })
  })

  it('counts who comes before Retry-After has passed, and who repeats a refused request too early', () => {
    const { clock, throttling } = clocked({ listVms: { tokens: 1, refillPerMinute: 6 } })
    const ask = (call: string) => throttling.take([{ name: 'listVms' }], call).kind
    expect([ask('a'), ask('b'), ask('c')]).toEqual(['taken', 'refused', 'refused'])
    expect(throttling.counts).toMatchObject({ listVms: { early: 1, earlyRetries: 0 } })
    clock.ms = 9_999
    ask('b')
    expect(throttling.counts).toMatchObject({ listVms: { early: 2, earlyRetries: 1 } })
    clock.ms = 20_000
    expect(ask('b')).toBe('taken')
    expect(throttling.counts).toMatchObject({ listVms: { taken: 2, refused: 3, early: 2, earlyRetries: 1 } })
  })
})

describe('the documented limits', () => {
  it('tell in headers what is left', () => {
    const { throttling } = clocked('documented')
    const answer = throttling.take(bucketsOf('PUT', `${vm}/one`), 'PUT one')
    expect(answer.headers).toEqual({
      'x-ms-ratelimit-remaining-subscription-writes': '199',
      'x-ms-ratelimit-remaining-resource':
        'Microsoft.Compute/CreateVMSubscriptionMaximum;1499,Microsoft.Compute/CreateVMResource;11',
    })
  })

  it('let 1,000 creates through in no less time than 10 ARM writes a second allow', () => {
    const { clock, throttling } = clocked('documented')
    let done = 0
    while (done < 1000) {
      const answer = throttling.take(bucketsOf('PUT', `${vm}/vm-${done}`), `PUT ${done}`)
      if (answer.kind === 'taken') done += 1
      else clock.ms += answer.retryAfterSeconds * 1000
    }
    const { tokens, refillPerMinute } = documentedLimits.armWrites
    expect(clock.ms).toBeGreaterThanOrEqual(((1000 - tokens) / refillPerMinute) * 60_000 - 1000)
    expect(clock.ms).toBeLessThan(82_000)
    expect(throttling.counts['armWrites']).toMatchObject({ early: 0, earlyRetries: 0 })
  })

  it.each([
    ['GET', `${vm}/one`, ['armReads', 'getVm']],
    ['GET', vm, ['armReads', 'listVms']],
    ['PUT', `${vm}/one`, ['armWrites', 'createVm', 'createPerVm']],
    ['PATCH', `${vm}/one`, ['armWrites', 'updateVm', 'updatePerVm']],
    ['PUT', `${vm}/one/extensions/billing`, ['armWrites', 'updateVm', 'updatePerVm']],
    ['DELETE', `${vm}/one`, ['armDeletes', 'deleteVm', 'deletePerVm']],
    [
      'GET',
      '/subscriptions/s/providers/Microsoft.Compute/locations/l/operations/o',
      ['armReads', 'getOperation', 'getOperationPerOperation'],
    ],
    ['GET', '/subscriptions/s/providers/Microsoft.Compute/skus', ['armReads']],
    [
      'DELETE',
      '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/n',
      ['armDeletes', 'networkWrites'],
    ],
    ['POST', '/providers/Microsoft.ResourceGraph/resources', ['resourceGraph']],
  ])('%s %s', (method, path, names) => {
    expect(bucketsOf(method, path).map(({ name }) => name)).toEqual(names)
  })
})
