import { describe, expect, it } from 'vitest'
import { LaunchHealth, type UnexplainedFailure } from './launch-health.ts'

const failure = (instanceType: string, change: Partial<UnexplainedFailure> = {}): UnexplainedFailure => ({
  nodeClass: 'default',
  instanceType,
  kind: 'failed',
  signature: 'SomethingNew',
  ...change,
})
const timeout = (instanceType: string) =>
  failure(instanceType, { kind: 'notRegistered', signature: 'RegistrationTimeout' })

function world() {
  let nowMs = 0
  const health = new LaunchHealth(() => nowMs)
  const verdicts = (...failures: readonly UnexplainedFailure[]) => failures.map((one) => health.failed(one).kind)
  return { health, verdicts, pass: (ms: number) => (nowMs += ms) }
}

describe('failures without a cause', () => {
  it.each<[string, readonly UnexplainedFailure[], readonly string[]]>([
    ['three of one size mark it', Array(3).fill(failure('a')), ['counted', 'counted', 'mark']],
    ['two Nodes that do not join mark a size', Array(2).fill(timeout('a')), ['counted', 'mark']],
    ['of two sizes are counted apart', ['a', 'b', 'a', 'b'].map((size) => failure(size)), Array(4).fill('counted')],
    [
      'with other codes are counted apart',
      ['x', 'y', 'z'].map((signature) => failure('a', { signature })),
      Array(3).fill('counted'),
    ],
    [
      'of other classes are counted apart',
      ['x', 'y', 'z'].map((nodeClass) => failure('a', { nodeClass })),
      Array(3).fill('counted'),
    ],
    [
      'of three sizes have a common cause',
      ['a', 'b', 'c'].map((size) => failure(size)),
      ['counted', 'counted', 'common'],
    ],
    [
      'of three sizes whose Nodes do not join have a common cause',
      ['a', 'b', 'c'].map(timeout),
      ['counted', 'counted', 'common'],
    ],
  ])('%s', (_, failures, expected) => {
    expect(world().verdicts(...failures)).toEqual(expected)
  })

  it('begin again with a Node that joins', () => {
    const { health, verdicts } = world()
    verdicts(failure('a'), failure('a'), failure('b'))
    expect(health.succeeded('default', 'registered').cleared).toEqual(['a', 'b'])
    expect(verdicts(failure('a'), failure('c'), failure('a'))).toEqual(['counted', 'counted', 'counted'])
  })

  it('of VMs that fail after Azure accepted them outlast the acceptance of the next', () => {
    const { health, verdicts } = world()
    const failed = failure('a')
    const kinds = [1, 2, 3].flatMap(() => {
      health.succeeded('default', 'accepted')
      return verdicts(failed)
    })
    expect(kinds).toEqual(['counted', 'counted', 'mark'])
  })

  it('with an image on trial give it up at the second, by class', () => {
    const { health } = world()
    expect(['a', 'b', 'a'].map((nodeClass) => health.failedOnTrial(nodeClass, '/I/1'))).toEqual([false, false, true])
    expect(health.failedOnTrial('b', '/i/1')).toBe(true)
    expect(health.failedOnTrial('a', '/i/1')).toBe(false)
  })

  it('of Nodes that do not join outlast a VM that Azure accepts', () => {
    const { health, verdicts } = world()
    verdicts(timeout('a'))
    health.succeeded('default', 'accepted')
    expect(verdicts(timeout('a'))).toEqual(['mark'])
  })

  it('leave the mark of the one size that failed, and clear those of several, when another succeeds', () => {
    const one = world()
    one.verdicts(timeout('a'), timeout('a'))
    expect(one.health.succeeded('default', 'registered').cleared).toEqual([])
    const two = world()
    two.verdicts(timeout('a'), timeout('a'), timeout('b'), timeout('b'))
    expect(two.health.succeeded('default', 'registered').cleared).toEqual(['a', 'b'])
  })
})

describe('refusals that may pass by themselves', () => {
  it('are taken for lasting at the third of a size and code, and begin again with a VM that Azure accepts', () => {
    const { health } = world()
    const refused = (size: string, nodeClass = 'default') => health.refusedAgain(nodeClass, size, 'InternalError')
    expect([refused('a'), refused('b'), refused('a'), refused('a', 'other'), refused('a')]).toEqual([
      false,
      false,
      false,
      false,
      true,
    ])
    health.succeeded('default', 'accepted')
    expect(refused('a')).toBe(false)
  })
})

describe('a common cause', () => {
  const common = () => {
    const made = world()
    made.verdicts(failure('a'), failure('b'), failure('c'))
    return made
  }

  it('is new once, names its sizes, and ends with a success', () => {
    const { health } = common()
    expect(health.commonCause('default')).toEqual({ signature: 'SomethingNew', sizes: ['a', 'b', 'c'] })
    expect(health.failed(failure('d'))).toMatchObject({ kind: 'common', isNew: false, sizes: ['a', 'b', 'c', 'd'] })
    expect(health.succeeded('default', 'registered').ended).toBe(true)
    expect(health.commonCause('default')).toBeUndefined()
    expect(health.takeTurn('default')).toBe(0)
  })

  it('lets one launch of the class through at a time, ever more seldom, up to 30 s', () => {
    const { health, pass } = common()
    const waits: number[] = []
    for (let probe = 0; probe < 7; probe += 1) {
      const wait = health.takeTurn('default')
      waits.push(wait)
      pass(wait)
      expect(health.takeTurn('default')).toBe(0)
      expect(health.takeTurn('default')).toBeGreaterThan(0)
      health.failed(failure('a'))
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    expect(health.takeTurn('other')).toBe(0)
  })
})
