import { expect, test, vi } from 'vitest'
import { Validations } from './validations.ts'

const never = new AbortController().signal
const one = { id: 'a', method: 'emptiness', nodeClaims: ['x', 'y'], dueMs: 15_000 } as const
const other = { id: 'b', method: 'drift', nodeClaims: ['z'], dueMs: 0 } as const

function waiting() {
  const validations = new Validations()
  validations.restart([one, other], 0)
  return validations
}

test('nodes and methods of all that wait are known, and go with their end', () => {
  const validations = waiting()
  expect([...validations.nodeClaims]).toEqual(['x', 'y', 'z'])
  expect(validations.methods(0)).toEqual(['emptiness', 'drift'])
  validations.ended('a')
  validations.ended('unknown')
  expect([...validations.nodeClaims]).toEqual(['z'])
  validations.restart([], 0)
  expect(validations.methods(0)).toEqual([])
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
  expect(validations.methods(0)).toEqual(['drift'])
  await validations.forgetEnded({ isValidating }, 34_999)
  expect(isValidating.mock.calls).toEqual([['a'], ['b']])
  await validations.forgetEnded({ isValidating }, 35_000)
  expect(isValidating).toHaveBeenCalledTimes(3)
})

test('one that hangs keeps its nodes reserved, and holds up no method', () => {
  const validations = waiting()
  expect(validations.methods(24_999)).toEqual(['emptiness'])
  expect(validations.methods(25_000)).toEqual([])
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
