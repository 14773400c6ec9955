import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Pod } from '../../../core/objects.ts'
import { podLimits } from '../../../core/pods/pod-limits.ts'
import { hostileShapes } from '../../../test/hostile/expensive-shapes.ts'
import type { Json } from '../client/answers.ts'
import { decodePod } from './decode-pod.ts'

const metadata = {
  name: 'p',
  namespace: 'default',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
}
const podOf = (spec: object, meta: object = {}): Json => ({
  metadata: { ...metadata, ...meta },
  spec: { containers: [{ name: 'main' }], ...spec },
})
const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))
const spread = (at: number, whenUnsatisfiable = 'ScheduleAnyway') => ({
  maxSkew: 1,
  topologyKey: `k${at}`,
  whenUnsatisfiable,
})

describe('the constraints of a pod', () => {
  it('are kept as they are within the limits', () => {
    const spec = {
      nodeSelector: { zone: 'a' },
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'k' }] } },
      topologySpreadConstraints: times(podLimits.preferences, (at) => spread(at)),
    }
    const pod = decodePod(podOf(spec))
    expect(pod.excess).toBeUndefined()
    expect([pod.affinity, pod.topologySpreadConstraints]).toEqual([spec.affinity, spec.topologySpreadConstraints])
  })

  it('keep only the first preferences of a kind', () => {
    const preferred = times(70, (at) => ({
      weight: 1,
      preference: { matchExpressions: [{ key: `p${at}`, operator: 'Exists' }] },
    }))
    const spreads = [spread(0, 'DoNotSchedule'), ...times(100, (at) => spread(at))]
    const pod = decodePod(
      podOf({
        topologySpreadConstraints: spreads,
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } },
      }),
    )
    expect(pod.topologySpreadConstraints).toEqual(spreads.slice(0, 65))
    expect(pod.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toEqual(preferred.slice(0, 64))
    expect(pod.excess).toEqual({
      dropped:
        'spec.topologySpreadConstraints with ScheduleAnyway: 36 of 100 left out; ' +
        'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: 6 of 70 left out',
    })
  })

  it('leave out the preferences that are too long', () => {
    const preference = (length: number) => ({
      weight: 1,
      preference: { matchExpressions: [{ key: 'x'.repeat(length), operator: 'Exists' }] },
    })
    const terms = [preference(10), preference(podLimits.characters), preference(20)]
    const pod = decodePod(
      podOf({ affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } } }),
    )
    expect(pod.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toEqual([terms[0], terms[2]])
    expect(pod.excess?.dropped).toContain('1 of 3 left out')
  })

  it('are refused where requirements are too large, with the field and its limit', () => {
    const spreads = times(65, (at) => spread(at, 'DoNotSchedule'))
    const pod = decodePod(
      podOf({ topologySpreadConstraints: spreads, tolerations: times(300, () => ({ operator: 'Exists' })) }),
    )
    expect(pod.topologySpreadConstraints).toEqual([])
    expect(pod.tolerations).toHaveLength(podLimits.tolerations)
    expect(pod.excess?.refused).toBe(
      'spec.tolerations: 300 are too many, at most 256 are allowed; ' +
        'spec.topologySpreadConstraints with DoNotSchedule: 65 are too many, at most 64 are allowed',
    )
    const values = times(podLimits.texts, (at) => `v${at}`)
    const terms = [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values }] }]
    const long = decodePod(
      podOf({
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
      }),
    )
    expect(long.affinity).toBeUndefined()
    expect(long.excess?.refused).toContain('at most 5000 with 131072 characters')
  })
})

/** Counts texts in a decoded pod, and their characters. */
function sizeOf(value: unknown): { texts: number; characters: number } {
  const all = JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one))
  return { texts: all.split('"').length / 2, characters: all.length }
}

test.each(hostileShapes.map((shape) => [shape.name, shape] as const))('%s: what is decoded is bounded', (_, shape) => {
  const { spec = {}, ...meta } = shape.make(shape.most, 0)
  const { texts, characters } = sizeOf(decodePod(podOf(spec, meta)))
  expect(texts).toBeLessThan(20_000)
  expect(characters).toBeLessThan(512 * 1024)
})

test('annotations that no decision reads are not kept, and the controller among many owners is', () => {
  const owners = times(100, (at) => ({
    apiVersion: 'apps/v1',
    kind: at === 90 ? 'DaemonSet' : 'Thing',
    name: `o${at}`,
    uid: `o${at}`,
    ...(at === 90 && { controller: true }),
  }))
  const annotations = {
    'karpenter.sh/do-not-disrupt': 'true',
    note: 'x'.repeat(1000),
    'karpenter.sh/disruption-cost': '5',
  }
  const pod: Pod = decodePod(podOf({}, { annotations, ownerReferences: owners }))
  expect(Object.keys(pod.metadata.annotations)).toEqual(['karpenter.sh/do-not-disrupt', 'karpenter.sh/disruption-cost'])
  expect(pod.metadata.ownerReferences.filter(({ controller }) => controller)).toHaveLength(1)
  expect(pod.metadata.ownerReferences.length).toBeLessThanOrEqual(podLimits.ownerReferences + 1)
})

test('pods within the limits are decoded whole, whatever is in them', () => {
  const term = fc.record({ topologyKey: fc.string(), namespaces: fc.array(fc.string(), { maxLength: 5 }) })
  const spreads = fc.array(
    fc.record({
      maxSkew: fc.nat(),
      topologyKey: fc.string(),
      whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'ScheduleAnyway'),
    }),
    { maxLength: 30 },
  )
  const terms = fc.record({
    requiredDuringSchedulingIgnoredDuringExecution: fc.array(term, { maxLength: 30 }),
    preferredDuringSchedulingIgnoredDuringExecution: fc.array(fc.record({ weight: fc.nat(), podAffinityTerm: term }), {
      maxLength: 30,
    }),
  })
  fc.assert(
    fc.property(spreads, terms, terms, (topologySpreadConstraints, podAffinity, podAntiAffinity) => {
      const pod = decodePod(podOf({ topologySpreadConstraints, affinity: { podAffinity, podAntiAffinity } }))
      expect(pod.excess).toBeUndefined()
      expect(pod.affinity).toEqual({ podAffinity, podAntiAffinity })
      expect(pod.topologySpreadConstraints).toEqual(topologySpreadConstraints)
    }),
  )
})

it('upstream: should run a pod with a generic ephemeral volume: its claim is named by pod and volume', () => {
  const template = { spec: { storageClassName: 'managed', resources: { requests: { storage: '1Gi' } } } }
  const volumes = [
    { name: 'scratch', ephemeral: { volumeClaimTemplate: template } },
    { name: 'data', persistentVolumeClaim: { claimName: 'own' } },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
  ]
  expect(decodePod(podOf({ volumes })).persistentVolumeClaims).toEqual(['p-scratch', 'own'])
})

describe('what kube-scheduler says of a pod', () => {
  const judged = (managedFields: unknown, condition: object = {}, spec: object = {}) => ({
    ...podOf(spec, { managedFields }),
    status: {
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/1 nodes are available',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          ...condition,
        },
      ],
    },
  })
  const write = (time: string, key = 'k:{"type":"PodScheduled"}') => ({
    time,
    fieldsV1: { 'f:status': { 'f:conditions': { [key]: {} } } },
  })

  it.each([
    ['of its write', [write('2026-01-01T00:05:00Z')], '2026-01-01T00:05:00Z'],
    [
      'of the last of several writers',
      [write('2026-01-01T00:07:00Z'), write('2026-01-01T00:05:00Z')],
      '2026-01-01T00:07:00Z',
    ],
    [
      'not of a write of other conditions',
      [write('2026-01-01T00:05:00Z', 'k:{"type":"Ready"}')],
      '2026-01-01T00:00:00Z',
    ],
    ['of the transition where no writer is known', undefined, '2026-01-01T00:00:00Z'],
    ['of the transition where the time of the write is no time', [write('soon')], '2026-01-01T00:00:00Z'],
    ['of the transition where fields say nothing', [{ time: '2026-01-01T00:05:00Z' }], '2026-01-01T00:00:00Z'],
  ])('has the time %s', (_, managedFields, time) => {
    const message = '0/1 nodes are available'
    expect(decodePod(judged(managedFields)).unschedulable).toEqual({ atMs: Date.parse(time), message })
  })

  it('is kept for pods that wait for a node alone', () => {
    expect(decodePod(judged([], {}, { nodeName: 'a' })).unschedulable).toBeUndefined()
    expect(decodePod(judged([], { reason: 'SchedulingGated' })).unschedulable).toBeUndefined()
  })
})
