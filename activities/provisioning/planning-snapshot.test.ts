import * as fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { podName } from '../../core/pods/pod-rules.ts'
import { podsToPlace as podsToPlaceOf } from '../../core/scheduling/cluster.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { podsToPlace } from './planning-snapshot.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const names = ['a', 'b', 'c', 'd'] as const
const name = fc.constantFrom(...names)

/** Objects of the kinds that decide which pods need a place. The versions are set when they enter. */
const pod = fc.record({
  kind: fc.constant('Pod' as const),
  name,
  node: fc.option(name, { nil: undefined }),
  isRefused: fc.boolean(),
  isGoing: fc.boolean(),
})
const node = fc.record({ kind: fc.constant('Node' as const), name, isGoing: fc.boolean(), isInterrupted: fc.boolean() })
const claim = fc.record({
  kind: fc.constant('NodeClaim' as const),
  name,
  isGoing: fc.boolean(),
  isStamped: fc.boolean(),
  isEnding: fc.boolean(),
  hasVm: fc.boolean(),
})
type Change = typeof pod | typeof node | typeof claim extends fc.Arbitrary<infer One> ? One : never

function json(change: Change, version: number) {
  const metadata = {
    name: change.name,
    uid: `${change.kind}-${change.name}`,
    resourceVersion: String(version),
    creationTimestamp: '2025-12-31T00:00:00Z',
    labels: { 'karpenter.sh/nodepool': 'general', 'node.kubernetes.io/instance-type': 'Standard_D2s_v5' },
    ...(change.isGoing ? { deletionTimestamp: '2025-12-31T23:59:59Z' } : {}),
  }
  const providerID = `azure:///${change.name}`
  switch (change.kind) {
    case 'Pod':
      return {
        metadata: { ...metadata, namespace: 'default', labels: {} },
        spec: { containers: [], ...(change.node === undefined ? {} : { nodeName: change.node }) },
        status: { conditions: change.isRefused ? [{ type: 'PodScheduled', reason: 'Unschedulable' }] : [] },
      }
    case 'Node':
      return {
        metadata,
        spec: { providerID },
        status: { conditions: change.isInterrupted ? [{ type: 'VMEventScheduled', status: 'True' }] : [] },
      }
    case 'NodeClaim':
      return {
        metadata: {
          ...metadata,
          annotations: change.isStamped ? { 'joiner.sh/disruption-command': 'empty-1' } : {},
        },
        spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } },
        status: {
          ...(change.hasVm ? { providerID } : {}),
          conditions: change.isEnding ? [{ type: 'InstanceTerminating', status: 'True' }] : [],
        },
      }
  }
}

test('the indexes find the pods that a look at everything finds', () => {
  let mostFound = 0
  fc.assert(
    fc.property(fc.array(fc.oneof(pod, node, claim), { minLength: 1, maxLength: 30 }), (changes) => {
      const cache = new ClusterCache({} as never, pino({ level: 'silent' }), {
        nodeRules: { interruptions: [{ type: 'VMEventScheduled', status: 'True' }] as never, repairs: [] },
      })
      for (const [at, change] of changes.entries()) cache.upsert(change.kind, json(change, at + 1))
      const everything = {
        pods: [...cache.pods.values()],
        nodes: [...cache.nodes.values()],
        nodeClaims: [...cache.nodeClaims.values()],
        podDisruptionBudgets: [],
      }
      const found = podsToPlace({ cache, now: () => now }).map(podName)
      expect(found).toEqual(podsToPlaceOf(everything, now).map(podName))
      mostFound = Math.max(mostFound, found.length)
    }),
    { numRuns: 500 },
  )
  expect(mostFound).toBeGreaterThan(1)
})
