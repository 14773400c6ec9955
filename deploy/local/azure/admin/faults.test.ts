import { describe, expect, it, vi } from 'vitest'
import { Faults } from './faults.ts'

const attempt = { sku: 'Standard_D4s_v5', zone: '1', capacityType: 'spot', image: '' } as const

/** Which of so many creates a fault hits. */
function hits(faults: Faults, creates: number): readonly boolean[] {
  return Array.from({ length: creates }, () => faults.take('failSync', attempt) !== undefined)
}

describe('a fault', () => {
  it('hits once, or as often as it says', () => {
    const faults = new Faults()
    faults.add({ kind: 'failSync', code: 'AllocationFailed' })
    expect(hits(faults, 3)).toEqual([true, false, false])
    faults.add({ kind: 'failSync', code: 'AllocationFailed', count: 2 })
    expect(hits(faults, 3)).toEqual([true, true, false])
  })

  it('with a probability hits about that share without end, the same for the same seed', () => {
    const drawn = (seed: number) => {
      const faults = new Faults()
      faults.add({ kind: 'failSync', code: 'AllocationFailed', probability: 0.3, seed })
      return hits(faults, 2000)
    }
    const share = drawn(7).filter(Boolean).length / 2000
    expect(share).toBeGreaterThan(0.26)
    expect(share).toBeLessThan(0.34)
    expect(drawn(7)).toEqual(drawn(7))
    expect(drawn(7)).not.toEqual(drawn(8))
  })

  it('with a time hits all that comes in it, and nothing after', () => {
    vi.useFakeTimers()
    const faults = new Faults()
    faults.add({ kind: 'failSync', code: 'AllocationFailed', forMs: 1000 })
    vi.advanceTimersByTime(999)
    expect(hits(faults, 3)).toEqual([true, true, true])
    vi.advanceTimersByTime(1)
    expect(hits(faults, 1)).toEqual([false])
    expect(faults.list).toEqual([])
    vi.useRealTimers()
  })

  it('that is not drawn leaves the next one its turn', () => {
    const faults = new Faults()
    faults.add({ kind: 'failSync', code: 'Never', probability: 0 })
    faults.add({ kind: 'failSync', code: 'AllocationFailed' })
    expect(faults.take('failSync', attempt)?.code).toBe('AllocationFailed')
  })
})
