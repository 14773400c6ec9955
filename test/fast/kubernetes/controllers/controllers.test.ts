import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { sampleTime } from '../../../../core/sample-objects.ts'
import { deployment } from '../../../applied-objects.ts'
import { FakeCluster } from '../../../fakes/cluster.ts'
import type { FakeObject } from '../../../fakes/patches.ts'
import { passUntil } from '../../virtual-clock.ts'
import { VirtualTime } from '../../virtual-time.ts'
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
    until: (what, holds, atMostMs) => passUntil(time.clock, what, holds, atMostMs),
    pods,
    running: () => pods().filter(({ status }) => status['phase'] === 'Running').length,
  })
  controllers.stop()
}

const unschedulable = ({ status }: FakeObject) =>
  status.conditions.find(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')?.message

describe('a Deployment', () => {
  test('has pods that run where there is room, and others that say why they wait', () =>
    played(async ({ cluster, until, pods, running }) => {
      await cluster.apply(deployment({ replicas: 3, cpu: '2' }))
      await until(
        'no node',
        () =>
          pods().length === 3 && pods().every((pod) => unschedulable(pod) === 'no nodes available to schedule pods'),
      )
      await cluster.request('POST', '/api/v1/nodes', node('a'))
      await until('two run', () => running() === 2)
      const [waiting] = pods().filter(({ spec }) => spec['nodeName'] === undefined)
      expect(waiting && unschedulable(waiting)).toBe(
        '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
      )
      await cluster.request('POST', '/api/v1/nodes', node('b'))
      await until('all run', () => running() === 3)
      await cluster.request('PATCH', '/apis/apps/v1/namespaces/default/deployments/inflate/scale', {
        spec: { replicas: 1 },
      })
      await until('one is left', () => pods().length === 1)
    }))
})
