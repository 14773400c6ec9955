import { describe, expect, test } from 'vitest'
import type { Seen } from '../world.ts'
import { verdictOn, verdictsOf } from './verdict.ts'

type Metadata = Partial<Seen['metadata']> & { readonly name: string }

const seen = (metadata: Metadata, more: Partial<Seen> = {}): Seen => ({
  metadata: { uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  spec: {},
  ...more,
})

/** A world after a node was launched, with what chance decides. */
function endState({ suffix = 'x7k2p', zone = '1', reason = 'Ready', sku = 'Standard_D4s_v5' } = {}) {
  const claim = `general-${suffix}`
  const node = `aks-${claim}`
  const pool = { 'karpenter.sh/nodepool': 'general' }
  const labels = { ...pool, 'kubernetes.io/hostname': node, 'topology.kubernetes.io/zone': `westeurope-${zone}` }
  const ready = { type: 'Ready', status: 'True', reason, message: `since ${suffix}` }
  const event = (kind: string, component: string, why: string) =>
    seen({ name: `${node}.${suffix}` }, { involvedObject: { kind, name: claim }, source: { component }, reason: why })
  return {
    objects: {
      nodeclaims: [seen({ name: claim, labels: pool }, { status: { conditions: [ready] } })],
      nodes: [
        seen(
          { name: node, labels, annotations: { 'a/key': suffix }, finalizers: ['karpenter.sh/termination'] },
          { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] } },
        ),
      ],
      pods: [
        seen({ name: `inflate-5d4-${suffix}`, labels: { app: 'inflate', 'pod-template-hash': '5d4' } }),
        seen({ name: `inflate-5d4-a${suffix}`, labels: { app: 'inflate', 'pod-template-hash': '5d4' } }),
      ],
    },
    vms: [{ size: sku, priority: 'Spot', state: 'running' }],
    events: [
      event('NodeClaim', 'karpenter', 'Launched'),
      event('NodeClaim', 'karpenter', 'Launched'),
      event('Node', 'kubelet', 'Starting'),
    ],
    writes: [
      { what: 'create nodeclaims' },
      { what: 'patch leases', name: 'joiner-bridge' },
      ...['patch nodeclaims/status', 'patch nodeclaims', 'patch nodeclaims/status'].map((what) => ({
        what,
        name: claim,
      })),
      { what: 'delete nodes', name: 'aks-general-00000' },
      { what: 'delete nodes', name: 'aks-general-11111' },
      // Of a replacement, and of an AKS machine.
      { what: 'delete nodes', name: 'aks-general-0848eb8dfe-0' },
      { what: 'delete nodes', name: 'aks-general-5nz65-38517176-vm' },
    ],
  }
}

describe('a verdict', () => {
  test('names objects without what was generated, and has each event of Joiner and each sort of write once', () => {
    expect(verdictOn(endState())).toEqual([
      'VM Standard_D4s_v5 Spot running',
      'event NodeClaim Launched',
      'nodeclaims general-*\ncondition Ready=True/Ready\nlabel karpenter.sh/nodepool=general',
      [
        'nodes aks-general-*',
        'annotation a/key',
        'finalizer karpenter.sh/termination',
        'label karpenter.sh/nodepool=general',
        'label kubernetes.io/hostname=aks-general-*',
        'label topology.kubernetes.io/zone',
        'taint k=v:NoSchedule',
      ].join('\n'),
      'pods inflate-*\nlabel app=inflate\nlabel pod-template-hash',
      'pods inflate-*\nlabel app=inflate\nlabel pod-template-hash',
      'written nodeclaims\nin order create',
      'written nodeclaims general-*\nin order patch status, patch',
      'written nodes aks-general-*\nin order delete',
    ])
  })

  test('is the same with other names and zones', () => {
    expect(verdictOn(endState({ suffix: 'b9q4c', zone: '3' }))).toEqual(verdictOn(endState()))
  })

  test('has no UIDs, times and addresses', () => {
    const labels = { uid: '0f8fad5b-d9cb-469f-a165-70867728950e', at: '2026-01-01T00:00:00Z', ip: '10.0.0.4' }
    const objects = { nodes: [seen({ name: 'n', labels })] }
    expect(verdictOn({ objects, vms: [], events: [], writes: [] })).toEqual([
      'nodes n\nlabel at=*\nlabel ip=*\nlabel uid=*',
    ])
  })
})

test('a file of verdicts is read by suite and test', () => {
  const line = JSON.stringify({ suite: 'launch', test: 'a launch', verdict: ['VM a'] })
  expect([...verdictsOf(`${line}\n`)]).toEqual([['launch > a launch', ['VM a']]])
})
