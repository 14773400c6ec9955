import { describe, expect, test } from 'vitest'
import { sampleClaim, sampleNode, samplePool, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Budget, NodeClaim } from '../objects.ts'
import { type Pause, Pauses } from '../pauses/pauses.ts'
import {
  type Accepted,
  acceptedEntries,
  cancellationRefusal,
  noCancellations,
  refusedCancellations,
  refusedEntries,
} from './cancellation.ts'

const second = 1000
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']

interface Situation {
  readonly budgets?: readonly Budget[]
  readonly pauses?: readonly Pause[]
  /** Seconds since each was accepted, by name. */
  readonly accepted?: Readonly<Record<string, number>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Names of the ones that are being deleted. */
  readonly leaving?: readonly string[]
  /** Names of the ones whose Nodes are not initialized. */
  readonly young?: readonly string[]
  readonly hasPool?: boolean
}

/** Why the first of ten nodes stays. */
function refusal({ budgets = [{ nodes: '100%' }], hasPool = true, leaving = [], young = [], ...more }: Situation) {
  const now = sampleTime + 3600 * second
  const claimOf = (name: string): NodeClaim =>
    sampleClaim(name, {
      metadata: {
        annotations: name === 'a' ? (more.annotations ?? {}) : {},
        ...(leaving.includes(name) ? { deletionTimestamp: '2026-01-01T00:30:00Z' } : {}),
      },
    })
  const claims = names.map(claimOf)
  const accepted = claims.flatMap(({ metadata, status }): (readonly [string, Accepted])[] => {
    const ago = more.accepted?.[status.nodeName ?? '']
    const nodePool = metadata.labels['karpenter.sh/nodepool'] ?? ''
    return ago === undefined ? [] : [[metadata.uid, { atMs: now - ago * second, nodeClaim: metadata.name, nodePool }]]
  })
  const nodes = claims.map((claim) => {
    const name = claim.status.nodeName ?? ''
    const node = sampleNode(name)
    const { 'karpenter.sh/initialized': _, ...labels } = node.metadata.labels
    const isYoung = young.includes(name)
    return { claim, node: isYoung ? { ...node, metadata: { ...node.metadata, labels } } : node }
  })
  const pool = samplePool(claims[0]?.metadata.labels['karpenter.sh/nodepool'] ?? '')
  const nodePool = { ...pool, disruption: { ...pool.disruption, budgets } }
  return cancellationRefusal(claims[0] as NodeClaim, {
    pauses: new Pauses(more.pauses ?? []),
    nodePool: hasPool ? nodePool : undefined,
    nodes,
    cancellations: { ...noCancellations, accepted: new Map(accepted) },
    now,
  })
}

const pool = sampleClaim('a').metadata.labels['karpenter.sh/nodepool'] ?? ''
const pause = (scope: Pause['scope']): Pause => ({ reason: 'release', sinceMs: sampleTime, ...(scope && { scope }) })

describe('the cancellation of a lifecycle', () => {
  test.each<[string, Situation, RegExp | undefined]>([
    ['is obeyed', {}, undefined],
    ['is refused for a hold', { annotations: { 'joiner.sh/hold-until': 'released' } }, /is held until released/],
    ['is obeyed after a hold', { annotations: { 'joiner.sh/hold-until': '2026-01-01T00:59:00Z' } }, undefined],
    ['is refused while all is paused', { pauses: [pause(undefined)] }, /all disruption is paused/],
    ['is refused for a paused pool', { pauses: [pause({ kind: 'nodePool', name: pool })] }, /NodePool .* is paused/],
    ['is refused for a paused node', { pauses: [pause({ kind: 'node', name: 'a' })] }, /node "a" is paused/],
    ['is obeyed while a reason is paused', { pauses: [pause({ kind: 'reason', reason: 'Drifted' })] }, undefined],
    ['is the third within a minute', { accepted: { b: 59, c: 1 } }, undefined],
    [
      'is the fourth within a minute',
      { accepted: { b: 59, c: 1, d: 0 } },
      /3 lifecycles were cancelled within a minute/,
    ],
    ['comes a minute after the first of three', { accepted: { b: 60, c: 1, d: 0 } }, undefined],
    ['was accepted by an attempt before', { accepted: { a: 5, b: 5, c: 5 } }, undefined],
    ['is within its budget', { budgets: [{ nodes: '2' }], leaving: ['b'] }, undefined],
    ['is beyond its budget', { budgets: [{ nodes: '2' }], leaving: ['b', 'c'] }, /allow 2 of its 10 nodes .* 2 are$/],
    ['counts those accepted just now', { budgets: [{ nodes: '2' }], leaving: ['b'], accepted: { c: 1 } }, /allow 2/],
    ['counts each of them once', { budgets: [{ nodes: '2' }], leaving: ['b'], accepted: { b: 1 } }, undefined],
    ['is refused by a budget of none', { budgets: [{ nodes: '0' }] }, /allow 0 of its 10 nodes/],
    ['is refused by a budget that cannot be read', { budgets: [{ nodes: 'some' }] }, /allow 0 of its 10 nodes/],
    ['is no drift', { budgets: [{ nodes: '0', reasons: ['Drifted'] }] }, undefined],
    ['of a node that serves nothing yet counts for no budget', { budgets: [{ nodes: '0' }], young: ['a'] }, undefined],
    ['of a claim without a NodePool has no budget', { hasPool: false, budgets: [{ nodes: '0' }] }, undefined],
  ])('%s', (_, situation, why) => {
    if (why === undefined) expect(refusal(situation)).toBeUndefined()
    else expect(refusal(situation)).toMatch(why)
  })
})

describe('the record of cancellations', () => {
  const claim = sampleClaim('a')

  test('removes what is over, and what cannot be read', () => {
    const now = sampleTime + 7200 * second
    const old = {
      accepted: new Map([['b', { atMs: now - 61 * second, nodeClaim: 'b', nodePool: pool }]]),
      refused: new Map([
        ['c', now - 3601 * second],
        ['f', now - 3599 * second],
      ]),
      damaged: ['accepted.d', 'refused.e'],
    }
    const kept = ['accepted.' + claim.metadata.uid]
    const written = acceptedEntries(claim, old, now)
    expect(Object.entries(written).filter(([, value]) => value !== null)).toEqual([[kept[0], expect.any(String)]])
    expect(
      Object.keys(written)
        .filter((key) => written[key] === null)
        .sort(),
    ).toEqual(['accepted.b', 'accepted.d', 'refused.c', 'refused.e'])
  })

  test('says how many were refused when it last happened, for an hour, and stays small', () => {
    const at = (...times: readonly number[]) => ({
      ...noCancellations,
      refused: new Map(times.map((ms, index) => [`n${index}`, ms])),
    })
    const some = at(sampleTime, sampleTime + 600_000, sampleTime + 601_000)
    expect(refusedCancellations(some, sampleTime + 700_000)).toMatch(
      /^2 cancellations of lifecycles in Temporal were refused at 2026-01-01T00:10:01Z: .*kubectl delete nodeclaim NAME$/,
    )
    expect(refusedCancellations(at(sampleTime), sampleTime)).toMatch(/^1 cancellation of lifecycles in Temporal was/)
    expect(refusedCancellations(some, sampleTime + 5_000_000)).toBeUndefined()
    expect(refusedCancellations(noCancellations, sampleTime)).toBeUndefined()
    const many = at(...Array.from({ length: 500 }, () => sampleTime))
    expect(refusedEntries('more', many, sampleTime)).toEqual({})
    expect(refusedCancellations(many, sampleTime)).toMatch(/^500 or more cancellations/)
  })
})
