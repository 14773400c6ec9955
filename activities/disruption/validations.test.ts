import { expect, test, vi } from 'vitest'
import { type DisruptionMethod, methodNames } from '../../core/disruption/command.ts'
import { methodsAtOnce, Validations } from './validations.ts'

const never = new AbortController().signal
const noEnd = Number.POSITIVE_INFINITY
const one = { id: 'a', method: 'emptiness', nodeClaims: ['x', 'y'], dueMs: 15_000 } as const
const other = { id: 'b', method: 'drift', nodeClaims: ['z'], dueMs: 0 } as const

function waiting() {
  const validations = new Validations()
  validations.restart([one, other], 0)
  return validations
}

test('nodes of all that wait are known, and what may go on, and go with their end', () => {
  const validations = waiting()
  expect([...validations.nodeClaims]).toEqual(['x', 'y', 'z'])
  expect(validations.methodsBeside(0).methods).toEqual(methodsAtOnce)
  validations.ended('a')
  validations.ended('unknown')
  expect([...validations.nodeClaims]).toEqual(['z'])
  validations.restart([], 0)
  expect(validations.methodsBeside(0).methods).toEqual(methodNames)
})

test.each<[string, readonly DisruptionMethod[], number, readonly DisruptionMethod[], number]>([
  ['one for empty nodes was proposed just now', ['emptiness'], 4999, methodsAtOnce, 5000],
  ['one for empty nodes was proposed five seconds ago', ['emptiness'], 5000, ['emptiness', ...methodsAtOnce], noEnd],
  ['one of consolidation waits as well', ['emptiness', 'multi-node'], 5000, methodsAtOnce, noEnd],
  ['one waits for nothing', ['drift'], 0, methodNames, noEnd],
])('%s: these methods may go on, until then', (_, methods, now, allowed, untilMs) => {
  const validations = new Validations()
  for (const method of methods) validations.add({ id: method, method, nodeClaims: [method], dueMs: 15_000 })
  expect(validations.methodsBeside(now)).toEqual({ methods: allowed, untilMs })
})

test.each([
  [14_999, false],
  [15_000, true],
  [24_999, true],
  // Nobody waits for it for ever.
  [25_000, false],
])('%d ms after its proposal the commit of an empty node is to come any moment: %s', (now, expected) => {
  const validations = new Validations()
  validations.add(one)
  expect(validations.isDue(now)).toBe(expected)
})

test('what somebody has ended is forgotten, and what still waits is asked for again each ten seconds', async () => {
  const validations = waiting()
  const isValidating = vi.fn(async (id: string) => id === 'b')
  expect(await validations.forgetEnded({ isValidating }, 9999)).toEqual([])
  expect(isValidating).not.toHaveBeenCalled()
  expect(await validations.forgetEnded({ isValidating }, 25_000)).toEqual(['b'])
  expect(validations.methodsBeside(0).methods).toEqual(methodNames)
  await validations.forgetEnded({ isValidating }, 34_999)
  expect(isValidating.mock.calls).toEqual([['a'], ['b']])
  await validations.forgetEnded({ isValidating }, 35_000)
  expect(isValidating).toHaveBeenCalledTimes(3)
})

test('one that hangs keeps its nodes reserved, and holds up no method', () => {
  const validations = waiting()
  expect(validations.methodsBeside(24_999).methods).not.toContain('multi-node')
  expect(validations.methodsBeside(25_000).methods).toEqual(methodNames)
  expect(validations.nodeClaims.size).toBe(3)
})

test('a memo that names a time far ahead is asked about all the same', async () => {
  const validations = new Validations()
  validations.restart([{ ...one, dueMs: 1e15 }], 0)
  await validations.forgetEnded({ isValidating: async () => false }, 70_000)
  expect(validations.nodeClaims.size).toBe(0)
})

test('a wait ends with the next end, with its time, or with the signal', async () => {
  vi.useFakeTimers()
  try {
    const validations = waiting()
    const ended: string[] = []
    const wait = (name: string, ms: number, signal = never) =>
      validations.untilEnd(ms, signal).then(() => ended.push(name))
    void wait('by time', 1000)
    await vi.advanceTimersByTimeAsync(1000)
    void wait('by an end', 1000)
    validations.ended('a')
    await vi.advanceTimersByTimeAsync(0)
    void wait('by the signal', 1000, AbortSignal.abort())
    await vi.advanceTimersByTimeAsync(0)
    expect(ended).toEqual(['by time', 'by an end', 'by the signal'])
  } finally {
    vi.useRealTimers()
  }
})
