import { describe, expect, test } from 'vitest'
import type { Birth, CommandFacts, Death, Life } from './life.ts'
import { unknownFacts } from './record.ts'
import {
  amountText,
  birthText,
  deathText,
  deathWord,
  namesText,
  offeringText,
  podsText,
  priceText,
  secondsText,
} from './texts.ts'
import { phaseStart, timelineOf } from './timeline.ts'

const offering = { instanceType: 'Standard_D4s_v5', capacityType: 'spot', zone: 'westus2-2' }

test.each([
  [offering, 'Standard_D4s_v5 spot westus2-2'],
  [{ ...offering, zone: '0' }, 'Standard_D4s_v5 spot no zone'],
  [{ ...offering, zone: '' }, 'Standard_D4s_v5 spot'],
])('the offering %j is %s', (one, text) => {
  expect(offeringText(one)).toBe(text)
})

test.each([
  [{ pricePerHour: 0.05 }, '$0.05 an hour'],
  [{ pricePerHour: 0.0123 }, '$0.012 an hour'],
  [{ pricePerHour: 12.345, isEstimate: true as const }, '$12.35 an hour (estimate)'],
  [{}, 'price unknown'],
])('the price %j is %s', (price, text) => {
  expect(priceText(price)).toBe(text)
})

test.each([
  [0, '0.00'],
  [1234.5, '1234.50'],
  [0.5, '0.50'],
  [0.00012, '0.00012'],
  [-0.0136, '-0.014'],
])('%d USD are %s', (usd, text) => {
  expect(amountText(usd)).toBe(text)
})

test.each([
  [1, '1 pod'],
  [12, '12 pods'],
])('%d pods are %s', (pods, text) => {
  expect(podsText(pods)).toBe(text)
})

test.each([
  [-5, '0 s'],
  [31_400, '31 s'],
  [599_000, '599 s'],
  [600_000, '10 min'],
])('%d ms are %s', (ms, text) => {
  expect(secondsText(ms)).toBe(text)
})

test.each<[readonly string[], string]>([
  [[], 'other nodes'],
  [['a', 'b', 'c'], 'a, b, c'],
  [['a', 'b', 'c', 'd', 'e'], 'a, b, c and 2 more'],
])('the names %j are %s', (names, text) => {
  expect(namesText(names)).toBe(text)
})

test.each<[Birth, string]>([
  [{ kind: 'pods', pods: 1 }, 'for 1 pod'],
  [{ kind: 'replacement', command: 'drift-1', replaces: ['a'] }, 'replaces a (command drift-1)'],
  [{ kind: 'replacement', command: 'drift-1', replaces: [] }, 'replaces other nodes (command drift-1)'],
  [{ kind: 'static', replicas: 5 }, 'for spec.replicas 5 of its static NodePool'],
  [{ kind: 'by-hand' }, 'created by hand or by another controller'],
])('the birth %j is %s', (came, text) => {
  expect(birthText(came)).toBe(text)
})

test.each<[Death, string, string]>([
  [{ kind: 'disruption', command: 'e-1', reason: 'Empty' }, 'Empty (command e-1)', 'Empty'],
  [{ kind: 'interrupted', message: 'Preempt' }, 'interrupted: Preempt', 'interrupted'],
  [{ kind: 'repaired', message: 'Ready is False' }, 'repaired: Ready is False', 'repaired'],
  [{ kind: 'expired', message: 'expired at X' }, 'expired at X', 'expired'],
  [{ kind: 'forced', message: 'case 42' }, 'ended by force: case 42', 'forced'],
  [{ kind: 'vm-lost', message: 'the VM was gone' }, 'VM lost: the VM was gone', 'vm-lost'],
  [{ kind: 'node-gone', message: 'since X' }, 'Node gone: since X', 'node-gone'],
  [{ kind: 'scaled-down', message: 'to 3' }, 'scaled down: to 3', 'scaled-down'],
  [{ kind: 'gave-up', reason: 'launch_timeout', message: 'no VM' }, 'gave up: launch_timeout: no VM', 'gave-up'],
  [{ kind: 'deleted' }, 'deleted by somebody', 'deleted'],
])('the end %j is %s', (went, text, word) => {
  expect([deathText(went), deathWord(went)]).toEqual([text, word])
})

describe('a timeline', () => {
  const life: Life = {
    ...unknownFacts(1000),
    nodeClaim: 'a',
    uid: 'aaaaaaaa',
    workflowId: 'nodeclaim/prod/a-aaaaaaaa',
    runId: 'run',
    isRunning: true,
    came: { kind: 'replacement', command: 'drift-1', replaces: ['old'] },
  }
  const command: CommandFacts = {
    id: 'drift-1',
    method: 'drift',
    reason: 'Drifted',
    decision: 'replace',
    candidates: ['old'],
    replacements: ['a'],
    savings: -1,
    startedMs: 2000,
    endedMs: 5000,
  }
  const whats = (one: Life, commands: readonly CommandFacts[]) => timelineOf(one, commands).map(({ what }) => what)

  test('has the command that the node was created for, and no others', () => {
    expect(whats(life, [command, { ...command, id: 'drift-2' }])).toEqual([
      'NodeClaim a created, replaces old (command drift-1)',
      'command drift-1 (Drifted, replace) of old, replaced by a',
      'command drift-1 cut short',
    ])
  })

  test('says why a command was undone', () => {
    expect(whats(life, [{ ...command, outcome: 'undone', message: 'too late' }]).at(-1)).toBe(
      'command drift-1 undone: too late',
    )
  })

  test('of a failed launch has each VM', () => {
    const vms = [
      { ...offering, fromMs: 2000, toMs: 2000 },
      { ...offering, pricePerHour: 1, fromMs: 3000 },
    ]
    expect(whats({ ...life, vms }, []).slice(1)).toEqual([
      'VM accepted: Standard_D4s_v5 spot westus2-2, price unknown',
      'VM gone: Standard_D4s_v5 spot westus2-2',
      'VM accepted: Standard_D4s_v5 spot westus2-2, $1.00 an hour',
    ])
  })
})

test.each([
  ['Launching', 1],
  ['Registering', 3],
  ['Initializing', 4],
  ['Ready', 5],
  ['Draining', 6],
  ['Terminating', undefined],
  ['Rebooting', undefined],
] as const)('the phase %s began when its facts say', (phase, ms) => {
  const vms = [2, 3].map((fromMs) => ({ ...offering, fromMs }))
  const facts = { ...unknownFacts(1), vms, registeredMs: 4, readyMs: 5, drainingMs: 6 }
  expect(phaseStart(facts, phase)).toBe(ms)
  expect(phaseStart(unknownFacts(1), phase)).toBe(phase === 'Launching' ? 1 : undefined)
})
