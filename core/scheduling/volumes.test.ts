import { describe, expect, it } from 'vitest'
import { sampleMeta, samplePod } from '../../test/samples/sample-objects.ts'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../pods/related-objects.ts'
import type { VolumeProblem } from './unschedulable.ts'
import { Storage } from './volumes.ts'

const zone = 'topology.kubernetes.io/zone'
const zones = (...values: readonly string[]) => [{ key: zone, operator: 'In' as const, values }]

const claim = (name: string, change: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  kind: 'PersistentVolumeClaim',
  metadata: sampleMeta(name, { namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
  ...change,
})
const volume = (name: string, change: Partial<PersistentVolume> = {}): PersistentVolume => ({
  kind: 'PersistentVolume',
  metadata: sampleMeta(name),
  isLocal: false,
  driver: 'disk.csi.azure.com',
  nodeSelectorTerms: [],
  ...change,
})
const storageClass = (name: string, change: Partial<StorageClass> = {}): StorageClass => ({
  kind: 'StorageClass',
  metadata: sampleMeta(name),
  provisioner: 'disk.csi.azure.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowedTopologies: [],
  ...change,
})

const storage = new Storage({
  persistentVolumeClaims: [
    claim('bound', { volumeName: 'zonal' }),
    claim('either', { volumeName: 'two-zones' }),
    claim('local', { volumeName: 'local' }),
    claim('waiting', { storageClassName: 'zoned' }),
    claim('old', { storageClassName: 'in-tree' }),
    claim('lost', { volumeName: 'gone', phase: 'Lost' }),
    claim('dangling', { volumeName: 'gone', storageClassName: 'zoned' }),
    claim('classless'),
    claim('immediate', { storageClassName: 'immediate' }),
    claim('unknown', { storageClassName: 'nowhere' }),
    { ...claim('half'), volumeName: 'zonal', metadata: sampleMeta('half', { namespace: 'default' }) },
  ],
  persistentVolumes: [
    volume('zonal', { nodeSelectorTerms: [{ matchExpressions: zones('zone-1') }] }),
    volume('two-zones', {
      nodeSelectorTerms: [{ matchExpressions: zones('zone-1') }, { matchExpressions: zones('zone-2') }],
    }),
    volume('local', {
      isLocal: true,
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['a'] }, ...zones('zone-3')] },
      ],
    }),
  ],
  storageClasses: [
    storageClass('zoned', { allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['zone-2'] }] }] }),
    storageClass('in-tree', { provisioner: 'kubernetes.io/azure-disk' }),
    storageClass('immediate', { volumeBindingMode: 'Immediate' }),
  ],
})
const pod = (...persistentVolumeClaims: readonly string[]) => samplePod('p', { persistentVolumeClaims })

describe('Storage.resolve', () => {
  it.each([
    ['a bound claim: its volume', ['bound'], [zones('zone-1')]],
    ['an unbound claim: its class', ['waiting'], [zones('zone-2')]],
    ['a local volume, whose hostname does not bind', ['local'], [zones('zone-3')]],
    ['two claims: the combinations that agree', ['either', 'bound'], [[...zones('zone-1'), ...zones('zone-1')]]],
    ['claims that cannot agree: all combinations', ['waiting', 'bound'], [[...zones('zone-2'), ...zones('zone-1')]]],
  ])('asks for %s', (_, claims, alternatives) => {
    expect(storage.resolve(pod(...claims))?.alternatives).toEqual(alternatives)
  })

  it('counts distinct claims by driver, those of in-tree disks included', () => {
    expect(storage.resolve(pod('bound', 'old', 'bound'))?.byDriver).toEqual({
      'disk.csi.azure.com': ['default/bound', 'default/old'],
    })
    expect(storage.inUse([pod('bound'), pod('bound', 'missing'), pod('dangling')])).toEqual({
      'disk.csi.azure.com': ['default/bound'],
    })
  })

  it('reports failed lookups', () => {
    expect(storage.resolve(pod())).toBeUndefined()
    expect(storage.resolve(pod('missing'))).toEqual({ byDriver: {}, alternatives: [], lookupFailed: true })
    expect(storage.resolve(pod('dangling'))).toMatchObject({ error: { kind: 'volume-not-found', volume: 'gone' } })
  })
})

describe('Storage.invalid', () => {
  it.each<[string, VolumeProblem | undefined]>([
    ['bound', undefined],
    ['waiting', undefined],
    ['missing', { kind: 'claim-not-found', claim: 'missing' }],
    ['lost', { kind: 'claim-lost', claim: 'default/lost', volume: 'gone' }],
    ['dangling', { kind: 'claim-volume-not-found', claim: 'default/dangling', volume: 'gone', storageClass: 'zoned' }],
    ['classless', { kind: 'claim-without-class', claim: 'default/classless' }],
    ['immediate', { kind: 'claim-class-immediate', claim: 'default/immediate', storageClass: 'immediate' }],
    ['unknown', { kind: 'claim-class-not-found', claim: 'default/unknown', storageClass: 'nowhere' }],
    ['half', { kind: 'claim-not-bound', claim: 'half', volume: 'zonal' }],
  ])('%s', (name, expected) => {
    expect(storage.invalid(pod(name))).toEqual(expected)
  })
})
