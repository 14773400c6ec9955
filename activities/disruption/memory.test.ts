import { expect, test } from 'vitest'
import type { NodeClaim } from '../../core/objects.ts'
import { annotations } from '../../core/requirements/labels.ts'
import {
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
} from '../../test/samples/sample-objects.ts'
import type { CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import type { ChangeListener } from '../kubernetes/cache/change-feed.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { DisruptionMemory } from './memory.ts'

/** A memory that receives changes by hand, at a time that stands still. */
function remembering(now = { ms: 0 }) {
  const listeners: ChangeListener[] = []
  const cache = {
    onChange: (listener: ChangeListener) => listeners.push(listener),
    nodeClaims: { by: () => [claim] },
  } as unknown as ClusterCache
  const memory = new DisruptionMemory(cache, () => now.ms)
  const change = (before: CachedObject | undefined, after: CachedObject | undefined) => {
    const { changes, urgentChanges } = memory
    const kind = ((after ?? before) as CachedObject).kind
    for (const listener of listeners) listener({ kind, key: 'key', before, after })
    if (memory.urgentChanges > urgentChanges) return 'urgent'
    return memory.changes > changes ? 'material' : 'noise'
  }
  return { memory, change, now }
}

const running = samplePod('web', { phase: 'Running', nodeName: 'a', conditions: [] })
const claim = sampleClaim('a')
const versioned = <T extends CachedObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '2' },
})

test.each<[string, CachedObject | undefined, CachedObject | undefined]>([
  ['a pod ended', running, { ...running, phase: 'Succeeded' }],
  ['a pod is gone', running, undefined],
  ['a NodeClaim is gone', claim, undefined],
  ['a NodeClaim has drifted', claim, withConditions(claim, 'Drifted')],
  ['a NodeClaim may be consolidated', claim, withConditions(claim, 'Consolidatable')],
  ['a NodeClaim gives its budget back', claim, withConditions(claim, 'InstanceTerminating')],
  ['a NodeClaim is released', stamped(claim), claim],
  ['a NodePool was edited', samplePool(), { ...samplePool(), metadata: sampleMeta('default', { generation: 7 }) }],
  [
    'a node falls ill whose kubelet says that it was never initialized',
    sampleNode('a'),
    sampleNode('a', {
      metadata: { labels: { 'karpenter.sh/initialized': '' } },
      conditions: [sampleCondition('Sick')],
    }),
  ],
  ['a node is ready again', sampleNode('a', { conditions: [sampleCondition('Ready', 'False')] }), sampleNode('a')],
])('%s: that may set a node free', (_, before, after) => {
  expect(remembering().change(before, after)).toBe('urgent')
})

test.each<[string, CachedObject | undefined, CachedObject | undefined]>([
  ['a pod came', undefined, running],
  ['a pod was bound', { ...running, phase: 'Pending' }, running],
  ['a NodeClaim was stamped', claim, stamped(claim)],
  ['a node was tainted', sampleNode('a'), sampleNode('a', { taints: [{ key: 'x', effect: 'NoSchedule' }] })],
])('%s: the next pass is not spared', (_, before, after) => {
  expect(remembering().change(before, after)).toBe('material')
})

test.each<[string, CachedObject | undefined, CachedObject | undefined]>([
  ['a probe failed', running, { ...versioned(running), conditions: [sampleCondition('Ready', 'False')] }],
  ['a heartbeat', sampleNode('a'), versioned(sampleNode('a'))],
  ['a pool counts its nodes', samplePool(), versioned(samplePool())],
])('%s: no decision depends on it', (_, before, after) => {
  expect(remembering().change(before, after)).toBe('noise')
})

test('a pass that would repeat a fruitless one is skipped, until a change or the time requires it', () => {
  const { memory, change, now } = remembering()
  const types = ['D2']
  expect(memory.isSpared([types])).toBe(false)
  memory.fruitless(memory.changes, [types, 'x'], 1000)
  expect(memory.isSpared([types, 'x'])).toBe(true)
  expect(memory.isSpared([['D2'], 'x'])).toBe(false)
  expect(memory.isSpared([types, 'y'])).toBe(false)
  now.ms = 1000
  expect(memory.isSpared([types, 'x'])).toBe(false)
  memory.fruitless(memory.changes, [types], 5000)
  change(undefined, running)
  expect(memory.isSpared([types])).toBe(false)
})

test('a pass is made again after the clock was set back', () => {
  const { memory, now } = remembering({ ms: 1_000_000 })
  memory.fruitless(memory.changes, [], 1_060_000)
  expect(memory.isSpared([])).toBe(true)
  now.ms = 1000
  expect(memory.isSpared([])).toBe(false)
})

test('what was undone is backed off, and its pool for that reason; a node that goes ends it', () => {
  const { memory, change } = remembering()
  change(stamped(claim), claim)
  expect(memory.resting()).toEqual({ nodePools: { Drifted: ['default'] }, nodeClaims: ['a-claim'] })
  expect(memory.restUntil()).toBe(10_000)
  const other = stamped(sampleClaim('b'))
  change(other, going(other))
  expect(memory.resting()).toEqual({ nodePools: {}, nodeClaims: ['a-claim'] })
})

test.each<[string, NodeClaim | undefined, NodeClaim | undefined]>([
  ['appears', undefined, stamped(claim)],
  ['changes without a command', claim, withConditions(claim, 'Drifted')],
  ['was being deleted already, and is gone', going(stamped(claim)), undefined],
  ['was being deleted already, and loses its stamp', going(stamped(claim)), going(claim)],
])('a NodeClaim that %s neither begins nor ends a back-off', (_, before, after) => {
  const { memory, change } = remembering()
  change(before, after)
  expect(memory.resting()).toEqual({ nodePools: {}, nodeClaims: [] })
  change(stamped(claim), claim)
  const backedOff = memory.resting()
  change(before, after)
  expect(memory.resting()).toEqual(backedOff)
})

function withConditions(of: NodeClaim, type: string): NodeClaim {
  return { ...of, status: { ...of.status, conditions: [...of.status.conditions, sampleCondition(type)] } }
}

function stamped(of: NodeClaim): NodeClaim {
  const own = { ...of.metadata.annotations, [annotations.disruptionCommand]: 'drift-0123456789-01234567' }
  return { ...of, metadata: { ...of.metadata, annotations: own } }
}

function going(of: NodeClaim): NodeClaim {
  return { ...of, metadata: { ...of.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
}
