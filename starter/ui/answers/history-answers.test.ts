import { expect, test } from 'vitest'
import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { decisionsOf } from './decisions.ts'
import { costOf, timelineOf } from './node-details.ts'

const hourMs = 3_600_000
const start = Date.UTC(2026, 10, 24, 8)

const life = (nodeClaim: string, more: Partial<Life> = {}): Life => ({
  nodeClaim,
  uid: 'aaaaaaaa',
  workflowId: `nodeclaim/test/${nodeClaim}-aaaaaaaa`,
  runId: 'run',
  isRunning: true,
  nodePool: 'general',
  node: `aks-${nodeClaim}`,
  createdMs: start,
  registeredMs: start + 60_000,
  readyMs: start + 90_000,
  vms: [
    {
      instanceType: 'Standard_D4s_v5',
      zone: 'westus2-2',
      capacityType: 'spot',
      pricePerHour: 0.1,
      fromMs: start + 10_000,
    },
  ],
  came: { kind: 'pods', pods: 3 },
  refused: [],
  attempts: 1,
  labels: {},
  ...more,
})

const command = (more: Partial<CommandFacts> = {}): CommandFacts => ({
  id: 'c1',
  method: 'multi-node',
  reason: 'Underutilized',
  decision: 'replace',
  candidates: ['a', 'b'],
  replacements: ['c'],
  savings: 0.05,
  startedMs: start + hourMs,
  ...more,
})

const history = (lives: readonly Life[], commands: readonly CommandFacts[] = []): History => ({
  lives,
  commands,
  sinceMs: start - hourMs,
  untilMs: start + 4 * hourMs,
  retentionMs: 72 * hourMs,
  unreadable: 1,
})

test('decisions name what was decided, why, and what it costs', () => {
  const gone = life('d', {
    isRunning: false,
    drainingMs: start + 2 * hourMs,
    endedMs: start + 2 * hourMs + 60_000,
    drainedPods: 2,
    went: { kind: 'interrupted', message: 'Preempt' },
  })
  const failed = life('e', {
    isRunning: false,
    vms: [],
    attempts: 4,
    went: { kind: 'gave-up', reason: 'NoCapacity', message: 'no offering is left' },
  })
  const { registeredMs: _registered, readyMs: _ready, node: _node, ...unready } = failed
  const { decisions } = decisionsOf(
    history([life('a'), life('b'), gone, unready], [command({ endedMs: start + hourMs + 120_000, outcome: 'done' })]),
    'test',
  )
  expect(decisions.map(({ kind, text, reason, outcome }) => [kind, text, reason, outcome])).toEqual([
    ['end', 'aks-d, Standard_D4s_v5 spot in westus2-2, ended after 2h, 2 pods moved', 'interrupted: Preempt', 'done'],
    ['disruption', 'Underutilized (multi-node): aks-a, aks-b replaced by c, done after 2m', 'Underutilized', 'done'],
    ...['a', 'b', 'd'].map((name) => [
      'launch',
      `aks-${name} of NodePool general, Standard_D4s_v5 spot in westus2-2, was ready after 1m30s`,
      'for 3 pods',
      'done',
    ]),
    [
      'launch',
      'e of NodePool general, a node, was given up, 4 attempts',
      'for 3 pods; gave up: NoCapacity: no offering is left',
      'failed',
    ],
  ])
  expect(decisions[1]).toMatchObject({
    before: 0.2,
    after: expect.closeTo(0.15),
    nodes: ['aks-a', 'aks-b'],
    workflowId: 'disrupt/test/c1',
  })
})

test.each([
  [{}, 'running', ', under way'],
  [{ endedMs: start + 2 * hourMs, outcome: 'undone', message: 'a pod came' }, 'undone', ', undone: a pod came'],
  [{ endedMs: start + 2 * hourMs }, 'failed', ', its workflow was ended'],
] as const)('a command with %j is %s', (facts, outcome, end) => {
  const [decision] = decisionsOf(history([], [command(facts)]), 'test').decisions
  expect(decision).toMatchObject({ outcome, text: `Underutilized (multi-node): a, b replaced by c${end}` })
  // No price of its nodes is known.
  expect(decision?.before).toBeUndefined()
})

test.each([
  ['still runs', {}],
  ['was undone', { endedMs: start + 2 * hourMs, outcome: 'undone' }],
] as const)('a command that %s has saved nothing, and a node that still leaves neither', (_, facts) => {
  const went = { kind: 'interrupted', message: 'Preempt' } as const
  const lives = [life('a'), life('b'), life('d', { drainingMs: start + 2 * hourMs, went })]
  const { decisions } = decisionsOf(history(lives, [command(facts)]), 'test')
  expect(decisions.filter(({ kind }) => kind !== 'launch').map(({ before }) => before)).toEqual([undefined, undefined])
})

test('a timeline has the phases from one to the next, with what happened', () => {
  const whole = life('a', {
    attempts: 2,
    refused: [{ instanceType: 'Standard_D2s_v5', zone: '', capacityType: 'spot', reason: 'quota' }],
    drainingMs: start + hourMs,
    endedMs: start + hourMs + 30_000,
    isRunning: false,
    drainedPods: 1,
    went: { kind: 'disruption', command: 'c1', reason: 'Drifted' },
  })
  expect(
    timelineOf(whole).map(({ phase, fromMs, toMs, text }) => [phase, fromMs - start, (toMs ?? 0) - start, text]),
  ).toEqual([
    [
      'Launching',
      0,
      10_000,
      'created, for 3 pods; 2 launch attempts; Azure refused Standard_D2s_v5 spot in no zone (quota)',
    ],
    ['Registering', 10_000, 60_000, 'Azure accepted the VM: Standard_D4s_v5 spot in westus2-2'],
    ['Initializing', 60_000, 90_000, 'its Node aks-a joined'],
    ['Ready', 90_000, hourMs, 'ready for pods'],
    ['Draining', hourMs, hourMs + 30_000, 'Drifted (command c1); 1 pod moved'],
    ['Gone', hourMs + 30_000, hourMs + 30_000, 'Drifted (command c1)'],
  ])
  expect(timelineOf(life('a')).at(-1)).toEqual({ phase: 'Ready', fromMs: start + 90_000, text: 'ready for pods' })
})

test('a life costs what its VMs cost, and nothing is said where a price is missing', () => {
  expect(costOf(life('a'), start + 10_000 + 2 * hourMs)).toBeCloseTo(0.2)
  const vms = life('a').vms.map(({ pricePerHour: _price, ...vm }) => vm)
  expect(costOf(life('a', { vms }), start + hourMs)).toBeUndefined()
})
