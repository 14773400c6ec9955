import { describe, expect, test } from 'vitest'
import { type Invalid, invalidText } from '../../../core/disruption/validate.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import {
  begun,
  empty,
  free,
  id,
  marksOf,
  proposal,
  replacementKey,
  replacementsIn,
  stampKey,
  world,
} from '../../../test/fakes/commit-world.ts'
import { at } from '../../../test/fakes/objects.ts'
import { plannedClaim } from '../../../test/fakes/planning.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { samplePod } from '../../../test/samples/sample-objects.ts'
import { memoryOf } from '../memory.ts'

useFakeTime()

describe('a proposal that holds', () => {
  test('is begun: taint, condition and stamp on each candidate, one replacement with a lifecycle', async () => {
    const { cluster, commit, lifecycles } = await world()
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(marksOf(cluster)).toEqual(begun)
    const [made] = replacementsIn(cluster)
    expect(made?.metadata).toMatchObject({
      name: 'default-01234567-0',
      annotations: { [replacementKey]: id },
      finalizers: ['karpenter.sh/termination'],
    })
    expect(lifecycles.started).toEqual(['default-01234567-0'])
    expect(outcome).toEqual({
      kind: 'committed',
      candidates: proposal(['a', 'b']).candidates,
      replacements: [{ name: 'default-01234567-0', uid: made?.metadata.uid }],
      readyByMs: Date.parse(at(600)),
      committedMs: Date.parse(at(0)),
      savings: 0.25,
    })
  })

  test('marks before it creates, and stamps last: with the stamp the pods would be given other nodes', async () => {
    const { cluster, commit } = await world()
    const seen: unknown[] = []
    cluster.intercept(({ verb, path, body }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims')) seen.push(['create', marksOf(cluster)])
      if (verb === 'patch' && JSON.stringify(body).includes(stampKey))
        seen.push(['stamp', replacementsIn(cluster).length])
    })
    await commit([proposal(['a', 'b'])])
    expect(seen).toEqual([
      ['create', { a: 'taint Underutilized', b: 'taint Underutilized' }],
      ['stamp', 1],
      ['stamp', 1],
    ])
  })

  test('without replacements creates none', async () => {
    const { cluster, commit, plan } = await world()
    plan.replacements = []
    const [outcome] = await commit([empty(['a', 'b'])])
    expect(outcome).toMatchObject({ kind: 'committed', replacements: [] })
    expect(cluster.names('nodeclaims')).toEqual(['a', 'b'])
    expect(marksOf(cluster)).toEqual({
      a: 'taint Empty emptiness-0123456789-01234567',
      b: 'taint Empty emptiness-0123456789-01234567',
    })
  })

  test('is validated twice: before it is marked and after', async () => {
    const { commit, plan } = await world()
    await commit([proposal(['a', 'b'])])
    expect(plan.looks).toBe(2)
  })

  test('nominates the places of its pods, and publishes events to the pods', async () => {
    const { commit, plan, deps, reported } = await world()
    const pod = samplePod('web')
    plan.replacements = [plannedClaim({ pods: [pod] })]
    await commit([proposal(['a', 'b'])])
    expect([...deps.nominations.targets(Date.now())]).toEqual(['default-01234567-0'])
    expect(reported.find(({ reason }) => reason === 'Nominated')?.about).toBe('Pod/web')
    expect(reported.find(({ reason }) => reason === 'DisruptionLaunching')?.message).toBe(
      'Launching NodeClaim: Underutilized',
    )
  })

  test.each([
    [1, 600],
    [200, 600],
    [8000, 640],
    [46_000, 3600],
  ])('beside %i claims in flight gives its replacements %i s', async (inFlight, seconds) => {
    const { commit, deps } = await world(['a'])
    const { nodeClaims } = deps.cache
    const [own] = nodeClaims.values()
    const stamped = { ...own, metadata: { ...own?.metadata, annotations: { [stampKey]: 'other' } } } as NodeClaim
    const values = nodeClaims.values.bind(nodeClaims)
    // They are many, and only counted.
    nodeClaims.values = () => [...values(), ...Array.from({ length: inFlight - 1 }, () => stamped)]
    const [outcome] = await commit([proposal(['a'])])
    expect(outcome).toMatchObject({ kind: 'committed', readyByMs: Date.parse(at(seconds)) })
  })
})

describe('a proposal that does not hold', () => {
  const invalid = (reason: 'budget' | 'scheduling' | 'churn'): Invalid => {
    if (reason === 'budget') return { kind: 'invalid', reason }
    if (reason === 'scheduling') return { kind: 'invalid', reason, cause: { kind: 'new-results' } }
    return { kind: 'invalid', reason, change: { kind: 'missing', candidates: 1, example: undefined } }
  }

  test.each(['budget', 'scheduling', 'churn'] as const)('(%s) at the first check changes nothing', async (reason) => {
    const { cluster, commit, reported } = await world(['a', 'b'], () => invalid(reason))
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: invalidText(invalid(reason)) })
    expect(marksOf(cluster)).toEqual(free)
    expect(replacementsIn(cluster)).toEqual([])
    expect(reported.filter(({ reason: why }) => why === 'ConsolidationRejected').map(({ about }) => about)).toEqual([
      'Node/aks-a',
      'NodeClaim/a',
      'Node/aks-b',
      'NodeClaim/b',
    ])
  })

  test('after the marks is undone, and left alone for a while', async () => {
    let looks = 0
    const { cluster, commit, deps } = await world(['a', 'b'], () => (++looks === 2 ? invalid('churn') : undefined))
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: invalidText(invalid('churn')) })
    expect(marksOf(cluster)).toEqual(free)
    expect([...memoryOf(deps).resting().nodeClaims].sort()).toEqual(['a', 'b'])
  })

  test('takes nothing from another that does', async () => {
    const { cluster, commit } = await world(['a', 'b'], ({ candidates }) =>
      candidates.includes('uid-a') ? invalid('budget') : undefined,
    )
    const outcomes = await commit([
      proposal(['a']),
      proposal(['b'], { id: 'drift-9876543210', method: 'drift', reason: 'Drifted' }),
    ])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Drifted drift-9876543210' })
  })

  test('of drift publishes no event, as upstream', async () => {
    const { commit, reported } = await world(['a'], () => invalid('scheduling'))
    await commit([proposal(['a'], { method: 'drift', reason: 'Drifted' })])
    expect(reported.filter(({ reason }) => reason === 'ConsolidationRejected')).toEqual([])
  })
})

test('of empty nodes those that did not stay empty are left out and freed', async () => {
  let looks = 0
  const { cluster, commit, plan, deps } = await world(['a', 'b'], (proposed) => {
    looks += 1
    if (looks === 1) return undefined
    const claim = deps.cache.nodeClaims.get('a')
    return {
      kind: 'valid',
      command: {
        ...proposed,
        candidates: [{ nodeClaim: claim, nodePool: { metadata: { name: 'default' } } }],
        replacements: [],
        savings: 0.1,
      } as never,
    }
  })
  plan.replacements = []
  const [outcome] = await commit([empty(['a', 'b'])])
  expect(outcome).toMatchObject({ kind: 'committed', candidates: [{ name: 'a' }], savings: 0.1 })
  expect(marksOf(cluster)).toEqual({ a: 'taint Empty emptiness-0123456789-01234567', b: 'free' })
})
