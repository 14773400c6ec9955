import type { Operator } from '../deploy/local/operator.ts'
import { scale } from './nodes/scale.ts'
import { systemModeLabel, type Timeline } from './nodes/timeline.ts'

const parallelRequests = 20

interface World {
  readonly operator: Operator
}

/**
 * Kubernetes' own part of a scale-up: the same pods onto nodes that kwok already keeps, without Joiner.
 * Returns the time from the scale request to the last pod Running. Leaves neither pods nor nodes.
 */
export async function baseline(world: World, timeline: Timeline, pods: number, limitMs: number): Promise<number> {
  const names = Array.from({ length: pods }, (_, index) => `baseline-${index}`)
  await inParallel(names, (name) => world.operator.api('POST', '/api/v1/nodes', fakeNode(name)))
  await timeline.until(
    'the nodes of the baseline are usable',
    () => timeline.now('nodes', 'nodeUsable') === pods,
    limitMs,
  )
  const startMs = await scale(world, pods)
  await timeline.until('the pods of the baseline run', () => timeline.now('pods', 'podRunning') === pods, limitMs)
  const tookMs = (timeline.last('podRunning') ?? 0) - startMs
  await scale(world, 0)
  await timeline.until('the pods of the baseline are gone', () => timeline.present('pods') === 0, limitMs)
  await inParallel(names, (name) => world.operator.api('DELETE', `/api/v1/nodes/${name}`))
  await timeline.until('the nodes of the baseline are gone', () => timeline.present('nodes') === 0, limitMs)
  timeline.reset()
  return tookMs
}

/**
 * Makes a Node of the system's, which no pod of the benchmark tolerates. Where there is none at all the scheduler takes a pod that found no room for one
 * that met an error, and lets it wait for up to 2 s whatever changes; no cluster of AKS is like that.
 */
export async function systemNode({ operator }: World): Promise<void> {
  const { metadata, ...node } = fakeNode('system')
  const taints = [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }]
  const labels = { ...metadata.labels, [systemModeLabel]: 'system' }
  await operator.api('POST', '/api/v1/nodes', { ...node, metadata: { ...metadata, labels }, spec: { taints } })
}

function fakeNode(name: string) {
  const amounts = { cpu: '2', memory: '8Gi', pods: '110' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
    },
    status: { capacity: amounts, allocatable: amounts },
  }
}

async function inParallel(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  const queue = [...names]
  const worker = async () => {
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) await work(name)
  }
  await Promise.all(Array.from({ length: parallelRequests }, worker))
}
