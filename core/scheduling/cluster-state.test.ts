import { describe, expect, it } from 'vitest'
import {
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
  sampleTime,
  sampleType,
} from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import type { Node, NodeClaim, Pod, Taint } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { DaemonSet } from '../pods/related-objects.ts'
import { formatResources } from '../resources.ts'
import { ClusterIndex } from './cluster-index.ts'

// Names say which tests of upstream's suite state they answer to. What upstream's cluster state is, the index of the cluster is here:
// objects change one by one, and what is looked at is what the scheduler gets.
const driver = 'disk.csi.azure.com'
const ready = { conditions: [{ type: 'Ready', status: 'True' as const }] }
const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const ownedByLogs = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'uid-logs', controller: true }],
}

function world() {
  const index = new ClusterIndex()
  index.apply('NodePool', 'default', samplePool('default', ready))
  const instanceTypes = new Map([['default', [sampleType('small', 4)]]])
  const snapshot = () => index.snapshot(instanceTypes, { now: sampleTime })
  const place = (name = 'a') => snapshot().nodes.find((one) => one.name === name)
  return {
    index,
    snapshot,
    place,
    free: (name = 'a') => formatResources(place(name)?.available ?? {})['cpu'],
    node: (node: Node | undefined, name = 'a') => index.apply('Node', name, node),
    claim: (claim: NodeClaim | undefined, name = 'a-claim') => index.apply('NodeClaim', name, claim),
    pod: (pod: Pod) => index.apply('Pod', `default/${pod.metadata.name}`, pod),
    gone: (name: string) => index.apply('Pod', `default/${name}`, undefined),
    /** The names of pods that find room on the nodes that are there. */
    placed: () => {
      const now = snapshot()
      const nodePools = now.nodePools.map((pool) => ({ ...pool, instanceTypes: [] }))
      const { existing } = schedule({ ...now, nodePools })
      return existing.flatMap(({ pods }) => pods.map(podName)).sort()
    },
  }
}

const bound = (name: string, cpu: string, nodeName = 'a', change: Parameters<typeof samplePod>[1] = {}) =>
  samplePod(name, { nodeName, phase: 'Running', conditions: [], requests: { cpu }, ...change })

describe('upstream state, Node Resource Level', () => {
  it('pods that are not bound to a node use nothing of it', () => {
    const { node, pod, free } = world()
    node(sampleNode('a'))
    pod(samplePod('p', { requests: { cpu: '1500m' } }))
    expect(free()).toBe('4')
  })

  it('pods that are bound count, whether the node or they are seen first', () => {
    const early = world()
    early.pod(bound('p', '1500m'))
    early.pod(bound('q', '2'))
    early.node(sampleNode('a'))
    const late = world()
    late.node(sampleNode('a'))
    late.pod(samplePod('p', { requests: { cpu: '1500m' } }))
    late.pod(bound('p', '1500m'))
    expect(late.free()).toBe('2500m')
    late.pod(bound('q', '2'))
    expect([early.free(), late.free()]).toEqual(['500m', '500m'])
  })

  it('pods that are deleted, end or move to another node free what they had', () => {
    const { node, pod, gone, free } = world()
    node(sampleNode('a'))
    node(sampleNode('b'), 'b')
    for (const name of ['deleted', 'ends', 'moves']) pod(bound(name, '1'))
    expect(free()).toBe('1')
    gone('deleted')
    expect(free()).toBe('2')
    pod(bound('ends', '1', 'a', { phase: 'Failed' }))
    expect(free()).toBe('3')
    // A StatefulSet's pod under the same name: only its new state was seen.
    pod(bound('moves', '2', 'b', { metadata: { uid: 'again' } }))
    expect([free('a'), free('b')]).toEqual(['4', '2'])
  })

  it('the count is right after a hundred pods came and went, each reported up to three times', () => {
    const { node, pod, gone, place } = world()
    node(sampleNode('a', { allocatable: { cpu: 200, memory: '400Gi', pods: 500 } }))
    const cpus = Array.from({ length: 100 }, (_, at) => (at * 37) % 20)
    let used = 0
    for (const [at, cpu] of cpus.entries()) {
      for (let times = 0; times <= at % 3; times += 1) pod(bound(`p${at}`, `${cpu * 100}m`))
      used += cpu * 100
      expect(Number(place()?.available['cpu']?.nano) / 1e6).toBe(200_000 - used)
    }
    for (const at of cpus.keys()) for (let times = 0; times <= at % 2; times += 1) gone(`p${at}`)
    expect(formatResources(place()?.available ?? {})).toMatchObject({ cpu: '200', pods: '500' })
  })

  it('what DaemonSets request is kept free for their pods, and counted once they are bound', () => {
    const { index, node, pod, free } = world()
    const metadata = sampleMeta('logs', { uid: 'uid-logs' })
    const daemon: DaemonSet = { kind: 'DaemonSet', metadata, pod: samplePod('logs', { requests: { cpu: '1' } }) }
    node(sampleNode('a'))
    pod(bound('p', '1500m'))
    index.apply('DaemonSet', 'logs', daemon)
    expect(free()).toBe('1500m')
    pod(bound('logs-x', '1', 'a', { metadata: ownedByLogs }))
    expect(free()).toBe('1500m')
    index.apply('DaemonSet', 'logs', undefined)
    expect(free()).toBe('1500m')
  })

  it('a node that is deleted is no place any more', () => {
    const { node, pod, snapshot } = world()
    node(sampleNode('a'))
    pod(bound('p', '1'))
    node(undefined)
    expect([snapshot().nodes, snapshot().occupied]).toEqual([[], []])
  })

  it.each<[string, (of: ReturnType<typeof world>) => void]>([
    ['whose NodeClaim is being deleted', ({ claim }) => claim(sampleClaim('a', { metadata: going }))],
    [
      'without a NodeClaim that is being deleted',
      ({ node, claim }) => {
        claim(undefined)
        node(sampleNode('a', { metadata: going }))
      },
    ],
  ])('a node %s is no place any more, though its pods still count', (_, change) => {
    const given = world()
    given.node(sampleNode('a'))
    given.claim(sampleClaim('a'))
    given.pod(bound('p', '1', 'a', { metadata: ownedByLogs }))
    expect(given.place()).toBeDefined()
    change(given)
    expect(given.place()).toBeUndefined()
    expect(given.snapshot().occupied?.map(({ facts, pods }) => [facts.name, pods.length])).toEqual([['a', 1]])
  })

  it('a node that gets its provider id later is still one node', () => {
    const { node, snapshot } = world()
    const { providerId: _, ...without } = sampleNode('a')
    const labels = { 'kubernetes.io/hostname': 'a' }
    node({ ...without, metadata: sampleMeta('a', { labels }) })
    expect(snapshot().nodes.map(({ name }) => name)).toEqual(['a'])
    node({ ...sampleNode('a'), metadata: sampleMeta('a', { labels }) })
    expect(snapshot().nodes.map(({ name }) => name)).toEqual(['a'])
  })

  it('a Node of a NodePool without a provider id is its NodeClaim until it has one', () => {
    const { node, claim, snapshot } = world()
    const { providerId: _, ...without } = sampleNode('a')
    const { nodeName: __, ...status } = sampleClaim('a').status
    claim({ ...sampleClaim('a'), status: { ...status, conditions: [sampleCondition('Launched')] } })
    node(without)
    expect(snapshot().nodes.map(({ name }) => name)).toEqual(['a-claim'])
    node(sampleNode('a'))
    claim(sampleClaim('a'))
    expect(snapshot().nodes.map(({ name }) => name)).toEqual(['a'])
  })

  it('a NodeClaim whose Node is gone is no place at once, and is one again when its Node is registered', () => {
    const { node, claim, pod, placed, snapshot } = world()
    claim(sampleClaim('a'))
    node(sampleNode('a'))
    pod(samplePod('p'))
    expect(placed()).toEqual(['default/p'])
    node(undefined)
    expect([placed(), snapshot().nodes]).toEqual([[], []])
    node(sampleNode('a', { metadata: { creationTimestamp: '2026-01-01T01:00:00Z', uid: 'newer' } }))
    expect([placed(), snapshot().nodes]).toEqual([[], []])
    node(sampleNode('a', { metadata: { uid: 'newer', annotations: { 'joiner.sh/node-uid': 'newer' } } }))
    expect(placed()).toEqual(['default/p'])
  })

  it('a NodeClaim that is registered has room, though what registration wrote to its Node is not seen yet', () => {
    const { node, claim, pod, placed } = world()
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' } as const
    const joined = { 'karpenter.sh/nodepool': 'default', 'node.kubernetes.io/instance-type': 'Standard_D4s_v5' }
    claim(sampleClaim('a'))
    const seen = sampleNode('a', { taints: [unregistered] })
    node({ ...seen, metadata: { ...seen.metadata, labels: joined } })
    pod(samplePod('p'))
    expect(placed()).toEqual(['default/p'])
    pod(bound('other', '4'))
    expect(placed()).toEqual([])
  })

  it('a node is what its NodeClaim says, and stays the same place, whatever labels its kubelet writes and removes', () => {
    const { node, claim, place, snapshot } = world()
    claim(sampleClaim('a'))
    node(sampleNode('a'))
    const honest = place()
    const { metadata, ...lying } = sampleNode('a')
    const labels = { 'kubernetes.io/hostname': 'a', 'karpenter.sh/nodepool': 'other' }
    node({ ...lying, metadata: { ...metadata, labels } })
    expect(place()).toMatchObject({
      ...honest,
      labels: { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/registered': 'true' },
      joined: { labels: { 'karpenter.sh/nodepool': 'default' } },
    })
    expect(snapshot().occupied).toEqual([])
    expect(place()).toBe(place())
  })

  it('a Node with the provider id of another Node’s VM has no room, and takes nothing from that Node', () => {
    const { node, claim, pod, place, snapshot } = world()
    claim(sampleClaim('a'))
    node(sampleNode('a'))
    pod(bound('web', '2'))
    node(sampleNode('evil', { providerId: 'AZURE:///a', allocatable: { cpu: 64 } }), 'evil')
    pod(bound('other', '1', 'evil'))
    expect(snapshot().nodes.map(({ name }) => name)).toEqual(['a'])
    expect(place()?.pods.map(podName)).toEqual(['default/web'])
    expect(snapshot().occupied?.map(({ facts, pods }) => [facts.name, pods.length])).toEqual([['evil', 1]])
  })

  it('Node Deletion: a node and a NodeClaim of the same name are one place, and none is left over', () => {
    const { node, claim, snapshot } = world()
    const same = sampleClaim('a', { metadata: { name: 'a' } })
    claim(same, 'a')
    node(sampleNode('a'))
    expect(snapshot().nodes).toHaveLength(1)
    claim(undefined, 'a')
    expect(snapshot().nodes).toHaveLength(1)
    node(undefined)
    expect(snapshot().nodes).toEqual([])
  })
})

describe('upstream state, Volume Usage and HostPort Usage', () => {
  it('a node at its limit of volumes takes no other volume, but a pod with one that it has', () => {
    const { index, node, claim, pod, placed } = world()
    node(sampleNode('a'))
    claim(sampleClaim('a'))
    index.apply('StorageClass', 'disk', {
      kind: 'StorageClass',
      metadata: sampleMeta('disk'),
      provisioner: driver,
      allowedTopologies: [],
    })
    index.apply('CSINode', 'a', { kind: 'CSINode', metadata: sampleMeta('a'), drivers: [{ name: driver, count: 3 }] })
    const volume = (name: string) =>
      index.apply('PersistentVolumeClaim', `default/${name}`, {
        kind: 'PersistentVolumeClaim',
        metadata: sampleMeta(name, { namespace: 'default' }),
        storageClassName: 'disk',
      })
    for (const at of [0, 1, 2]) {
      volume(`v${at}`)
      pod(bound(`p${at}`, '100m', 'a', { persistentVolumeClaims: [`v${at}`] }))
    }
    volume('other')
    pod(samplePod('shares', { persistentVolumeClaims: ['v1'] }))
    pod(samplePod('wants-one-more', { persistentVolumeClaims: ['other'] }))
    expect(placed()).toEqual(['default/shares'])
    // An update of the NodeClaim changes nothing about it.
    claim(sampleClaim('a', { metadata: { annotations: { changed: 'yes' } } }))
    expect(placed()).toEqual(['default/shares'])
    index.apply('Pod', 'default/p0', undefined)
    expect(placed()).toEqual(['default/shares', 'default/wants-one-more'])
  })

  it('a host port that a pod of the node has keeps others away that want it, also after an update of NodeClaim and pod', () => {
    const { node, claim, pod, gone, placed } = world()
    const port = (hostPort: number) => ({ hostPorts: [{ hostPort }] })
    node(sampleNode('a'))
    claim(sampleClaim('a'))
    for (const at of [1, 2, 3]) pod(bound(`p${at}`, '100m', 'a', port(at)))
    pod(samplePod('conflicts', port(2)))
    pod(samplePod('fits', port(4)))
    expect(placed()).toEqual(['default/fits'])
    claim(sampleClaim('a', { metadata: { annotations: { changed: 'yes' } } }))
    pod(bound('p2', '100m', 'a', { ...port(2), metadata: { labels: { changed: 'yes' } } }))
    expect(placed()).toEqual(['default/fits'])
    gone('p2')
    expect(placed()).toEqual(['default/conflicts', 'default/fits'])
  })
})

describe('upstream state, Pod Anti-Affinity', () => {
  const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' }
  const required = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
  const preferred = {
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
  }
  const given = (affinity: Pod['affinity']) => {
    const one = world()
    one.node(sampleNode('a'))
    one.pod(bound('hermit', '100m', 'a', { ...(affinity && { affinity }) }))
    one.pod(samplePod('web', { metadata: { labels: { app: 'web' } } }))
    return one
  }

  it('a bound pod that requires it keeps others away, and no longer when it or its node is gone', () => {
    const one = given(required)
    expect(one.placed()).toEqual([])
    one.gone('hermit')
    expect(one.placed()).toEqual(['default/web'])
    const other = given(required)
    other.node(sampleNode('b', { metadata: { labels: { 'kubernetes.io/hostname': 'b' } } }), 'b')
    other.node(undefined)
    expect(other.placed()).toEqual(['default/web'])
  })

  it('a bound pod that only prefers it keeps none away', () => {
    expect(given(preferred).placed()).toEqual(['default/web'])
  })
})

describe('upstream state, Taints', () => {
  const ephemeral: readonly Taint[] = [
    { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
    { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule', value: 'true' },
  ]
  const startup: readonly Taint[] = [
    { key: 'taint-key', value: 'taint-value', effect: 'NoSchedule' },
    { key: 'taint-key2', value: 'taint-value2', effect: 'NoExecute' },
  ]
  it.each<[string, readonly Taint[], boolean, boolean, number]>([
    ['ephemeral ones of a managed node that is starting do not count', ephemeral, true, false, 0],
    ['ephemeral ones of a managed node that is initialized count', ephemeral, true, true, 4],
    ['startup ones of a managed node that is starting do not count', startup, true, false, 0],
    ['startup ones of a managed node that is initialized count', startup, true, true, 2],
    ['ephemeral ones of an unmanaged node that is starting count', ephemeral, false, false, 4],
    ['ephemeral ones of an unmanaged node that is initialized count', ephemeral, false, true, 4],
  ])('%s', (_, taints, isManaged, isInitialized, count) => {
    const { node, claim, place } = world()
    const labels = {
      'node.kubernetes.io/instance-type': 'small',
      'karpenter.sh/initialized': isInitialized ? 'true' : 'false',
    }
    node(sampleNode('a', { taints, metadata: { labels } }))
    const conditions = [sampleCondition('Registered'), ...(isInitialized ? [sampleCondition('Initialized')] : [])]
    if (isManaged) claim(sampleClaim('a', { spec: { startupTaints: startup }, status: { conditions } }))
    expect(place()?.taints).toHaveLength(count)
  })
})

describe('upstream state, DaemonSet Controller', () => {
  const metadata = sampleMeta('logs', { uid: 'uid-logs', namespace: 'default' })
  const daemonSet: DaemonSet = { kind: 'DaemonSet', metadata, pod: samplePod('logs', { requests: { cpu: '1' } }) }
  const pod = (name: string, cpu: string, day: number) =>
    bound(name, cpu, 'a', { metadata: { ...ownedByLogs, creationTimestamp: `2026-01-0${day}T00:00:00Z` } })

  it('its newest pod stands for it, its template while it has none; other pods never do', () => {
    const one = world()
    const requested = () => one.snapshot().daemonSets.map((set) => formatResources(set.pod.requests)['cpu'])
    one.index.apply('DaemonSet', 'default/logs', daemonSet)
    for (let at = 0; at < 100; at += 1) one.pod(bound(`other-${at}`, '3'))
    expect(requested()).toEqual(['1'])
    one.pod(pod('logs-a', '2', 1))
    expect(requested()).toEqual(['2'])
    one.pod(pod('logs-b', '3', 2))
    expect(requested()).toEqual(['3'])
    one.index.apply('DaemonSet', 'default/logs', undefined)
    expect(requested()).toEqual([])
  })
})
