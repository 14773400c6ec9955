import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim, Pod } from '../objects.ts'
import type { DaemonSet } from '../pods/related-objects.ts'
import { schedulingSnapshot } from './cluster.ts'
import { ClusterIndex } from './cluster-index.ts'
import type { SchedulingSnapshot } from './snapshot.ts'

const pool = samplePool('default')
const instanceTypes = new Map([['default', [sampleType('small', 2), sampleType('large', 16)]]])
const settings = { now: sampleTime }

const names = ['a', 'b', 'c', 'd']
const daemon: DaemonSet = {
  kind: 'DaemonSet',
  metadata: sampleMeta('logs', { uid: 'uid-logs' }),
  pod: samplePod('logs'),
}

/** A change of one object; equal arguments make an equal but different object. */
type Change =
  | { readonly kind: 'Pod'; readonly key: string; readonly object: Pod | undefined }
  | { readonly kind: 'Node'; readonly key: string; readonly object: Node | undefined }
  | { readonly kind: 'NodeClaim'; readonly key: string; readonly object: NodeClaim | undefined }
  | { readonly kind: 'DaemonSet'; readonly key: string; readonly object: DaemonSet | undefined }

const name = fc.constantFrom(...names)
const pods: fc.Arbitrary<Change> = fc
  .record({
    key: fc.constantFrom('default/p', 'default/q', 'default/r', 'other/p', 'other/s', 'other/t'),
    node: fc.option(name, { nil: undefined }),
    isDaemon: fc.boolean(),
    cpu: fc.constantFrom('100m', '1'),
    exists: fc.boolean(),
  })
  .map(({ key, node, isDaemon, cpu, exists }) => ({
    kind: 'Pod',
    key,
    object: exists
      ? samplePod(key.slice(key.indexOf('/') + 1), {
          metadata: {
            namespace: key.slice(0, key.indexOf('/')),
            uid: `uid-${key}`,
            ...(isDaemon
              ? {
                  ownerReferences: [
                    { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'uid-logs', controller: true },
                  ],
                }
              : {}),
          },
          requests: { cpu },
          ...(node === undefined ? {} : { nodeName: node, phase: 'Running', conditions: [] }),
        })
      : undefined,
  }))
const nodes: fc.Arbitrary<Change> = fc
  .record({ key: name, isGoing: fc.boolean(), exists: fc.boolean() })
  .map(({ key, isGoing, exists }) => ({
    kind: 'Node',
    key,
    object: exists
      ? sampleNode(key, { metadata: isGoing ? { deletionTimestamp: new Date(sampleTime).toISOString() } : {} })
      : undefined,
  }))
const claims: fc.Arbitrary<Change> = fc
  .record({ key: name, isGoing: fc.boolean(), exists: fc.boolean() })
  .map(({ key, isGoing, exists }) => ({
    kind: 'NodeClaim',
    key,
    object: exists
      ? sampleClaim(key, { metadata: isGoing ? { deletionTimestamp: new Date(sampleTime).toISOString() } : {} })
      : undefined,
  }))
const daemons: fc.Arbitrary<Change> = fc
  .boolean()
  .map((exists) => ({ kind: 'DaemonSet', key: 'logs', object: exists ? daemon : undefined }))
const change = fc.oneof({ weight: 5, arbitrary: pods }, { weight: 2, arbitrary: nodes }, claims, daemons)

/** Returns the remaining objects after the changes, by kind. */
function remaining(changes: readonly Change[]) {
  const left = new Map(changes.map((one) => [`${one.kind}/${one.key}`, one]))
  const of = <Kind extends Change['kind']>(kind: Kind) =>
    [...left.values()].flatMap((one) =>
      one.kind === kind && one.object !== undefined ? [one.object] : [],
    ) as NonNullable<Extract<Change, { kind: Kind }>['object']>[]
  return { pods: of('Pod'), nodes: of('Node'), nodeClaims: of('NodeClaim'), daemonSets: of('DaemonSet') }
}

function inOrder({ nodes: places, occupied = [], daemonSets, namespaceLabels, ...rest }: SchedulingSnapshot) {
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)
  return {
    ...rest,
    // It does not matter which pod represents a DaemonSet, only what the pods request.
    daemonSets: daemonSets.map(({ metadata, pod }) => [metadata.name, pod.requests]),
    nodes: [...places].sort(byName),
    occupied: [...occupied].sort((a, b) => byName(a.facts, b.facts)),
    namespaceLabels: [...(namespaceLabels ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}

function indexOf(changes: readonly Change[], afterEach: (index: ClusterIndex) => void = () => {}): ClusterIndex {
  const index = new ClusterIndex()
  index.apply('NodePool', 'default', pool)
  for (const { kind, key, object } of changes) {
    index.apply(kind, key, object)
    afterEach(index)
  }
  return index
}

describe('the index of a cluster', () => {
  it('makes the same snapshot as a new index of the same objects, whatever changed before', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const index = indexOf(changes, (one) => one.snapshot(instanceTypes, settings))
        const fresh = schedulingSnapshot(
          {
            ...remaining(changes),
            nodePools: [pool],
            podDisruptionBudgets: [],
            persistentVolumeClaims: [],
            persistentVolumes: [],
            storageClasses: [],
            instanceTypes,
          },
          settings,
        )
        expect(inOrder(index.snapshot(instanceTypes, settings))).toEqual(inOrder(fresh))
      }),
      { numRuns: 500 },
    )
  })

  it('gives back the same place as long as nothing of it changes', () => {
    const index = indexOf([
      { kind: 'Node', key: 'a', object: sampleNode('a') },
      { kind: 'Node', key: 'b', object: sampleNode('b') },
      { kind: 'Pod', key: 'p', object: samplePod('p', { nodeName: 'a' }) },
    ])
    const before = index.snapshot(instanceTypes, settings)
    index.apply('Pod', 'q', samplePod('q', { nodeName: 'b' }))
    index.apply('Pod', 'r', samplePod('r'))
    const after = index.snapshot(instanceTypes, settings)
    const place = ({ nodes: places }: SchedulingSnapshot, wanted: string) => places.find((one) => one.name === wanted)
    expect(place(after, 'a')).toBe(place(before, 'a'))
    expect(place(after, 'b')).not.toBe(place(before, 'b'))
    expect(after.pods.map(({ metadata }) => metadata.name)).toEqual(['r'])
  })
})
