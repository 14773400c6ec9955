import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleNode,
  samplePolicy,
  sampleTime,
} from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import { nextStep } from './lifecycle.ts'
import { areTooManySick, type NodeRules } from './node-health.ts'

// Names say which tests of upstream's suite node/health, as of 1.14, they answer to.
const minute = 60_000
const rules: NodeRules = {
  interruptions: [],
  repairs: [
    samplePolicy('BadNode', 'False', { tolerationMs: 30 * minute }),
    samplePolicy('ValidUnhealthyCondition', 'False', { tolerationMs: 60 * minute }),
  ],
}
const uid = sampleClaim('a').metadata.uid
const stepAt = (minutes: number, conditions: readonly Condition[], annotations = {}) =>
  nextStep(
    sampleClaim('a'),
    { uid, now: sampleTime + minutes * minute },
    { node: sampleNode('a', { conditions, metadata: { annotations } }), rules },
  )

describe('upstream node/health, reconciliation', () => {
  it.each<[string, number, readonly Condition[], string]>([
    ['that is unhealthy for the provider goes', 60, [sampleCondition('BadNode', 'False')], 'repair'],
    [
      'with a condition that the provider does not name stays',
      60,
      [sampleCondition('FakeHealthyNode', 'False')],
      'steady',
    ],
    ['whose condition has another status stays', 60, [sampleCondition('BadNode', 'True')], 'steady'],
    ['whose toleration is not over stays', 20, [sampleCondition('BadNode', 'False')], 'steady'],
    ['whose toleration ends now goes', 30, [sampleCondition('BadNode', 'False')], 'repair'],
  ])('a Node %s', (_, minutes, conditions, kind) => {
    expect(stepAt(minutes, conditions).kind).toBe(kind)
  })

  it('is looked at again when the toleration that ends first is over', () => {
    const both = [sampleCondition('ValidUnhealthyCondition', 'False'), sampleCondition('BadNode', 'False')]
    expect(stepAt(27, both)).toMatchObject({ kind: 'steady', wakeAtMs: sampleTime + 30 * minute })
    expect(stepAt(27, both.slice(0, 1))).toMatchObject({ kind: 'steady', wakeAtMs: sampleTime + 60 * minute })
  })

  it('do-not-disrupt on the Node holds no repair', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' }
    expect(stepAt(60, [sampleCondition('BadNode', 'False')], annotations).kind).toBe('repair')
  })
})

describe('upstream node/health, forceful termination', () => {
  it.each([
    ['three of ten are too many', 10, 3, true],
    ['two of ten are not', 10, 2, false],
    ['one of three is not: a fifth is rounded up', 3, 1, false],
    ['two of three are', 3, 2, true],
    ['the only node is not', 1, 1, false],
  ])('%s', (_, all, sick, tooMany) => {
    const nodes = Array.from({ length: all }, (_node, at) =>
      sampleNode(`n${at}`, at < sick ? { conditions: [sampleCondition('BadNode', 'False')] } : {}),
    )
    expect(areTooManySick(nodes, rules)).toBe(tooMany)
  })
})
