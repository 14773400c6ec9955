import { describe, expect, test } from 'vitest'
import { sampleClaim, sampleNode, samplePolicy, sampleTime } from '../../test/samples/sample-objects.ts'
import { noNodeRules } from '../node-claim/node-health.ts'
import { annotations, labels } from '../requirements/labels.ts'
import { deathOf, factsOfClaim, priceAnnotation, priceOfClaim, replacesAnnotation } from './claim-facts.ts'
import { readLifeFacts } from './read-facts.ts'

const minute = 60_000
const at = (ms: number) => new Date(sampleTime + ms).toISOString()
const condition = (type: string, afterMs: number, reason = type) =>
  ({ type, status: 'True', reason, lastTransitionTime: at(afterMs) }) as const

const launchedClaim = sampleClaim('n', {
  metadata: {
    labels: {
      [labels.nodePool]: 'default',
      [labels.instanceType]: 'Standard_D4s_v5',
      [labels.zone]: 'westus2-2',
      [labels.capacityType]: 'spot',
      'node.kubernetes.io/exclude-from-external-load-balancers': 'true',
      team: 'search',
      'example.com/tier': 'gold',
    },
    annotations: { [annotations.plannedPods]: '12', [annotations.pricePerHour]: '0.05' },
  },
  status: {
    nodeName: 'aks-n',
    conditions: [condition('Launched', 1000), condition('Registered', 40_000), condition('Initialized', 50_000)],
  },
})

test('the facts of a claim whose workflow was lost are those that its objects keep', () => {
  const facts = factsOfClaim(launchedClaim)
  expect(facts).toEqual({
    nodePool: 'default',
    node: 'aks-n',
    createdMs: sampleTime,
    registeredMs: sampleTime + 40_000,
    readyMs: sampleTime + 50_000,
    vms: [
      {
        instanceType: 'Standard_D4s_v5',
        zone: 'westus2-2',
        capacityType: 'spot',
        pricePerHour: 0.05,
        fromMs: sampleTime + 1000,
      },
    ],
    came: { kind: 'pods', pods: 12 },
    refused: [],
    attempts: 0,
    labels: { 'example.com/tier': 'gold', team: 'search' },
  })
  expect(readLifeFacts(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
})

describe('why a claim was created', () => {
  test.each([
    ['pods', { [annotations.plannedPods]: '3' }, { kind: 'pods', pods: 3 }],
    ['nothing that Joiner writes', {}, { kind: 'by-hand' }],
    ['an odd number of pods', { [annotations.plannedPods]: 'many' }, { kind: 'by-hand' }],
    ['a negative number of pods', { [annotations.plannedPods]: '-1' }, { kind: 'by-hand' }],
    ['a static pool', { [annotations.forReplicas]: '5' }, { kind: 'static', replicas: 5 }],
    [
      'a command',
      { [annotations.replacementFor]: 'drift-1', ...replacesAnnotation(['a', 'b']) },
      { kind: 'replacement', command: 'drift-1', replaces: ['a', 'b'] },
    ],
    [
      'a command of an earlier version',
      { [annotations.replacementFor]: 'drift-1' },
      { kind: 'replacement', command: 'drift-1', replaces: [] },
    ],
  ])('by %s', (_, own, came) => {
    expect(factsOfClaim(sampleClaim('n', { metadata: { annotations: own } })).came).toEqual(came)
  })

  test('names as many replaced claims as fit', () => {
    const names = Array.from({ length: 100 }, (_, at) => `pool-${at}`)
    const written = replacesAnnotation(names)[annotations.replaces] ?? ''
    expect(written.startsWith('pool-0,pool-1,')).toBe(true)
    expect(written.length).toBeLessThan(400)
  })
})

test.each([
  [{ pricePerHour: 0.192 }, '0.192'],
  [{ pricePerHour: 12, isEstimate: true as const }, '~12'],
])('the price %j is kept as %s', (price, text) => {
  const own = priceAnnotation(price)
  expect(own).toEqual({ [annotations.pricePerHour]: text })
  expect(priceOfClaim(sampleClaim('n', { metadata: { annotations: own } }))).toEqual(price)
})

test.each(['', '-1', 'free', '1e9', '99999999', '0.1 '])('the price %j of somebody else counts for nothing', (text) => {
  expect(priceOfClaim(sampleClaim('n', { metadata: { annotations: { [annotations.pricePerHour]: text } } }))).toEqual(
    {},
  )
})

test('labels are bounded', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`label-${at}`, 'x'.repeat(60)]))
  const own = factsOfClaim(sampleClaim('n', { metadata: { labels: many } })).labels
  expect(JSON.stringify(own).length).toBeLessThan(700)
  expect(Object.keys(own).length).toBeGreaterThan(3)
})

describe('why a claim is deleted', () => {
  const deletedAt = 10 * minute
  const rules = { ...noNodeRules, repairs: [samplePolicy('Ready', 'False', { tolerationMs: 5 * minute })] } as const
  const sick = sampleNode('n', {
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at(4 * minute) }],
  })
  const deleted = (own: Record<string, string>, spec = {}, conditions: readonly ReturnType<typeof condition>[] = []) =>
    sampleClaim('n', {
      metadata: { deletionTimestamp: at(deletedAt), annotations: own },
      spec,
      status: { conditions },
    })
  const stamp = { [annotations.disruptionCommand]: 'empty-1' }
  const reason = condition('DisruptionReason', minute, 'Empty')

  test.each([
    ['somebody', deleted({}), undefined, { kind: 'deleted' }],
    ['a command', deleted(stamp, {}, [reason]), undefined, { kind: 'disruption', command: 'empty-1', reason: 'Empty' }],
    ['a command without a reason', deleted(stamp), undefined, { kind: 'deleted' }],
    [
      'an interruption',
      deleted({ [annotations.interrupted]: 'VMEvent (Preempt)' }),
      undefined,
      { kind: 'interrupted', message: 'VMEvent (Preempt)' },
    ],
    [
      'an interruption during a command',
      deleted({ ...stamp, [annotations.interrupted]: 'VMEvent' }, {}, [reason]),
      undefined,
      { kind: 'interrupted', message: 'VMEvent' },
    ],
    [
      'its age',
      deleted({}, { expireAfter: '10m' }),
      undefined,
      { kind: 'expired', message: 'expired at 2026-01-01T00:10:00Z' },
    ],
    ['somebody, a second before its age', deleted({}, { expireAfter: '10m1s' }), undefined, { kind: 'deleted' }],
    ['a repair', deleted({}), sick, { kind: 'repaired', message: 'Ready is False' }],
    [
      'a repair, whose Node is gone or well since',
      deleted({ [annotations.repairedFor]: 'Ready is False' }),
      undefined,
      { kind: 'repaired', message: 'Ready is False' },
    ],
    [
      'a terminal escape',
      deleted({ [annotations.interrupted]: '\u001b[2J' }),
      undefined,
      { kind: 'interrupted', message: '\\u001b[2J' },
    ],
  ])('by %s', (_, claim, node, expected) => {
    expect(deathOf(claim, node, rules)).toEqual(expected)
  })

  test('of one that is not deleted is not said', () => {
    expect(deathOf(sampleClaim('n'), sick, rules)).toBeUndefined()
  })
})
