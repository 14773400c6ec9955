import { expect, test } from 'vitest'
import { headlineText } from '../../core/history/headline.ts'
import { sampleClaim, sampleCondition, sampleNode } from '../../test/samples/sample-objects.ts'
import { standingOf, stateOf } from './headline.ts'

const now = Date.parse('2026-01-02T00:00:00Z')
const leaving = (message: string, annotations: Readonly<Record<string, string>> = {}) =>
  sampleClaim('n1', {
    metadata: { annotations, deletionTimestamp: '2026-01-01T23:58:00Z' },
    status: {
      conditions: [
        { ...sampleCondition('DisruptionReason'), reason: 'Underutilized' },
        { ...sampleCondition('Drained', 'False'), message },
      ],
    },
  })
const held = { 'joiner.sh/hold-until': 'released', 'joiner.sh/hold-by': 'ann' }

test.each<[string, Parameters<typeof stateOf>[0], string]>([
  ['a node that just runs', { claim: sampleClaim('n1') }, 'Ready since 2026-01-01T00:00:00Z'],
  [
    'why a node leaves comes first, with what it waits for',
    {
      claim: leaving('2 pods leave', { 'joiner.sh/disruption-command': 'c1' }),
      node: { metadata: { creationTimestamp: '' }, isDisrupted: true, isProtected: true },
    },
    'Draining since 2026-01-01T23:58:00Z: Underutilized (command c1): 2 pods leave',
  ],
  [
    'a node that is interrupted',
    { claim: leaving('2 pods leave', { 'joiner.sh/interrupted': 'Preempt' }) },
    'Draining since 2026-01-01T23:58:00Z: interrupted: Preempt: 2 pods leave',
  ],
  [
    'who holds it comes before what is odd about its Node',
    {
      claim: sampleClaim('n1', { metadata: { annotations: held } }),
      node: standingOf(sampleNode('n1', { conditions: [] })),
    },
    'Ready since 2026-01-01T00:00:00Z: held until released by ann, no reason given',
  ],
  [
    'a Node without a NodeClaim',
    {
      node: standingOf(
        sampleNode('n1', { conditions: [{ ...sampleCondition('Ready', 'False'), reason: 'NoNetwork' }] }),
      ),
    },
    'Unmanaged since 2026-01-01T00:00:00Z: not ready: NoNetwork',
  ],
])('%s', (_, objects, expected) => {
  expect(headlineText(stateOf(objects, now))).toBe(expected)
})
