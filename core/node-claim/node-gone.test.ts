import { expect, test } from 'vitest'
import { sampleClaim, sampleCondition, sampleNode, sampleTime } from '../../test/samples/sample-objects.ts'
import { applyConditions, conditionOf } from '../conditions.ts'
import type { NodeClaim } from '../objects.ts'
import { claimWait } from './claim-wait.ts'
import { type LifecycleStep, nextStep } from './lifecycle.ts'
import { nodeGoneLimits, nodeGoneTurn } from './node-gone.ts'
import { noNodeRules } from './node-health.ts'
import { phaseOf } from './phase.ts'

const minute = 60_000
const since = sampleTime + 10 * minute
const limits = nodeGoneLimits

function gone(change: Partial<NodeClaim['metadata']> = {}, conditions = ['Launched', 'Registered', 'Initialized']) {
  return sampleClaim('aks-a', {
    metadata: { name: 'a', uid: 'uid-a', ...change },
    status: {
      conditions: [...conditions.map((type) => sampleCondition(type)), sampleCondition('NodeGone', 'True', since)],
    },
  })
}
const stepAt = (claim: NodeClaim, now: number, node = undefined as ReturnType<typeof sampleNode> | undefined) =>
  nextStep(claim, { uid: 'uid-a', now }, { node, rules: noNodeRules, nodeGone: limits })
const held = {
  annotations: { 'joiner.sh/hold-until': new Date(since + 30 * minute).toISOString().replace('.000', '') },
}
const newer = sampleNode('aks-a', { metadata: { creationTimestamp: new Date(since).toISOString() } })

test.each<[string, LifecycleStep, LifecycleStep['kind'], number | undefined]>([
  ['before two minutes', stepAt(gone(), since + minute), 'steady', since + 2 * minute],
  ['after two minutes', stepAt(gone(), since + 2 * minute), 'endWithoutNode', undefined],
  [
    'before it was initialized',
    stepAt(gone({}, ['Launched', 'Registered']), since + 2 * minute),
    'endWithoutNode',
    undefined,
  ],
  [
    'while it reboots',
    stepAt(gone({}, ['Launched', 'Registered', 'Rebooting']), since + 2 * minute),
    'endWithoutNode',
    undefined,
  ],
  [
    'without Registered, but with a name',
    stepAt(gone({}, ['Launched']), since + 2 * minute),
    'endWithoutNode',
    undefined,
  ],
  ['while it is held', stepAt(gone(held), since + 2 * minute), 'steady', since + 30 * minute],
  ['when another Node joined', stepAt(gone(), since + 5 * minute, newer), 'awaitRegistration', undefined],
  ['when its Node is there', stepAt(gone(), since + 5 * minute, sampleNode('aks-a')), 'steady', undefined],
  [
    'when it is being deleted',
    stepAt(gone({ deletionTimestamp: new Date(since).toISOString() }), since),
    'terminate',
    undefined,
  ],
  ['when nobody looked for the Node', nextStep(gone(), { uid: 'uid-a', now: since + 5 * minute }), 'steady', undefined],
])('a NodeClaim without its Node, %s', (_, step, kind, wakeAtMs) => {
  expect(step.kind).toBe(kind)
  expect('wakeAtMs' in step ? step.wakeAtMs : undefined).toBe(wakeAtMs)
})

test('Ready is Unknown with the reason NodeGone whatever else is written, until the Node is registered', () => {
  const owner = { kind: 'NodeClaim', now: 't', createdAt: 't', generation: 1, deleting: false } as const
  const met = (['Launched', 'Registered', 'Initialized'] as const).map((type) => ({ type, status: 'True' }) as const)
  const before = applyConditions([], { set: [...met, { type: 'NodeGone', status: 'True', message: 'why' }] }, owner)
  const drifted = applyConditions(before, { set: [{ type: 'Drifted', status: 'True' }] }, owner)
  expect(conditionOf(drifted, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'NodeGone', message: 'why' })
  const after = applyConditions(drifted, { clear: ['NodeGone'] }, owner)
  expect(conditionOf(after, 'Ready')).toMatchObject({ status: 'True' })
})

/** Returns how many of a NodePool's nodes may end at these minutes, each of another NodeClaim. */
function ends(nodes: number, minutes: readonly number[], record?: string): readonly string[] {
  let written = record
  return minutes.map((at, index) => {
    const turn = nodeGoneTurn(written, { uid: `u${index}`, now: sampleTime + at * minute, nodes }, limits)
    if (turn.kind === 'end') written = turn.record
    return turn.kind === 'end' ? 'end' : `until ${(turn.untilMs - sampleTime) / minute}`
  })
}

test.each<[string, readonly string[], readonly string[]]>([
  ['one of one node', ends(1, [0]), ['end']],
  ['two of two', ends(2, [0, 1]), ['end', 'until 10']],
  ['three of ten', ends(10, [0, 1, 2]), ['end', 'end', 'until 10']],
  ['the third after ten minutes', ends(10, [0, 1, 10]), ['end', 'end', 'end']],
  ['with an unreadable record', ends(1, [0], '{"u9": 7'), ['end']],
  ['with a record that is none', ends(1, [0], '["x", null]'), ['end']],
  ['with a time of the far future', ends(1, [0], '{"u9":"2036-01-01T00:00:00Z"}'), ['end']],
])('a fifth of a NodePool may end in ten minutes: %s', (_, found, expected) => {
  expect(found).toEqual(expected)
})

test('an attempt that is repeated counts once', () => {
  const ask = { uid: 'u', now: sampleTime, nodes: 1 }
  const first = nodeGoneTurn(undefined, ask, limits)
  expect(first.kind).toBe('end')
  const record = first.kind === 'end' ? first.record : ''
  expect(nodeGoneTurn(record, { ...ask, now: sampleTime + minute }, limits)).toEqual({ kind: 'end', record })
  expect(nodeGoneTurn(record, { ...ask, uid: 'v' }, limits)).toMatchObject({ kind: 'withheld', ended: 1, most: 1 })
})

test('commands and the page name it: a NodeClaim without its Node waits for one, and pods that were planned on it do not', () => {
  const claim = gone()
  expect(phaseOf(claim)).toMatchObject({ phase: 'Registering', sinceMs: since })
  expect(claimWait(claim, undefined, sampleTime).text).toBe(
    'Node aks-a of NodeClaim a is gone; the pods are planned again',
  )
})
