import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chooseOffering } from '../../activities/azure/capacity/choose-offering.ts'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { decodeNodeClaim, decodeNodePool } from '../../activities/kubernetes/cache/decode.ts'
import { claimBody } from '../../activities/provisioning/claim-body.ts'
import { nodeClaimSpec } from '../../api/node-claim.ts'
import { nodePoolSpec } from '../../api/node-pool.ts'
import { allowedDisruptions } from '../../core/disruption/budgets/budgets.ts'
import type { Candidate } from '../../core/disruption/candidates.ts'
import { consolidatableAt } from '../../core/disruption/consolidatable.ts'
import { methods } from '../../core/disruption/methods/methods.ts'
import { nextStep } from '../../core/node-claim/lifecycle.ts'
import { initializationState, registrationPatch } from '../../core/node-claim/registration.ts'
import { claimValueErrors } from '../../core/node-claim/values.ts'
import type { NodeClaim, NodePool } from '../../core/objects.ts'
import { requirements } from '../../core/requirements/requirements.ts'
import { poolOptions } from '../../core/scheduling/cluster.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import {
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../samples/sample-objects.ts'
import { schedule } from '../samples/schedule.ts'
import { fieldsOf, type SchemaField, valuesOf, withValue } from './schema-fields.ts'

// That a field is decoded is not enough: some function that decides must give another answer when the field changes. AKSNodeClass has a
// test of its own beside what reads it (activities/azure/node-config/field-effects.test.ts).

type Json = Readonly<Record<string, unknown>>
/** By a name: what something decides on an object, which it may read by itself. */
type Readers<Decoded> = Readonly<Record<string, (object: Decoded, spec: Json) => unknown>>

/** The names of the readers whose answer depends on a field. */
function readersOf<Decoded>(kind: Kind<Decoded>, field: SchemaField): readonly string[] {
  const answers = (spec: Json) => Object.values(kind.readers).map((read) => shown(read(kind.decode(spec), spec)))
  const before = answers(kind.base)
  const changed = valuesOf(field, kind.samples).map((value) => answers(withValue(kind.base, field, value)))
  return Object.keys(kind.readers).filter((_, at) => changed.some((after) => after[at] !== before[at]))
}

interface Kind<Decoded> {
  readonly schema: z.ZodType
  readonly decode: (spec: Json) => Decoded
  /** An object in which each field matters. */
  readonly base: Json
  readonly samples: Json
  readonly readers: Readers<Decoded>
}

const unread = <Decoded>(kind: Kind<Decoded>) =>
  fieldsOf(kind.schema).flatMap((field) => (readersOf(kind, field).length === 0 ? field.name : []))

/** Amounts are bigints, and the mutable order of maps does not matter. */
function shown(answer: unknown): string {
  return JSON.stringify(answer, (_key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    return value instanceof Map ? [...value] : value instanceof Set ? [...value] : value
  })
}

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const taint = { key: 'team', value: 'a', effect: 'NoSchedule' }
const types = [sampleType('two', 2), sampleType('eight', 8)]
const noon = Date.parse('2026-03-04T12:00:00Z')
const samples = {
  timeAdded: '2026-01-01T00:00:00Z',
  'template.metadata.labels': { team: 'b' },
  'template.spec.requirements.key': 'example.com/other',
  'template.spec.requirements.values': ['zone-2'],
}

/** The pool beside which the one that is looked at stands. */
const other = samplePool('other', { weight: 5, conditions: [sampleCondition('Ready')] })

function planned(pool: NodePool) {
  const nodePools = [{ ...pool, conditions: [sampleCondition('Ready')] }, other]
  const instanceTypes = new Map(nodePools.map(({ metadata }) => [metadata.name, types]))
  const pod = samplePod('web', { tolerations: [{ operator: 'Exists' }] })
  return schedule({ pods: [pod], nodes: [], nodePools: poolOptions({ nodePools, instanceTypes }, []), daemonSets: [] })
}

const zone = { 'topology.kubernetes.io/zone': 'zone-1' }
const candidate = (nodePool: NodePool): Candidate => ({
  nodePool,
  nodeClaim: sampleClaim('a', { status: { conditions: [sampleCondition('Consolidatable')] } }),
  node: sampleNode('a', { metadata: { labels: { ...zone, 'karpenter.sh/capacity-type': 'spot' } } }),
  pods: [],
  reschedulable: [],
  instanceType: types[0],
  price: 1,
  disruptionCost: 2,
})

const plan: PlannedNodeClaim = {
  nodePool: 'pool',
  requirements: [],
  wanted: new Map(),
  labels: {},
  instanceTypes: [],
  requests: {},
  pods: [],
  price: 1,
}

/** A claim bears its pool's hash: by that alone any field would seem to be read. */
function withoutHash(one: NodePool): NodePool {
  const { hash: _hash, ...template } = one.template
  return { ...one, template }
}

const pool: Kind<NodePool> = {
  schema: nodePoolSpec,
  decode: (spec) => decodeNodePool({ metadata: sampleMeta('pool'), spec }),
  base: {
    template: {
      metadata: { labels: { team: 'a' } },
      spec: {
        nodeClassRef,
        taints: [taint],
        startupTaints: [taint],
        requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-1'] }],
      },
    },
    disruption: { budgets: [{ nodes: '1', schedule: '0 9 * * *', duration: '8h' }] },
    weight: 10,
  },
  samples: {
    ...samples,
    nodes: '5',
    schedule: '0 20 * * *',
    duration: '1h',
    limits: { cpu: '1' },
    consolidateAfter: '5m',
    'template.metadata.annotations': { 'example.com/a': 'b' },
    terminationGracePeriod: '1h',
    expireAfter: '1h',
  },
  readers: {
    'new NodeClaims': (one) => claimBody(withoutHash(one), plan, { name: 'claim', annotations: {} }),
    scheduling: (one) => planned(one).newNodeClaims,
    budgets: (one) => allowedDisruptions({ budgets: one.disruption.budgets, nodes: 20, reason: 'Empty', now: noon }),
    consolidation: (one) => [
      consolidatableAt(sampleClaim('a'), one),
      methods['single-node'].suits(candidate(one), {}, {}),
    ],
  },
}

const node = sampleNode('a', { taints: [], allocatable: { cpu: 4, memory: '16Gi', pods: 110 } })

const claim: Kind<NodeClaim> = {
  schema: nodeClaimSpec,
  decode: (spec) => decodeNodeClaim({ metadata: sampleMeta('claim'), spec }),
  base: {
    nodeClassRef,
    taints: [taint],
    startupTaints: [{ ...taint, key: 'startup' }],
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-1'] }],
    resources: { requests: { cpu: '1' } },
  },
  samples: {
    ...samples,
    requests: { 'example.com/gpu': '1' },
    expireAfter: '1h',
    terminationGracePeriod: '1h',
    name: 'a'.repeat(300),
  },
  readers: {
    registration: (one) => registrationPatch(one, node),
    initialization: (one) => initializationState(one, node),
    launch: (one) =>
      chooseOffering(types, {
        uid: 'u',
        requirements: requirements(one.spec.requirements),
        requests: one.spec.requests,
      }),
    lifecycle: (one) => {
      const deleted = { ...one, metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
      return [one, deleted].map((each) => nextStep(each, { uid: each.metadata.uid, now: sampleTime + 2 * 3_600_000 }))
    },
    'whose it is': (_, spec) => {
      const cache = new ClusterCache({} as never, pino({ level: 'silent' }))
      cache.upsert('NodeClaim', { metadata: sampleMeta('claim'), spec })
      return cache.nodeClaims.size
    },
    'values of nodes': (one) => claimValueErrors(one),
  },
}

describe('each field', () => {
  it('of a NodePool changes what some reader decides', () => {
    expect(unread(pool)).toEqual([])
  })

  it('of a NodeClaim changes what some reader decides', () => {
    expect(unread(claim)).toEqual([])
  })

  it('that nobody reads is found, wherever it is', () => {
    const toy = z.string().optional()
    const limit = nodePoolSpec.shape.disruption.unwrap().extend({ toy })
    expect(unread({ ...pool, schema: nodePoolSpec.extend({ toy, disruption: limit }) })).toEqual([
      'disruption.toy',
      'toy',
    ])
    expect(unread({ ...claim, schema: nodeClaimSpec.extend({ toy }) })).toEqual(['toy'])
  })

  it('is read by what should read it', () => {
    const { budgets: _budgets, ...rest } = pool.readers
    expect(unread({ ...pool, readers: rest })).toEqual(
      ['nodes', 'reasons', 'schedule', 'duration'].map((name) => `disruption.budgets.${name}`),
    )
  })
})
