import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleCondition, sampleMeta, samplePool } from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import {
  healthAfter,
  healthReset,
  type RecentOutcomes,
  recentOutcomes,
  registrationHealth,
  registrationHealthy,
  registrationsAnnotation,
  withOutcome,
} from './registration-health.ts'

const F = false
const T = true

/** Outcomes as a ring of four would keep them. */
const plainly = (outcomes: readonly boolean[]) => {
  const last = outcomes.slice(-4)
  if (last.length === 0) return 'unknown'
  return last.filter((joined) => !joined).length >= 2 ? 'unhealthy' : 'healthy'
}

const remember = (outcomes: readonly boolean[], from: RecentOutcomes = []) =>
  outcomes.reduce((recent, joined, i) => withOutcome(recent, { claimUid: `c${i}`, joined }), from)

describe('withOutcome', () => {
  it('judges every sequence of eight outcomes as a ring of the last four does, and remembers no more than that needs', () => {
    for (let length = 0; length <= 8; length++) {
      for (let bits = 0; bits < 2 ** length; bits++) {
        const outcomes = Array.from({ length }, (_, i) => (bits & (1 << i)) !== 0)
        const recent = remember(outcomes)
        expect(registrationHealth(recent), JSON.stringify(outcomes)).toBe(plainly(outcomes))
        expect(recent.length).toBeLessThanOrEqual(4)
        expect(recent.length > 1 ? recent[0]?.joined : F).toBe(F)
      }
    }
  })

  it('counts a claim once', () => {
    const once = withOutcome([], { claimUid: 'a', joined: F })
    expect(withOutcome(once, { claimUid: 'a', joined: F })).toBe(once)
  })
})

const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'default', uid: 'uid-default' }
const claim = (name: string, launched: Partial<Condition> = {}) =>
  sampleClaim(name, {
    metadata: { ownerReferences: [owner] },
    status: { conditions: [{ ...sampleCondition('Launched'), ...launched }] },
  })

interface PoolState {
  readonly health?: Condition['status']
  readonly annotation?: string
  readonly generation?: number
  readonly seen?: number
  readonly deletionTimestamp?: string
}

const pool = ({ health, annotation, generation = 3, seen = 7, deletionTimestamp }: PoolState = {}) => ({
  ...samplePool('default', {
    nodeClassObservedGeneration: seen,
    conditions:
      health === undefined ? [] : [{ ...sampleCondition(registrationHealthy, health), observedGeneration: 3 }],
  }),
  metadata: sampleMeta('default', {
    generation,
    annotations: annotation === undefined ? {} : { [registrationsAnnotation]: annotation },
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  }),
})

const stored = (...outcomes: readonly string[]) => JSON.stringify({ nodePool: 3, nodeClass: 7, outcomes })

describe('healthAfter', () => {
  it.each<[string, PoolState, boolean, ReturnType<typeof healthAfter>]>([
    ['the first success', { health: 'Unknown' }, T, { condition: { type: registrationHealthy, status: 'True' } }],
    ['success upon success: nothing to write', { health: 'True' }, T, {}],
    ['one failure says nothing yet', { health: 'Unknown' }, F, { annotation: stored('failed uid-n-claim') }],
    ['one failure after successes', { health: 'True' }, F, { annotation: stored('failed uid-n-claim') }],
    [
      'the second failure',
      { health: 'True', annotation: stored('failed a') },
      F,
      {
        annotation: stored('failed a', 'failed uid-n-claim'),
        condition: {
          type: registrationHealthy,
          status: 'False',
          reason: 'RegistrationFailed',
          message: 'Failed to register node',
        },
      },
    ],
    [
      'an attempt repeated after its outcomes were written still sets the condition',
      { health: 'True', annotation: stored('failed a', 'failed uid-n-claim') },
      F,
      {
        condition: {
          type: registrationHealthy,
          status: 'False',
          reason: 'RegistrationFailed',
          message: 'Failed to register node',
        },
      },
    ],
    [
      'two successes do not outweigh two failures',
      { health: 'False', annotation: stored('failed a', 'failed b', 'joined c') },
      T,
      { annotation: stored('failed a', 'failed b', 'joined c', 'joined uid-n-claim') },
    ],
    [
      'three do',
      { health: 'False', annotation: stored('failed a', 'failed b', 'joined c', 'joined d') },
      T,
      {
        annotation: stored('failed b', 'joined c', 'joined d', 'joined uid-n-claim'),
        condition: { type: registrationHealthy, status: 'True' },
      },
    ],
    [
      'with the last failure the annotation goes',
      { health: 'True', annotation: stored('failed b', 'joined c', 'joined d', 'joined e') },
      T,
      { annotation: null },
    ],
    [
      'after a restart without the annotation, False stands for two failures',
      { health: 'False' },
      T,
      { annotation: stored('failed', 'failed', 'joined uid-n-claim') },
    ],
    [
      'outcomes of another node class count no more',
      { health: 'False', seen: 6, annotation: stored('failed a', 'failed b').replace('7', '6') },
      T,
      { annotation: null, condition: { type: registrationHealthy, status: 'True' } },
    ],
    [
      'an annotation that cannot be read counts as none',
      { health: 'Unknown', annotation: '{' },
      T,
      { annotation: null, condition: { type: registrationHealthy, status: 'True' } },
    ],
  ])('%s', (_, state, joined, change) => {
    expect(healthAfter(pool(state), 7, { claim: claim('n'), joined })).toEqual(change)
  })

  it('copies the reason of a failed launch', () => {
    const refused = claim('n', { status: 'Unknown', reason: 'CreateInstanceFailed', message: 'no quota' })
    const outcome = { claim: refused, joined: F }
    expect(healthAfter(pool({ health: 'Unknown', annotation: stored('failed a') }), 7, outcome).condition).toEqual({
      type: registrationHealthy,
      status: 'False',
      reason: 'CreateInstanceFailed',
      message: 'no quota',
    })
  })

  it('leaves out claims that the pool does not own', () => {
    expect(healthAfter(pool({ health: 'Unknown' }), 7, { claim: sampleClaim('n'), joined: T })).toEqual({})
  })
})

describe('healthReset', () => {
  it.each<[string, PoolState, boolean]>([
    ['a pool that nobody looked at', {}, true],
    ['the same generations', { health: 'False' }, false],
    ['another spec of the pool', { health: 'True', generation: 4 }, true],
    ['another spec of the node class', { health: 'True', seen: 6 }, true],
    ['a pool that is being deleted', { health: 'True', generation: 4, deletionTimestamp: 'now' }, false],
  ])('%s', (_, state, resets) => {
    expect(healthReset(pool(state), 7)?.status).toBe(resets ? 'Unknown' : undefined)
  })
})

it('every remembered state is read back from its annotation', () => {
  for (let bits = 0; bits < 16; bits++) {
    const before = remember([F, ...Array.from({ length: 4 }, (_, i) => (bits & (1 << i)) !== 0)].slice(0, 4))
    const { annotation } = healthAfter(pool({ annotation: stored(...before.map(text)) }), 7, {
      claim: claim('n'),
      joined: F,
    })
    const after = withOutcome(before, { claimUid: 'uid-n-claim', joined: F })
    expect(recentOutcomes(pool({ annotation: annotation ?? '' }), { nodePool: 3, nodeClass: 7 })).toEqual(after)
  }
})

function text({ claimUid, joined }: RecentOutcomes[number]): string {
  return `${joined ? 'joined' : 'failed'} ${claimUid}`
}
