import { expect, test } from 'vitest'
import type { Death, LifeFacts } from './life.ts'
import { ended, unknownFacts } from './record.ts'
import { failureOf, goneResult, type Outcome, outcomes, resultOf } from './result.ts'

const start = Date.UTC(2026, 0, 1)
const hour = 3_600_000
const vm = {
  instanceType: 'Standard_D4s_v5',
  zone: 'westus2-2',
  capacityType: 'spot',
  pricePerHour: 0.0543,
  fromMs: start,
}
const launched: LifeFacts = { ...unknownFacts(start), vms: [vm], attempts: 1 }
const ready: LifeFacts = { ...launched, readyMs: start + 60_000 }
const after = (facts: LifeFacts, went?: Death) =>
  resultOf(ended({ ...facts, ...(went && { went }) }, start + 2 * hour, start + 1.5 * hour))

test('a result has outcome, cause, VM, price and hours', () => {
  expect(after(ready, { kind: 'disruption', command: 'drift-1', reason: 'Drifted' })).toEqual({
    outcome: 'disruption',
    reason: 'Drifted (command drift-1)',
    vm: 'Standard_D4s_v5 spot westus2-2',
    price: 0.0543,
    hours: 1.5,
  })
})

test('what is not known is left out', () => {
  expect(after(unknownFacts(start))).toEqual({ outcome: 'deleted', reason: 'deleted by somebody' })
  const { pricePerHour: _, ...unpriced } = vm
  expect(after({ ...ready, vms: [unpriced] })).not.toHaveProperty('price')
})

test('of several VMs it is the last one', () => {
  const failed = { ...vm, zone: 'westus2-1', toMs: start }
  expect(after({ ...ready, vms: [failed, vm] })).toMatchObject({ vm: 'Standard_D4s_v5 spot westus2-2', hours: 1.5 })
})

const by = (kind: 'interrupted' | 'repaired' | 'expired' | 'forced' | 'vm-lost' | 'scaled-down' | 'node-gone') =>
  ({ kind, message: 'why' }) as const
const gaveUp = (reason: string) => ({ kind: 'gave-up', reason, message: 'why' }) as const

test.each<[string, Death, Outcome, Outcome]>([
  ['a command', { kind: 'disruption', command: 'c', reason: 'Empty' }, 'disruption', 'disruption'],
  ['an interruption', by('interrupted'), 'interrupted', 'lost'],
  ['a repair', by('repaired'), 'repaired', 'gave-up'],
  ['its expiry', by('expired'), 'expired', 'gave-up'],
  ['force', by('forced'), 'forced', 'forced'],
  ['the loss of its VM', by('vm-lost'), 'vm-lost', 'lost'],
  ['the loss of its Node', by('node-gone'), 'node-gone', 'lost'],
  ['its NodePool', by('scaled-down'), 'scaled-down', 'scaled-down'],
  ['somebody', { kind: 'deleted' }, 'deleted', 'deleted'],
])('a node that ended by %s fails its run only if it never was ready', (_, went, served, never) => {
  expect([after(ready, went).outcome, after(launched, went).outcome]).toEqual([served, never])
  expect(failureOf('a', ready, after(ready, went))).toBeUndefined()
  expect(failureOf('a', launched, after(launched, went))?.type).toBe(outcomes[never])
})

test.each([
  ['launch_timeout', 'gave-up', 'GaveUp'],
  ['registration_timeout', 'gave-up', 'GaveUp'],
  ['insufficient_capacity', 'refused', 'Refused'],
  ['nodeclass_not_ready', 'refused', 'Refused'],
  ['invalid_nodeclaim', 'refused', 'Refused'],
])('the give-up %s is %s, and fails with %s', (reason, outcome, type) => {
  const result = after(launched, gaveUp(reason))
  expect(result.outcome).toBe(outcome)
  expect(failureOf('a', launched, result)?.type).toBe(type)
})

test.each<[string, Partial<LifeFacts>, string]>([
  ['an attempt without a VM', { vms: [] }, '1 launch attempt;'],
  ['a VM', {}, '1 launch attempt, the last VM Standard_D4s_v5 spot westus2-2;'],
  [
    'refusals',
    { vms: [], attempts: 3, refused: [{ ...vm, reason: 'SKUNotAvailable' }] },
    '3 launch attempts, last refused Standard_D4s_v5 spot westus2-2 (SKUNotAvailable);',
  ],
])('the failure says on one line what was tried and why it failed: %s', (_, change, tried) => {
  const facts = { ...launched, ...change }
  const result = after(facts, gaveUp('insufficient_capacity'))
  expect(failureOf('general-7kq2x', facts, result)?.message).toBe(
    `NodeClaim general-7kq2x never became ready: ${tried} gave up: insufficient_capacity: why`,
  )
})

test('a failure stays short and on its line, whatever Azure says', () => {
  const result = after(launched, { ...gaveUp('insufficient_capacity'), message: 'a\nb'.repeat(1000) })
  const { message = '' } = failureOf('a', launched, result) ?? {}
  expect([message.length, message.includes('\n')]).toEqual([500, false])
})

test('a run that never saw its NodeClaim completes', () => {
  expect(failureOf('a', unknownFacts(start), goneResult)).toBeUndefined()
})
