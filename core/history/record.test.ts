import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandFacts, endedCommand } from './command-facts.ts'
import type { LifeFacts, VmSpan } from './life.ts'
import { readCommandFacts, readLifeFacts } from './read-facts.ts'
import { bounded, ended, launched, leaving, refused, unknownFacts, vmEnded } from './record.ts'

const vm = (fromMs: number, instanceType = 'D4'): VmSpan => ({
  instanceType,
  zone: 'westus2-1',
  capacityType: 'spot',
  pricePerHour: 0.1,
  fromMs,
})
const start = unknownFacts(1000)

describe('VMs', () => {
  test('a VM that is adopted again is one VM', () => {
    expect(launched(launched(start, vm(2000)), vm(2500)).vms).toEqual([vm(2000)])
  })

  test('a VM after one that failed is another, even of the same size', () => {
    const facts = launched(vmEnded(launched(start, vm(2000)), 3000), vm(4000))
    expect(facts.vms).toEqual([{ ...vm(2000), toMs: 3000 }, vm(4000)])
  })

  test('a VM of another size ends the one before: a NodeClaim has one VM', () => {
    const facts = launched(launched(start, vm(2000)), vm(4000, 'D8'))
    expect(facts.vms).toEqual([{ ...vm(2000), toMs: 4000 }, vm(4000, 'D8')])
  })

  test('a lifecycle that ends closes its VM when it was gone', () => {
    expect(ended(launched(start, vm(2000)), 9000, 8000)).toMatchObject({
      vms: [{ ...vm(2000), toMs: 8000 }],
      endedMs: 9000,
      went: { kind: 'deleted' },
    })
  })

  test('a clock that went back makes no VM shorter than nothing', () => {
    expect(ended(launched(start, vm(2000)), 1500).vms[0]?.toMs).toBe(2000)
  })
})

describe('the cause of an end', () => {
  test('stays when others follow', () => {
    const facts = leaving(start, { kind: 'expired', message: 'expired' }, 5000)
    expect(leaving(facts, { kind: 'forced', message: 'stuck' }, 7000)).toEqual(facts)
  })

  test('takes the place of a deletion without a cause', () => {
    const facts = leaving(start, { kind: 'deleted' }, 5000)
    const forced = { kind: 'forced', message: 'stuck' } as const
    expect(leaving(facts, forced, 7000)).toMatchObject({ went: forced, drainingMs: 5000 })
  })
})

test('the latest refusals are kept, with a reason on one line', () => {
  const facts = Array.from({ length: 9 }, (_, at) => at).reduce<LifeFacts>(
    (before, at) => refused(before, { ...vm(0), reason: `Reason${at}\n${'x'.repeat(99)}` }),
    start,
  )
  expect(facts.refused.map(({ reason }) => reason.slice(0, 9))).toEqual([4, 5, 6, 7, 8].map((at) => `Reason${at}\\n`))
})

const anyText = fc.string({ maxLength: 253, unit: 'grapheme' })
const anyFacts: fc.Arbitrary<LifeFacts> = fc.record(
  {
    nodePool: anyText,
    node: anyText,
    createdMs: fc.nat(),
    readyMs: fc.nat(),
    drainedPods: fc.nat(),
    vms: fc.array(fc.record({ instanceType: anyText, zone: anyText, capacityType: anyText, fromMs: fc.nat() }), {
      maxLength: 6,
    }),
    came: fc.oneof(
      fc.record({ kind: fc.constant('pods' as const), pods: fc.nat() }),
      fc.record({
        kind: fc.constant('replacement' as const),
        command: anyText,
        replaces: fc.array(fc.string({ maxLength: 40 }), { maxLength: 8 }),
      }),
    ),
    went: fc.record({ kind: fc.constant('expired' as const), message: fc.string({ maxLength: 200 }) }),
    refused: fc.array(fc.record({ instanceType: anyText, zone: anyText, capacityType: anyText, reason: anyText }), {
      maxLength: 5,
    }),
    attempts: fc.nat(),
    labels: fc.dictionary(
      fc.string({ maxLength: 60 }).filter((key) => key !== '__proto__'),
      fc.string({ maxLength: 63 }),
      { maxKeys: 12 },
    ),
  },
  { requiredKeys: ['createdMs', 'vms', 'came', 'refused', 'attempts', 'labels'] },
)

test('facts that fit into a memo are read as they were written', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const kept = bounded(facts)
      expect(readLifeFacts(JSON.parse(JSON.stringify(kept)))).toEqual(kept)
      expect(kept.vms.at(-1)).toEqual(facts.vms.at(-1))
    }),
  )
})

test('facts of names as long as Kubernetes allows fit into 4 KiB', () => {
  const name = 'n'.repeat(253)
  let facts: LifeFacts = {
    ...start,
    nodePool: name,
    node: name,
    came: { kind: 'replacement', command: name, replaces: [name] },
    labels: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`l${at}`, 'v'.repeat(63)])),
  }
  for (let at = 0; at < 20; at++) {
    facts = refused(facts, { ...vm(at), reason: name })
    facts = launched(vmEnded(facts, at), vm(at, 'Standard_M416s_8_v2'))
  }
  expect(Buffer.byteLength(JSON.stringify(bounded(ended(facts, 99))))).toBeLessThan(3600)
})

const command = {
  id: 'drift-1',
  method: 'drift',
  reason: 'Drifted',
  decision: 'replace',
  candidates: [{ name: 'a' }],
  replacements: [{ name: 'b' }],
  savings: 0.5,
} as const

test('a command is read as it was written', () => {
  const facts = commandFacts(command, 1000)
  expect(readCommandFacts(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
  const undone = endedCommand(facts, 2000, { outcome: 'undone', why: 'x\u001b'.repeat(500) })
  expect(undone.message?.length).toBeLessThanOrEqual(200)
  expect(readCommandFacts(undone)).toEqual(undone)
  expect(endedCommand(facts, 2000, { outcome: 'done', why: '1 nodes are gone' })).not.toHaveProperty('message')
})

test('a command of many nodes keeps the first few names', () => {
  const candidates = Array.from({ length: 500 }, (_, at) => ({ name: `${'n'.repeat(200)}-${at}` }))
  const facts = commandFacts({ ...command, candidates, replacements: candidates }, 1000)
  expect(JSON.stringify(facts).length).toBeLessThan(3600)
  expect(facts.candidates.length).toBeGreaterThan(3)
})

describe('what somebody else wrote into a memo', () => {
  const good = { ...launched(start, vm(2000)), went: { kind: 'deleted' }, labels: { a: 'b' } }

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'facts'],
    ['a list', [good]],
    ['no time', { ...good, createdMs: undefined }],
    ['a time as text', { ...good, createdMs: '2026' }],
    ['a time beyond all times', { ...good, createdMs: 1e300 }],
    ['a negative time', { ...good, readyMs: -1 }],
    ['not a number', { ...good, endedMs: Number.NaN }],
    ['VMs that are no list', { ...good, vms: {} }],
    ['a VM without a size', { ...good, vms: [{ fromMs: 1 }] }],
    ['a VM that ended before it began', { ...good, vms: [{ ...vm(2000), toMs: 1000 }] }],
    ['a negative price', { ...good, vms: [{ ...vm(2000), pricePerHour: -5 }] }],
    ['too many VMs', { ...good, vms: Array.from({ length: 1000 }, () => vm(1)) }],
    ['an unknown birth', { ...good, came: { kind: 'stork' } }],
    ['an unknown death', { ...good, went: { kind: 'murder', message: '' } }],
    ['a disruption for no known reason', { ...good, went: { kind: 'disruption', command: 'c', reason: 'Fun' } }],
    ['a label that is no text', { ...good, labels: { a: 1 } }],
    ['a text without end', { ...good, node: 'n'.repeat(100_000) }],
    ['half an attempt', { ...good, attempts: 0.5 }],
  ])('is no fact: %s', (_, value) => {
    expect(readLifeFacts(value)).toBeUndefined()
    expect(readCommandFacts(value)).toBeUndefined()
  })

  test('is ignored beside the facts', () => {
    expect(readLifeFacts({ ...good, extra: 'x' })).toEqual(good)
  })

  test('is no fact, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readLifeFacts(value)).toBeUndefined()
        expect(readCommandFacts(value)).toBeUndefined()
      }),
    )
  })
})
