import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleMeta,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import type { InstanceType } from '../instance-type.ts'
import type { RequirementSpec } from '../objects.ts'
import { annotations, coreWellKnownLabels } from '../requirements/labels.ts'
import { requirements } from '../requirements/requirements.ts'
import { nodeClaimDrift, type PoolDriftView, poolDrift, typeCheckAgeMs } from './pool-drift.ts'

const stamps = (hash: string | undefined, version: string | undefined) => ({
  ...(hash === undefined ? {} : { [annotations.nodePoolHash]: hash }),
  ...(version === undefined ? {} : { [annotations.nodePoolHashVersion]: version }),
})
const ownLabels = {
  'karpenter.sh/nodepool': 'default',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'd4',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
  'topology.kubernetes.io/zone': 'zone-1',
  'example.com/team': 'a',
}

interface Change {
  readonly labels?: Readonly<Record<string, string | undefined>>
  readonly claim?: Readonly<Record<string, string>>
  readonly pool?: Readonly<Record<string, string>>
  readonly requirements?: readonly RequirementSpec[]
  readonly view?: Partial<PoolDriftView>
}

/** A node that matches its pool and is old enough for the type check, with a test's changes. */
function view({ labels = {}, claim, pool, requirements: wanted = [], view: change }: Change = {}): PoolDriftView {
  const all = Object.entries({ ...ownLabels, ...labels }).filter((entry): entry is [string, string] => !!entry[1])
  return {
    claim: sampleClaim('n', {
      metadata: { labels: Object.fromEntries(all), annotations: claim ?? stamps('1', 'v3') },
    }),
    nodePool: {
      ...samplePool('default', { spec: { requirements: wanted } }),
      metadata: sampleMeta('default', { annotations: pool ?? stamps('1', 'v3') }),
    },
    instanceTypes: [sampleType('d2', 2), sampleType('d4', 4)],
    now: sampleTime + typeCheckAgeMs + 1,
    ...change,
  }
}

const one = (key: string, operator: RequirementSpec['operator'], ...values: string[]): Change => ({
  requirements: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
})
const offering = (capacityType: string, extra: readonly RequirementSpec[] = [], available = true) => ({
  requirements: requirements([
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-1'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
    ...extra,
  ]),
  price: 1,
  available,
})
const selling = (...offerings: InstanceType['offerings']): Partial<PoolDriftView> => ({
  instanceTypes: [{ ...sampleType('d4', 4), offerings }],
})
const reservation = 'example.com/reservation'
const reserved = (id: string) => offering('reserved', [{ key: reservation, operator: 'In', values: [id] }])
const reservedSettings = {
  reservationIdLabel: reservation,
  wellKnownLabels: new Set([...coreWellKnownLabels, reservation]),
}
const reservedLabels = { 'karpenter.sh/capacity-type': 'reserved', [reservation]: 'r-1' }
const conditions = (status: 'True' | 'Unknown') => [sampleCondition('Launched', status)]

describe('drift from a NodePool (reference/karpenter-core.md 5.2)', () => {
  it.each<[string, Change]>([
    ['a node as its pool asks for', {}],
    ['hashes of two versions', { claim: stamps('2', 'v2') }],
    ['a claim without a hash', { claim: stamps(undefined, 'v3') }],
    ['a claim without a version', { claim: stamps('2', undefined) }],
    ['a pool without a hash', { pool: stamps(undefined, 'v3') }],
    ['a pool without a version', { pool: stamps('2', undefined) }],
    ['neither with a version', { pool: stamps('2', undefined), claim: stamps('1', undefined) }],
    ['a requirement that its label meets', one('example.com/team', 'In', 'a', 'b')],
    ['a requirement under an older name', one('failure-domain.beta.kubernetes.io/zone', 'In', 'zone-1')],
    ['a label that it must not have, and has not', one('example.com/other', 'DoesNotExist')],
    ['a label that excludes values, and is absent', one('example.com/other', 'NotIn', 'x')],
    ['a type that is full everywhere', { view: selling(offering('on-demand', [], false)) }],
    [
      'a reservation that it lost',
      { labels: reservedLabels, view: { ...reservedSettings, ...selling(offering('on-demand')) } },
    ],
    ['another reservation', { labels: reservedLabels, view: { ...reservedSettings, ...selling(reserved('r-2')) } }],
    ['a pool that is gone', { claim: stamps('2', 'v3'), view: { nodePool: undefined } }],
    [
      'a type that is gone a moment after the launch',
      { labels: { 'node.kubernetes.io/instance-type': 'gone' }, view: { now: sampleTime + typeCheckAgeMs } },
    ],
    ['types that nobody needs to know yet', { view: { instanceTypes: undefined, now: sampleTime } }],
  ])('%s is none', (_, change) => {
    expect(poolDrift(view(change))).toEqual({ kind: 'none' })
  })

  it.each<[string, Change, string, RegExp]>([
    ['another hash', { pool: stamps('2', 'v3') }, 'NodePoolDrifted', /template of NodePool default/],
    ['a value that is not admitted', one('example.com/team', 'In', 'b'), 'RequirementsDrifted', /example.com\/team/],
    ['a label that has to be there', one('example.com/other', 'Exists'), 'RequirementsDrifted', /example.com\/other/],
    [
      'a well-known label that has to be there',
      one('node.kubernetes.io/windows-build', 'In', 'x'),
      'RequirementsDrifted',
      /windows-build/,
    ],
    ['a label that has to be absent', one('example.com/team', 'DoesNotExist'), 'RequirementsDrifted', /team/],
    ['a label that is excluded', one('example.com/team', 'NotIn', 'a'), 'RequirementsDrifted', /team/],
    ['a type that is gone', { labels: { 'node.kubernetes.io/instance-type': 'gone' } }, 'InstanceTypeNotFound', /gone/],
    ['no type at all', { labels: { 'node.kubernetes.io/instance-type': undefined } }, 'InstanceTypeNotFound', /none/],
    ['a zone that is gone', { labels: { 'topology.kubernetes.io/zone': 'zone-9' } }, 'InstanceTypeNotFound', /zone-9/],
    ['a capacity type that is gone', { view: selling(offering('spot')) }, 'InstanceTypeNotFound', /on-demand/],
    [
      'a custom label that offerings have and it has not',
      {
        view: selling(offering('on-demand', [{ key: 'example.com/other', operator: 'In', values: ['x'] }])),
      },
      'InstanceTypeNotFound',
      /d4/,
    ],
    [
      'reserved capacity that is sold as spot only',
      {
        labels: reservedLabels,
        view: { ...reservedSettings, ...selling(offering('spot')) },
      },
      'InstanceTypeNotFound',
      /reserved/,
    ],
    ['nothing to buy', { view: { instanceTypes: [] } }, 'InstanceTypeNotFound', /d4/],
  ])('%s is %s', (_, change, reason, message) => {
    const drift = poolDrift(view(change))
    expect(drift).toMatchObject({ kind: 'drifted', reason })
    expect(drift.kind === 'drifted' && drift.message).toMatch(message)
  })

  it("is unknown while the pool's instance types are unknown", () => {
    expect(poolDrift(view({ view: { instanceTypes: undefined } })).kind).toBe('unknown')
    const young = { instanceTypes: undefined, now: sampleTime }
    const windows = one('node.kubernetes.io/windows-build', 'In', 'x')
    expect(poolDrift(view({ ...windows, view: young })).kind).toBe('unknown')
    const team = one('example.com/other', 'In', 'x')
    expect(poolDrift(view({ ...team, view: young }))).toMatchObject({ reason: 'RequirementsDrifted' })
  })

  it('is none of a label that the type leaves open, so that nodes do not replace each other for ever', () => {
    const mode = 'kubernetes.azure.com/mode'
    const open = { key: mode, operator: 'In', values: ['system', 'user'] } as const
    const types = (extra: RequirementSpec) => ({ instanceTypes: [sampleType('d4', 4, [extra])] })
    expect(poolDrift(view({ ...one(mode, 'In', 'user', 'system'), view: types(open) }))).toEqual({ kind: 'none' })
    expect(poolDrift(view({ ...one(mode, 'Exists'), view: types(open) }))).toEqual({ kind: 'none' })
    const drifting = [
      view({ ...one(mode, 'In', 'other'), view: types(open) }),
      view({ ...one(mode, 'In', 'user'), view: types({ ...open, values: ['user'] }) }),
      view({ ...one(mode, 'In', 'user'), labels: { [mode]: 'system' }, view: types(open) }),
      view({ ...one('topology.kubernetes.io/zone', 'Exists'), labels: { 'topology.kubernetes.io/zone': undefined } }),
    ]
    for (const one of drifting) expect(poolDrift(one)).toMatchObject({ reason: 'RequirementsDrifted' })
  })

  it('is told by the first difference', () => {
    const gone = { labels: { 'node.kubernetes.io/instance-type': 'gone' } }
    const team = one('example.com/team', 'In', 'b')
    const reasons = [{ ...gone, ...team, pool: stamps('2', 'v3') }, { ...gone, ...team }, gone].map((change) =>
      poolDrift(view(change)),
    )
    expect(reasons.map((drift) => drift.kind === 'drifted' && drift.reason)).toEqual([
      'NodePoolDrifted',
      'RequirementsDrifted',
      'InstanceTypeNotFound',
    ])
  })

  it('is none before the launch, whatever the provider says', () => {
    const provider = { kind: 'drifted', reason: 'ImageDrift', message: 'm' } as const
    const drifting = view({ pool: stamps('2', 'v3') })
    const claim = (status: 'True' | 'Unknown') => ({
      ...drifting.claim,
      status: { ...drifting.claim.status, conditions: conditions(status) },
    })
    expect(nodeClaimDrift({ ...drifting, claim: claim('Unknown'), provider })).toEqual({ kind: 'none' })
    expect(nodeClaimDrift({ ...drifting, claim: claim('True'), provider })).toMatchObject({ reason: 'NodePoolDrifted' })
    expect(nodeClaimDrift({ ...view(), provider })).toEqual(provider)
  })
})
