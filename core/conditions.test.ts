import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  applyConditions,
  type ConditionChange,
  type ConditionedKind,
  type ConditionOwner,
  conditionOf,
  conditionOwner,
  dependents,
  isTrueAt,
  withCondition,
  withoutCondition,
} from './conditions.ts'
import type { Condition } from './objects.ts'

const createdAt = '2026-01-01T00:00:00Z'
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const owner = (minute = 1, change: Partial<ConditionOwner> = {}): ConditionOwner => ({
  now: at(minute),
  generation: 1,
  createdAt,
  deleting: false,
  ...change,
})
const set = (before: readonly Condition[], changes: readonly ConditionChange[], context = owner()) =>
  applyConditions(before, { set: changes }, { kind: 'NodeClaim', ...context })
const shown = (list: readonly Condition[]) => list.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
const ready = (list: readonly Condition[]) => conditionOf(list, 'Ready')

describe('conditions (reference/karpenter-core.md 1.7)', () => {
  it('a True is its own reason and has no message', () => {
    const launched = conditionOf(set([], [{ type: 'Launched', status: 'True' }]), 'Launched')
    expect(launched).toEqual({
      type: 'Launched',
      status: 'True',
      reason: 'Launched',
      message: '',
      lastTransitionTime: at(1),
      observedGeneration: 1,
    })
  })

  it('dependents that were never set wait since the creation of the object', () => {
    expect(conditionOf(set([], []), 'Registered')).toEqual({
      type: 'Registered',
      status: 'Unknown',
      reason: 'AwaitingReconciliation',
      message: 'object is awaiting reconciliation',
      lastTransitionTime: createdAt,
      observedGeneration: 1,
    })
  })

  it('a dependent that is Unknown when first set has been so since the creation', () => {
    const change: ConditionChange = { type: 'Registered', status: 'Unknown', reason: 'NodeNotFound' }
    expect(conditionOf(set([], [change], owner(5)), 'Registered')?.lastTransitionTime).toBe(createdAt)
    const other: ConditionChange = { type: 'Drained', status: 'Unknown', reason: 'Draining' }
    expect(conditionOf(set([], [other], owner(5)), 'Drained')?.lastTransitionTime).toBe(at(5))
  })

  it.each<[string, readonly ConditionChange[], string, string | undefined]>([
    [
      'nothing is set',
      [],
      'Ready=Unknown ReconcilingDependents',
      'Launched=Unknown, Registered=Unknown, Initialized=Unknown',
    ],
    [
      'one is True',
      [{ type: 'Launched', status: 'True' }],
      'Ready=Unknown ReconcilingDependents',
      'Registered=Unknown, Initialized=Unknown',
    ],
    [
      'one is False: the latest transition is named first',
      [{ type: 'Registered', status: 'False', reason: 'MultipleNodesFound' }],
      'Ready=False UnhealthyDependents',
      'Registered=False, Launched=Unknown, Initialized=Unknown',
    ],
    ['all are True', dependents.NodeClaim.map((type) => ({ type, status: 'True' })), 'Ready=True Ready', ''],
    [
      'something else is False',
      [
        ...dependents.NodeClaim.map((type) => ({ type, status: 'True' as const })),
        { type: 'Drifted', status: 'False' },
      ],
      'Ready=True Ready',
      '',
    ],
  ])('Ready when %s', (_, changes, summary, message) => {
    const after = set([], changes)
    expect(shown(after).at(-1)).toBe(summary)
    expect(ready(after)?.message).toBe(message)
  })

  it('a dependent seen on an earlier generation is not True, and its False is not Unhealthy', () => {
    const allTrue = set(
      [],
      dependents.NodeClaim.map((type) => ({ type, status: 'True' })),
    )
    const next = set(allTrue, [{ type: 'Launched', status: 'True' }], owner(2, { generation: 2 }))
    expect(ready(next)).toMatchObject({ status: 'Unknown', reason: 'ReconcilingDependents', observedGeneration: 2 })
    const failed = set([], [{ type: 'Launched', status: 'False', reason: 'LaunchFailed' }])
    expect(ready(set(failed, [], owner(2, { generation: 2 })))?.status).toBe('Unknown')
  })

  it('the generation that a deletion makes changes nothing about what was seen', () => {
    const allTrue = set(
      [],
      dependents.NodeClaim.map((type) => ({ type, status: 'True' })),
    )
    const deleted = set(allTrue, [], owner(2, { generation: 2, deleting: true }))
    expect(deleted.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2, 2, 2])
    expect(ready(deleted)).toMatchObject({ status: 'True', lastTransitionTime: at(1) })
  })

  it('refuses to clear a dependent of Ready, of every kind', () => {
    for (const type of [...Object.values(dependents).flat(), 'Ready'])
      expect(() => withoutCondition([], type)).toThrow(type)
    expect(withoutCondition(set([], [{ type: 'Drifted', status: 'True' }]), 'Drifted')).toHaveLength(4)
  })

  it('knows conditions of this generation', () => {
    const list = withCondition([], { type: 'ImagesReady', status: 'True' }, owner())
    expect([isTrueAt(list, 'ImagesReady', 1), isTrueAt(list, 'ImagesReady', 2)]).toEqual([true, false])
  })

  it('reads the owner from the metadata, in whole seconds', () => {
    const metadata = {
      name: 'a',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: createdAt,
      labels: {},
      annotations: {},
      finalizers: [],
      ownerReferences: [],
    }
    expect(conditionOwner(metadata, Date.parse('2026-01-01T00:01:00.987Z'))).toEqual(owner())
    expect(conditionOwner({ ...metadata, generation: 3, deletionTimestamp: at(2) }, Date.parse(at(1)))).toEqual(
      owner(1, { generation: 3, deleting: true }),
    )
  })
})

describe('a NodeClaim whose VM is not its own', () => {
  const ready3 = dependents.NodeClaim.map((type) => ({ type, status: 'True' }) as const)
  const unowned = { type: 'InstanceOwned', status: 'False', reason: 'InstanceNotOwned', message: 'why' } as const

  it.each<[string, readonly ConditionChange[]]>([
    ['ready', ready3],
    ['not initialized', ready3.slice(0, 2)],
    ['without its Node', [...ready3, { type: 'NodeGone', status: 'True', message: 'gone' }]],
  ])('is not Ready for that, also when it is %s', (_, others) => {
    const list = set([], [...others, unowned])
    expect(ready(list)).toMatchObject({ status: 'False', reason: 'InstanceNotOwned', message: 'why' })
    const after = applyConditions(list, { clear: ['InstanceOwned'] }, { kind: 'NodeClaim', ...owner(2) })
    expect(ready(after)).toEqual(ready(set([], others, owner(2))))
  })
})

describe('laws of conditions', () => {
  const kinds = Object.keys(dependents) as ConditionedKind[]
  const change = (kind: ConditionedKind): fc.Arbitrary<ConditionChange> =>
    fc.record({
      type: fc.constantFrom(...dependents[kind], 'Other', 'Another'),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      reason: fc.constantFrom('A', 'B'),
      message: fc.constantFrom('', 'why'),
    })
  const step = (kind: ConditionedKind) =>
    fc.record({
      set: fc.array(change(kind), { maxLength: 3 }),
      clear: fc.subarray(['Other', 'Another']),
      generation: fc.integer({ min: 1, max: 3 }),
      deleting: fc.boolean(),
    })
  const story = fc
    .constantFrom(...kinds)
    .chain((kind) =>
      fc.record({ kind: fc.constant(kind), steps: fc.array(step(kind), { minLength: 1, maxLength: 8 }) }),
    )
  type Story = typeof story extends fc.Arbitrary<infer T> ? T : never
  const run = ({ kind, steps }: Story) => {
    let list: readonly Condition[] = []
    let last = owner(1)
    steps.forEach((change, i) => {
      last = owner(i + 1, { generation: change.generation, deleting: change.deleting })
      list = applyConditions(list, change, { kind, ...last })
    })
    return { list, last }
  }

  it('each type once, dependents and Ready always, sorted by transition with Ready last', () => {
    fc.assert(
      fc.property(story, (reported) => {
        const { list } = run(reported)
        const types = list.map(({ type }) => type)
        expect(new Set(types).size).toBe(types.length)
        for (const type of [...dependents[reported.kind], 'Ready']) expect(types).toContain(type)
        expect(types.at(-1)).toBe('Ready')
        const times = list.slice(0, -1).map(({ lastTransitionTime = '' }) => lastTransitionTime)
        expect(times.every((time, i) => i === 0 || (times[i - 1] as string) <= time)).toBe(true)
      }),
    )
  })

  it('Ready is True exactly when every dependent is True at this generation', () => {
    fc.assert(
      fc.property(story, (reported) => {
        const { list, last } = run(reported)
        const all = dependents[reported.kind].every((type) => isTrueAt(list, type, last.generation))
        expect(ready(list)?.status === 'True').toBe(all)
        expect(ready(list)?.observedGeneration).toBe(last.generation)
      }),
    )
  })

  it('repeated changes return the same list at any time', () => {
    fc.assert(
      fc.property(story, (reported) => {
        const { list, last } = run({ ...reported, steps: reported.steps.slice(-1) })
        const once = reported.steps.at(-1)
        // A type that is set twice in one step, or set and cleared, moves each time.
        fc.pre(new Set(once?.set.map(({ type }) => type)).size === once?.set.length && once?.clear.length === 0)
        expect(applyConditions(list, once ?? {}, { kind: reported.kind, ...last, now: at(59) })).toBe(list)
      }),
    )
  })

  it('a transition time moves only with the status', () => {
    fc.assert(
      fc.property(story, (reported) => {
        const before = run({ ...reported, steps: reported.steps.slice(0, -1) }).list
        const last = reported.steps.at(-1)
        const after = applyConditions(
          before,
          { set: last?.set.slice(0, 1) ?? [] },
          { kind: reported.kind, ...owner(59) },
        )
        for (const { type, status, lastTransitionTime } of before) {
          const now = conditionOf(after, type)
          expect(now?.lastTransitionTime === lastTransitionTime).toBe(now?.status === status)
        }
      }),
    )
  })

  it('while it is deleted, every condition is of the current generation', () => {
    fc.assert(
      fc.property(story, (reported) => {
        const { list, last } = run(reported)
        const deleted = applyConditions(list, {}, { kind: reported.kind, ...last, generation: 9, deleting: true })
        expect(deleted.every(({ observedGeneration }) => observedGeneration === 9)).toBe(true)
      }),
    )
  })
})
