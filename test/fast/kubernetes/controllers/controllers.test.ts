import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { deployment } from '../../../applied-objects.ts'
import { FakeCluster } from '../../../fakes/cluster.ts'
import type { FakeObject } from '../../../fakes/patches.ts'
import { sampleTime } from '../../../samples/sample-objects.ts'
import { passUntil, type VirtualClock } from '../../virtual-clock.ts'
import { VirtualTime } from '../../virtual-time.ts'
import { type CloudVm, cloudNodes } from './cloud-nodes.ts'
import { run } from './controller.ts'
import { startControllers } from './start-controllers.ts'

/** A Node with a kubelet. */
const node = (name: string, more: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, annotations: { 'kwok.x-k8s.io/node': 'fake' }, labels: { 'kubernetes.io/hostname': name } },
  spec: {},
  status: {
    capacity: { cpu: '4', memory: '16Gi', pods: '110' },
    allocatable: { cpu: '4', memory: '16Gi', pods: '110' },
  },
  ...more,
})

interface Played {
  readonly cluster: FakeCluster
  readonly clock: VirtualClock
  readonly until: (what: string, holds: () => unknown, atMostMs?: number) => Promise<void>
  readonly pods: () => readonly FakeObject[]
  readonly running: () => number
}

async function played(play: (played: Played) => Promise<void>): Promise<void> {
  using time = new VirtualTime(sampleTime)
  const cluster = new FakeCluster()
  const controllers = startControllers(cluster)
  const pods = () => cluster.all('pods')
  await play({
    cluster,
    clock: time.clock,
    until: (what, holds, atMostMs) => passUntil(time.clock, what, holds, atMostMs),
    pods,
    running: () => pods().filter(({ status }) => status['phase'] === 'Running').length,
  })
  controllers.stop()
}

const unschedulable = ({ status }: FakeObject) =>
  status.conditions.find(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')?.message

const nodesOf = (cluster: FakeCluster) =>
  cluster
    .all('pods')
    .map(({ spec }) => String(spec['nodeName']))
    .sort()

const scaled = (cluster: FakeCluster, replicas: number) =>
  cluster.request('PATCH', '/apis/apps/v1/namespaces/default/deployments/inflate/scale', { spec: { replicas } })

function workload(kind: 'StatefulSet' | 'DaemonSet' | 'Job', name = 'inflate') {
  const { replicas: _, ...spec } = deployment({ name, cpu: '100m' }).spec
  return { apiVersion: 'apps/v1', kind, metadata: { name, namespace: 'default' }, spec }
}

const lonePod = (name: string, annotations: Json, more: Json = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', annotations },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
})

const budget = (name: string, spec: Json) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: name } }, ...spec },
})

const inZone = (name: string, zone: string) => {
  const { metadata, ...rest } = node(name)
  const { labels, ...own } = metadata as Json
  return { ...rest, metadata: { ...own, labels: { ...(labels as Json), zone } } }
}

describe('workloads', () => {
  test('a Deployment has pods that run where there is room, and others that say why they wait', () =>
    played(async ({ cluster, until, pods, running }) => {
      await cluster.apply(deployment({ replicas: 3, cpu: '2' }))
      const none = 'no nodes available to schedule pods'
      await until('no node', () => pods().length === 3 && pods().every((pod) => unschedulable(pod) === none))
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await until('two run', () => running() === 2)
      const [waiting] = pods().filter(({ spec }) => spec['nodeName'] === undefined)
      expect(waiting && unschedulable(waiting)).toBe(
        '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
      )
      await cluster.request('POST', '/api/v1/nodes', node('b'))
      await until('all run', () => running() === 3)
      await scaled(cluster, 1)
      await until('one is left', () => pods().length === 1)
    }))

  test('a new template replaces the pods, never fewer than three quarters of them at a time', () =>
    played(async ({ cluster, until, pods, running }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(deployment({ replicas: 4, cpu: '100m' }))
      await until('all run', () => running() === 4)
      const old = new Set(pods().map(({ metadata }) => metadata.name))
      let fewest = 4
      await cluster.apply(deployment({ replicas: 4, cpu: '200m' }))
      await until('all are new', () => {
        fewest = Math.min(fewest, running())
        return running() === 4 && pods().every(({ metadata }) => !old.has(metadata.name))
      })
      expect(fewest).toBe(3)
      expect(
        cluster
          .all('replicasets')
          .map(({ spec }) => String(spec['replicas']))
          .sort(),
      ).toEqual(['0', '4'])
    }))

  test('a StatefulSet starts its pods one after the other, and ends the last one first', () =>
    played(async ({ cluster, until, running, pods }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply({ ...workload('StatefulSet'), spec: { ...workload('StatefulSet').spec, replicas: 2 } })
      await until('the first runs', () => running() === 1)
      expect(cluster.names('pods')).toContain('inflate-0')
      await until('both run', () => running() === 2)
      await cluster.request('PATCH', '/apis/apps/v1/namespaces/default/statefulsets/inflate', { spec: { replicas: 1 } })
      await until('one is left', () => pods().length === 1)
      expect(cluster.names('pods')).toEqual(['inflate-0'])
    }))

  test('a DaemonSet has a pod on each Node that it bears, also where nothing else is placed', () =>
    played(async ({ cluster, until, running }) => {
      for (const name of ['a', 'b', 'c']) await cluster.request('POST', '/api/v1/nodes', node(name))
      await cluster.request('PATCH', '/api/v1/nodes/b', { spec: { unschedulable: true } })
      await cluster.request('PATCH', '/api/v1/nodes/c', { spec: { taints: [{ key: 'mine', effect: 'NoSchedule' }] } })
      await cluster.apply(workload('DaemonSet'))
      await until('two run', () => running() === 2)
      expect(nodesOf(cluster)).toEqual(['a', 'b'])
    }))

  test('a Job is complete when its pods have succeeded', () =>
    played(async ({ cluster, until }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      const { spec } = workload('Job')
      await cluster.apply({
        ...workload('Job'),
        apiVersion: 'batch/v1',
        spec: { template: spec.template, completions: 2 },
      })
      const job = () =>
        cluster.server.objects.find('/apis/batch/v1/namespaces/default/jobs/inflate')?.['status'] as Json | undefined
      await until('it is complete', () => job()?.['succeeded'] === 2 && Array.isArray(job()?.['conditions']))
    }))

  test('what a deleted Deployment owned goes, with its pods after their grace', () =>
    played(async ({ cluster, until, running, pods }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(deployment({ replicas: 2, cpu: '1' }))
      await until('both run', () => running() === 2)
      await cluster.request('DELETE', '/apis/apps/v1/namespaces/default/deployments/inflate')
      await until('nothing is left', () => pods().length === 0 && cluster.names('replicasets').length === 0)
    }))
})

describe('nodes', () => {
  test('a Node whose kubelet is silent is unreachable after 40 s, and its pods are elsewhere five minutes later', () =>
    played(async ({ cluster, until, running, clock }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(deployment({ replicas: 1 }))
      await until('it runs', () => running() === 1)
      await cluster.request('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } })
      const silentMs = clock.now()
      const isUnknown = () =>
        cluster
          .object('nodes', 'a')
          ?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown')
      await until('it is noticed', isUnknown)
      expect(clock.now() - silentMs).toBeGreaterThanOrEqual(40_000)
      expect(clock.now() - silentMs).toBeLessThan(41_000)
      await cluster.request('POST', '/api/v1/nodes', node('b'))
      await until('another is made', () => cluster.all('pods').some(({ spec }) => spec['nodeName'] === 'b'))
      expect(clock.now() - silentMs).toBeGreaterThanOrEqual(339_000)
      const taints = cluster.object('nodes', 'a')?.spec.taints.map(({ key, effect }) => `${key}:${effect}`)
      expect(taints).toEqual(['node.kubernetes.io/unreachable:NoSchedule', 'node.kubernetes.io/unreachable:NoExecute'])
      expect(cluster.names('pods')).toHaveLength(1)
    }))

  test('a pod whose Node is gone is let go, although no kubelet ends it', () =>
    played(async ({ cluster, until, running }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(lonePod('plain', {}))
      await until('it runs', () => running() === 1)
      await cluster.request('DELETE', '/api/v1/nodes/a')
      await until('it is gone', () => cluster.names('pods').length === 0)
    }))

  test('a pod that does not tolerate a taint of its Node leaves at once', () =>
    played(async ({ cluster, until, running }) => {
      for (const name of ['a', 'b']) await cluster.request('POST', '/api/v1/nodes', node(name))
      await cluster.apply(deployment({ replicas: 1 }))
      await until('it runs', () => running() === 1)
      await cluster.request('PATCH', '/api/v1/nodes/a', { spec: { taints: [{ key: 'mine', effect: 'NoExecute' }] } })
      await until('it runs elsewhere', () => {
        const [pod, ...others] = cluster.all('pods')
        return others.length === 0 && pod?.spec['nodeName'] === 'b' && running() === 1
      })
    }))

  test('a pod ends when its grace is over, and one that hangs does not', () =>
    played(async ({ cluster, until, clock }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      for (const [name, annotations] of [
        ['plain', {}],
        ['hangs', { 'local.joiner.sh/hang': '' }],
      ] as const)
        await cluster.apply(lonePod(name, annotations))
      await until('both run', () => cluster.all('pods').every(({ status }) => status['phase'] === 'Running'))
      const deletedMs = clock.now()
      for (const name of ['plain', 'hangs']) await cluster.request('DELETE', `/api/v1/namespaces/default/pods/${name}`)
      await until('one is gone', () => cluster.names('pods').length === 1)
      // Times of objects are whole seconds.
      expect(Math.ceil((clock.now() - deletedMs) / 1000)).toBe(30)
      await cluster.apply(lonePod('later', {}))
      await until('another runs', () => cluster.object('pods', 'later', 'default')?.status['phase'] === 'Running')
      await cluster.request('DELETE', '/api/v1/namespaces/default/pods/later')
      await until('it is gone as well', () => cluster.object('pods', 'later', 'default') === undefined)
      expect(cluster.names('pods')).toEqual(['hangs'])
    }))
})

test("a kubelet's request for a certificate is answered", () =>
  played(async ({ cluster, until }) => {
    const list = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    const made = await cluster.request('POST', list, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'node-csr-' },
      spec: { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', request: '' },
    })
    const path = `${list}/${(made['metadata'] as Json)['name'] as string}`
    await until('it is issued', () => 'certificate' in ((cluster.server.objects.find(path)?.['status'] ?? {}) as Json))
  }))

describe('the scheduler', () => {
  const spread = (app: string, key: string) => ({
    maxSkew: 1,
    topologyKey: key,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
  })

  test('spreads pods over zones, and lets them wait where that cannot be', () =>
    played(async ({ cluster, until, running }) => {
      for (const [name, zone] of [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ] as const)
        await cluster.request('POST', '/api/v1/nodes', inZone(name, zone))
      await cluster.request('PATCH', '/api/v1/nodes/c', { spec: { unschedulable: true } })
      const app = deployment({ replicas: 3, cpu: '100m' })
      const { template } = app.spec
      const topologySpreadConstraints = [spread('inflate', 'zone')]
      await cluster.apply({
        ...app,
        spec: { ...app.spec, template: { ...template, spec: { ...template.spec, topologySpreadConstraints } } },
      })
      await until('two run', () => running() === 2)
      await until('the third is refused', () =>
        cluster
          .all('pods')
          .some((pod) => unschedulable(pod)?.includes("2 node(s) didn't match pod topology spread constraints")),
      )
      await cluster.request('PATCH', '/api/v1/nodes/c', { spec: { unschedulable: null } })
      await until('all run', () => running() === 3)
      expect(nodesOf(cluster)).toEqual(['a', 'b', 'c'])
    }))

  test('keeps pods apart that want to be', () =>
    played(async ({ cluster, until, running }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(deployment({ replicas: 2, cpu: '100m', apart: true }))
      await until('one runs', () => running() === 1)
      const refused = (pod: FakeObject) =>
        unschedulable(pod)?.includes("1 node(s) didn't match pod anti-affinity rules")
      await until('the other is refused', () => cluster.all('pods').some(refused))
      await cluster.request('POST', '/api/v1/nodes', node('b'))
      await until('both run', () => running() === 2)
    }))

  test('waits for a volume that a driver makes, and goes where it is', () =>
    played(async ({ cluster, until, running }) => {
      await cluster.apply({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'zonal' },
        provisioner: 'disk.csi.azure.com',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['2'] }] }],
      })
      await cluster.apply({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data', namespace: 'default' },
        spec: { storageClassName: 'zonal', accessModes: ['ReadWriteOnce'] },
      })
      for (const [name, zone] of [
        ['a', '1'],
        ['b', '2'],
      ] as const)
        await cluster.request('POST', '/api/v1/nodes', inZone(name, zone))
      await cluster.apply(
        lonePod('writer', {}, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] }),
      )
      const selected = () => cluster.object('persistentvolumeclaims', 'data', 'default')?.metadata.annotations
      await until('its node is chosen', () => selected()?.['volume.kubernetes.io/selected-node'] === 'b')
      expect(running()).toBe(0)
      const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['2'] }] }]
      await cluster.apply({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'disk' },
        spec: {
          storageClassName: 'zonal',
          claimRef: { namespace: 'default', name: 'data' },
          nodeAffinity: { required: { nodeSelectorTerms: terms } },
        },
      })
      await until('it runs', () => running() === 1)
      expect(cluster.all('pods')[0]?.spec['nodeName']).toBe('b')
    }))
})

test('the cloud deletes a Node that is not Ready once its VM is gone, and marks it while its VM stands still', () =>
  played(async ({ cluster, until }) => {
    const vms = new Map<string, CloudVm>([['b', { isStopped: true }]])
    const stop = run(
      cluster.server,
      cloudNodes(cluster.server, (id) => vms.get(id)),
    )
    const silent = (name: string) => node(name, { metadata: { name }, spec: { providerID: name } })
    for (const one of [silent('a'), silent('b'), silent('c'), node('d', { spec: { providerID: 'd' } })])
      await cluster.request('POST', '/api/v1/nodes', one)
    vms.set('c', { isStopped: false })
    const marks = () => cluster.all('nodes').map(({ metadata, spec }) => [metadata.name, spec.taints?.[0]?.key])
    await until('one is gone, and one marked', () => cluster.names('nodes').length === 3 && marks()[0]?.[1])
    expect(marks()[0]).toEqual(['b', 'node.cloudprovider.kubernetes.io/shutdown'])
    expect(cluster.names('nodes')).toEqual(['b', 'c', 'd'])
    stop()
  }))

describe('a PodDisruptionBudget', () => {
  test('allows as many evictions as pods are to spare, and the next when they are replaced', () =>
    played(async ({ cluster, until, running }) => {
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await cluster.apply(deployment({ replicas: 3, cpu: '100m' }), budget('inflate', { maxUnavailable: 1 }))
      const allowed = () => cluster.object('poddisruptionbudgets', 'inflate', 'default')?.status['disruptionsAllowed']
      await until('one may go', () => running() === 3 && allowed() === 1)
      const [first, second] = cluster.all('pods')
      const evict = (pod: FakeObject | undefined) =>
        cluster.respond('POST', `/api/v1/namespaces/default/pods/${pod?.metadata.name}/eviction`, {})
      expect((await evict(first)).status).toBe(201)
      expect((await evict(second)).status).toBe(429)
      await until('it is replaced', () => running() === 3 && allowed() === 1)
      expect((await evict(second)).status).toBe(201)
    }))
})

test('a world is the same twice', async () => {
  const seen: unknown[] = []
  for (let at = 0; at < 2; at++)
    await played(async ({ cluster, until, running }) => {
      for (const name of ['a', 'b', 'c']) await cluster.request('POST', '/api/v1/nodes', node(name))
      await cluster.apply(
        deployment({ replicas: 9, cpu: '1' }),
        workload('DaemonSet', 'daemon'),
        budget('inflate', { minAvailable: '50%' }),
      )
      await until('all run', () => running() === 12)
      await scaled(cluster, 2)
      await until('the rest is gone', () => cluster.names('pods').length === 5)
      seen.push([...cluster.snapshot()])
    })
  expect(seen[1]).toEqual(seen[0])
})
