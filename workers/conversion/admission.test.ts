import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Admission } from './webhook.ts'

const limits = { requests: 5, requestsOfAddress: 3, bytes: 100, bytesOfAddress: 60 }

describe('admission', () => {
  it('never holds more than its limits, of all or of one address, and has all its room again at the end', () => {
    const step = fc.oneof(
      fc.record({ address: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 0, max: 70 }) }),
      fc.record({ leave: fc.nat(20) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const admission = new Admission(limits)
        const inside: { readonly address: string; readonly bytes: number; readonly leave: () => void }[] = []
        const sums = (of: typeof inside) => [of.length, of.reduce((sum, { bytes }) => sum + bytes, 0)] as const
        for (const one of steps) {
          if ('leave' in one) {
            const [gone] = inside.splice(one.leave % Math.max(1, inside.length), 1)
            gone?.leave()
            gone?.leave()
            continue
          }
          const [own, all] = [sums(inside.filter(({ address }) => address === one.address)), sums(inside)]
          const hasRoom = own[0] < 3 && own[1] + one.bytes <= 60 && all[0] < 5 && all[1] + one.bytes <= 100
          const leave = admission.enter(one.address, one.bytes)
          expect(leave !== undefined).toBe(hasRoom)
          if (leave !== undefined) inside.push({ ...one, leave })
        }
        for (const { leave } of inside) leave()
        expect([admission.enter('a', 60), admission.enter('b', 40)].every(Boolean)).toBe(true)
      }),
    )
  })
})
