import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleNode,
  samplePolicy,
  sampleTime,
} from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import { areTooManyUnhealthy, recentReboots, repairState } from './node-repair.ts'
import { type RepairPolicy, type RepairRule, repairPolicyErrors } from './repair-policy.ts'

const minute = 60_000
const now = sampleTime + 60 * minute

const fallback = samplePolicy('Ready', 'False', { tolerationMs: 10 * minute })
const hung = samplePolicy('Kernel', 'True', {
  reasonPattern: 'Hung',
  tolerationMs: 5 * minute,
  terminationGracePeriodMs: 30_000,
  priority: 50,
  action: 'RebootNode',
})
const gpu = samplePolicy('Gpu', 'True', { reasonPattern: 'Xid7', terminationGracePeriodMs: 90_000, priority: 90 })
const policies = [fallback, hung, gpu]

const condition = (type: string, status: Condition['status'], reason: string, minutesAgo: number): Condition => ({
  ...sampleCondition(type, status, now - minutesAgo * minute),
  reason,
})
const state = (conditions: readonly Condition[], claim = sampleClaim('a'), of: readonly RepairRule[] = policies) =>
  repairState({ node: sampleNode('a', { conditions }), claim, now }, of)

describe('what is due', () => {
  it.each<[string, readonly Condition[], unknown]>([
    ['nothing of a healthy node', [condition('Ready', 'True', 'KubeletReady', 1)], { kind: 'healthy' }],
    ['nothing for a status that no policy names', [condition('Ready', 'Unknown', '', 50)], { kind: 'healthy' }],
    [
      'nothing yet within the toleration',
      [condition('Kernel', 'True', 'TaskHung', 4)],
      { kind: 'tolerated', condition: 'Kernel', untilMs: now + minute },
    ],
    [
      'a reboot at its end',
      [condition('Kernel', 'True', 'TaskHung', 5)],
      { kind: 'due', repair: { condition: 'Kernel', reason: 'TaskHung', action: 'RebootNode', boundMs: 30_000 } },
    ],
    [
      'the fallback for a reason without a policy, also on a condition that is not its own',
      [condition('Kernel', 'True', 'Panic', 11)],
      { kind: 'due', repair: { condition: 'Kernel', action: 'ReplaceNode' } },
    ],
    [
      'not the fallback while a policy for the reason still tolerates it',
      [condition('Gpu', 'True', 'Xid7', 0), condition('Kernel', 'True', 'Hung', 1)],
      { kind: 'due', repair: { condition: 'Gpu' } },
    ],
    [
      'of several a replacement before a reboot, with the shortest bound of all',
      [condition('Ready', 'False', '', 10), condition('Kernel', 'True', 'Hung', 50)],
      { kind: 'due', repair: { condition: 'Ready', action: 'ReplaceNode', boundMs: 30_000 } },
    ],
    [
      'of several replacements the one with the highest priority',
      [condition('Ready', 'False', '', 50), condition('Gpu', 'True', 'Xid7', 1)],
      { kind: 'due', repair: { condition: 'Gpu', boundMs: 90_000 } },
    ],
  ])('is %s', (_, conditions, expected) => {
    expect(state(conditions)).toMatchObject(expected as object)
  })

  it('breaks ties by the earlier end of the toleration, then by the type', () => {
    const equal = [fallback, ...['A', 'B'].map((type) => samplePolicy(type, 'True', { reasonPattern: '.*' }))]
    const of = (a: number, b: number) =>
      state([condition('B', 'True', '', b), condition('A', 'True', '', a)], sampleClaim('a'), equal)
    expect(of(1, 2)).toMatchObject({ repair: { condition: 'B' } })
    expect(of(2, 2)).toMatchObject({ repair: { condition: 'A' } })
  })

  it.each<[string | undefined, number | undefined, number | undefined]>([
    [undefined, undefined, undefined],
    [undefined, 0, 0],
    ['1m', undefined, 60_000],
    ['1m', 90_000, 60_000],
    ['1m', 30_000, 30_000],
  ])('a NodeClaim with %s and a policy with %s ms have the bound %s', (grace, terminationGracePeriodMs, boundMs) => {
    const policy = { ...fallback, ...(terminationGracePeriodMs === undefined ? {} : { terminationGracePeriodMs }) }
    const claim = sampleClaim('a', { spec: grace === undefined ? {} : { terminationGracePeriod: grace } })
    const found = state([condition('Ready', 'False', '', 20)], claim, [policy])
    expect(found.kind === 'due' && found.repair.boundMs).toBe(boundMs)
  })

  it('counts from the last reboot when that was later than the condition', () => {
    const rebooted = sampleClaim('a', {
      status: { conditions: [sampleCondition('Rebooting', 'False', now - 2 * minute)] },
    })
    expect(state([condition('Kernel', 'True', 'Hung', 50)], rebooted)).toMatchObject({ untilMs: now + 3 * minute })
  })

  it('is a replacement after two reboots of the NodeClaim in a day', () => {
    const times = (...hours: readonly number[]) => hours.map((ago) => new Date(now - ago * 60 * minute).toISOString())
    const claim = (...hours: readonly number[]) =>
      sampleClaim('a', { metadata: { annotations: { 'joiner.sh/reboots': times(...hours).join(',') } } })
    const action = (...hours: readonly number[]) => {
      const found = state([condition('Kernel', 'True', 'Hung', 50)], claim(...hours))
      return found.kind === 'due' && found.repair.action
    }
    expect(action(1)).toBe('RebootNode')
    expect(action(1, 25)).toBe('RebootNode')
    expect(action(1, 23)).toBe('ReplaceNode')
    expect(
      recentReboots(sampleClaim('a', { metadata: { annotations: { 'joiner.sh/reboots': 'rubbish' } } }), now),
    ).toEqual([])
  })

  it('believes no reboot of the future, which would end none', () => {
    const claim = (text: string) => sampleClaim('a', { metadata: { annotations: { 'joiner.sh/reboots': text } } })
    expect(recentReboots(claim('9999-12-31T23:59:59Z'), now)).toEqual([])
    expect(recentReboots(claim(new Date(now + minute).toISOString()), now)).toEqual([now + minute])
  })

  it('is a replacement for the node of an AKS machine, whose VM is not ours to restart', () => {
    const annotations = { 'karpenter.azure.com/aks-machine-resource-id': '/x' }
    const machine = sampleClaim('a', { metadata: { annotations }, status: { providerId: 'azure:///vm' } })
    expect(state([condition('Kernel', 'True', 'Hung', 50)], machine)).toMatchObject({
      repair: { action: 'ReplaceNode' },
    })
  })

  it('bounds the reason, which a kubelet may make as long as it likes', () => {
    const found = state([condition('Kernel', 'True', `Hung\n${'x'.repeat(100_000)}`, 50)])
    const reason = found.kind === 'due' ? found.repair.reason : ''
    expect(reason.length).toBeLessThan(400)
    expect(reason).toMatch(/^Hung\\nx+\.\.\. \(100005 characters\)$/)
  })

  it('scores by the rank of the priority, and by the time since it is due', () => {
    const score = (...conditions: readonly Condition[]) => {
      const found = state(conditions)
      return found.kind === 'due' ? found.repair.score : undefined
    }
    expect(score(condition('Ready', 'False', '', 10))).toBe(0)
    expect(score(condition('Gpu', 'True', 'Xid7', 0))).toBe(2)
    expect(score(condition('Ready', 'False', '', 40))).toBe(1)
    expect(score(condition('Ready', 'False', '', 40), condition('Kernel', 'True', 'Hung', 50))).toBe(2.5)
  })
})

it.each([
  [1, 1, false],
  [5, 1, false],
  [5, 2, true],
  [6, 2, false],
  [10, 3, true],
])('of %i nodes with %i unhealthy: too many is %s', (all, sick, expected) => {
  const nodes = Array.from({ length: all }, (_, at) =>
    sampleNode(`n${at}`, { conditions: [condition('Ready', at < sick ? 'False' : 'True', '', 0)] }),
  )
  expect(areTooManyUnhealthy(nodes, policies)).toBe(expected)
})

describe('a set of policies', () => {
  const patternError = (pattern: string) => (pattern === '(' ? 'has a "("' : undefined)

  it.each<[string, readonly RepairPolicy[], string]>([
    ['is empty', [], 'has no policy; name at least the fallback'],
    ['has no fallback', [gpu], 'has no policy without a reasonRegex'],
    [
      'has two fallbacks',
      [fallback, samplePolicy('A', 'True')],
      'has 2 policies without a reasonRegex (Ready=False, A=True)',
    ],
    ['has a fallback that reboots', [{ ...fallback, action: 'RebootNode' }], 'the fallback must be ReplaceNode'],
    [
      'tolerates less than nothing',
      [{ ...fallback, tolerationMs: -1 }],
      'with tolerationDuration -1ms; use 0s or more',
    ],
    ['gives less than no time', [{ ...fallback, terminationGracePeriodMs: -1 }], 'with terminationGracePeriod -1ms'],
    ['has a high priority', [{ ...fallback, priority: 101 }], 'with priority 101; use a whole number from 0 to 100'],
    ['has a broken priority', [{ ...fallback, priority: 0.5 }], 'with priority 0.5'],
    ['has an empty pattern', [fallback, { ...gpu, reasonPattern: '' }], 'with reasonRegex ""; leave it out'],
    [
      'has a wrong pattern',
      [fallback, { ...gpu, reasonPattern: '(' }],
      'the policy Gpu=True/( with reasonRegex "("; it has a "("',
    ],
  ])('that %s is refused', (_, set, error) => {
    expect(repairPolicyErrors(set, patternError)).toEqual([expect.stringContaining(error)])
  })

  it('with one fallback is accepted', () => {
    expect(repairPolicyErrors(policies, patternError)).toEqual([])
  })
})
