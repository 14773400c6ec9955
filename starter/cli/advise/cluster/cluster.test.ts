import { describe, expect, test } from 'vitest'
import { boundsIn, ownLabels, ownTaints, parsedTaint } from './agent-pools.ts'
import { scalersOf } from './node-owner.ts'

test.each([
  ['YAML', 'nodeGroups:\n- name: aks-user1-12345678-vmss\n  health:\n    minSize: 1\n    maxSize: 7\n'],
  [
    'the older text',
    'NodeGroups:\n  Name: aks-user1-12345678-vmss\n  Health: Healthy (ready=3 cloudProviderTarget=3 (minSize=1, maxSize=7))\n',
  ],
])('bounds of agent pools are read from %s', (_, text) => {
  expect([...boundsIn(text)]).toEqual([['user1', { min: 1, max: 7 }]])
})

test('a status of other groups, or without bounds, says nothing', () => {
  expect(boundsIn('name: other-1\nminSize: 1\nmaxSize: 2\nname: aks-user1-1-vmss\nminSize: 3').size).toBe(0)
})

test('labels and taints of the system are not a pool owner’s', () => {
  const all = {
    team: 'blue',
    'example.com/a': 'b',
    agentpool: 'x',
    'topology.kubernetes.io/zone': '1',
    'kubernetes.azure.com/mode': 'user',
  }
  expect(ownLabels(all)).toEqual({ team: 'blue', 'example.com/a': 'b' })
  expect(ownTaints([])).toEqual([])
  expect(['a=b:NoSchedule', 'a:NoExecute', 'a=b', ':NoSchedule', 'a=b:Never'].map(parsedTaint)).toEqual([
    { key: 'a', value: 'b', effect: 'NoSchedule' },
    { key: 'a', effect: 'NoExecute' },
    undefined,
    undefined,
    undefined,
  ])
})

describe('who scales', () => {
  const cluster = { nodePools: [] } as unknown as Parameters<typeof scalersOf>[0]['seen']['cluster']
  const deployment = (name: string, image: string, labels = {}) => ({
    namespace: 'kube-system',
    name,
    labels,
    images: [image],
    ready: 2,
  })
  const aks = (properties: object) => ({ id: '', name: 'c', location: '', properties })

  test.each([
    ['Karpenter', [deployment('k', 'mcr.microsoft.com/aks/karpenter/controller:1.6')], undefined],
    ['Karpenter', [deployment('karpenter', 'own')], undefined],
    ['Joiner', [deployment('joiner-planner', 'ghcr.io/joiner:0.2')], undefined],
    ['Cluster Autoscaler', [deployment('cluster-autoscaler', 'x')], undefined],
    ['Cluster Autoscaler', [], aks({ agentPoolProfiles: [{ name: 'user1', enableAutoScaling: true }] })],
    ['node auto-provisioning', [], aks({ nodeProvisioningProfile: { mode: 'Auto' } })],
    ['none', [deployment('web', 'nginx')], aks({ nodeProvisioningProfile: { mode: 'Manual' } })],
  ] as const)('is %s', (kind, deployments, of) => {
    const found = scalersOf({ seen: { cluster, deployments }, nodes: [], aks: of })
    expect(found.map((one) => one.kind)).toEqual([kind])
    expect(found[0]?.evidence).toHaveLength(1)
  })
})
