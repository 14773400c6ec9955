import { describe, expect, it } from 'vitest'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { answer, plainForm, type VectorScenario } from '../vectors/scheduling.ts'
import { capacityTypeKey, hostnameKey, type Json, now, reservationKey, typeKey, zoneKey } from './vocabulary.ts'

const isOneOf = (key: string, ...values: readonly string[]) => ({ key, operator: 'In', values })

function type(name: string, capacityType: string, zones: readonly string[], more: Json = {}) {
  return {
    name,
    requirements: [isOneOf(typeKey, name)],
    offerings: zones.map((zone) => ({
      requirements: [isOneOf(capacityTypeKey, capacityType), isOneOf(zoneKey, zone), isOneOf(reservationKey, 'r-1')],
      price: 1,
      available: true,
      ...more,
    })),
    capacity: { cpu: '4', memory: '8Gi', pods: '10' },
  }
}

const pool = (name: string, weight: number): Json => ({
  kind: 'NodePool',
  metadata: { name },
  spec: { weight, template: { spec: { nodeClassRef: { group: 'g', kind: 'K', name: 'default' }, requirements: [] } } },
})

const pod = (name: string, spec: Json): Json => ({
  kind: 'Pod',
  metadata: { name, labels: { app: 'a' } },
  spec: { containers: [{ resources: { requests: { cpu: '1' } } }], ...spec },
})

const node = (name: string, zone: string, metadata: Json = {}): Json => ({
  kind: 'Node',
  metadata: { name, labels: { [hostnameKey]: name, [zoneKey]: zone }, ...metadata },
  spec: { providerID: `test:///${name}` },
  status: { allocatable: { cpu: '1', pods: '1' } },
})

const usesVolume = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] }
const plainType = type('plain', 'on-demand', ['zone-1', 'zone-2'])

function both(objects: readonly Json[], instanceTypes: readonly object[], more: Json = {}) {
  const scenario = { name: '', category: '', expected: {}, now, objects, instanceTypes, ...more } as VectorScenario
  const fast = answer(scenario)
  expect(plainForm(fast)).toEqual(plainForm(answer(scenario, schedulePlainly)))
  return fast
}

/** What meets so seldom that thousands of random clusters may miss it. */
describe('rare cases that are answered as the plain rules do', () => {
  it('a pool is passed over, not waited for, when the last way to the volume is refused for another reason', () => {
    const inZone = (zone: string) => ({ matchExpressions: [isOneOf(zoneKey, zone)] })
    const full = type('full', 'reserved', ['zone-1'], { reservationCapacity: 0 })
    const volume = {
      kind: 'PersistentVolume',
      metadata: { name: 'pv' },
      spec: { nodeAffinity: { required: { nodeSelectorTerms: [inZone('zone-1'), inZone('zone-9')] } } },
    }
    const claim = {
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { volumeName: 'pv' },
    }
    const objects = [pool('first', 10), pool('second', 1), volume, claim, pod('p', usesVolume)]
    const { newNodeClaims } = both(objects, [full, plainType], {
      instanceTypesByNodePool: { first: ['full'], second: ['plain'] },
    })
    expect(newNodeClaims.map(({ nodePool }) => nodePool)).toEqual(['second'])
  })

  it('nodes that a pod may not use by their names do not count for its spread', () => {
    const bound = (name: string, nodeName: string) => pod(name, { nodeName })
    const spread = {
      maxSkew: 1,
      topologyKey: zoneKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'a' } },
    }
    const away = { matchExpressions: [{ key: hostnameKey, operator: 'NotIn', values: ['node-2'] }] }
    const wanted = {
      topologySpreadConstraints: [spread],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [away] } } },
    }
    const { newNodeClaims } = both(
      [
        pool('first', 1),
        node('node-1', 'zone-1'),
        node('node-2', 'zone-2'),
        bound('b-1', 'node-1'),
        bound('b-2', 'node-2'),
        bound('b-3', 'node-2'),
        // Only a pod that moves may ask for hostnames.
        node('node-3', 'zone-1', { deletionTimestamp: now }),
        pod('p', { ...wanted, nodeName: 'node-3' }),
      ],
      [{ ...plainType, requirements: [...plainType.requirements, isOneOf(zoneKey, 'zone-1', 'zone-2')] }],
    )
    expect(newNodeClaims[0]?.requirements).toContainEqual(isOneOf(zoneKey, 'zone-2'))
  })

  it('a pod that moves and whose volume is gone is placed before its rules are known', () => {
    const term = { topologyKey: hostnameKey, labelSelector: { matchLabels: { app: 'nobody' } } }
    const wanted = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
    const leaving = node('node-1', 'zone-1', { deletionTimestamp: now })
    const moving = pod('p', { ...wanted, ...usesVolume, nodeName: 'node-1' })
    expect(both([pool('first', 1), leaving, moving], [plainType]).newNodeClaims).toHaveLength(1)
    // Nothing is known of the missing volume: with one that is only unbound, the rules hold.
    const unbound = { kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec: {} }
    expect(both([pool('first', 1), leaving, moving, unbound], [plainType]).newNodeClaims).toEqual([])
  })
})
