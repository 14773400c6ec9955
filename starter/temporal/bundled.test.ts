import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { raiseRetention, volumeProblem } from './bundled.ts'

/** The retention that a namespace has after Joiner has looked at it, in hours. */
async function retainedHours(hours: number): Promise<number> {
  let seconds = hours * 3600
  const workflowService = {
    describeNamespace: async () => ({ config: { workflowExecutionRetentionTtl: { seconds } } }),
    updateNamespace: async (asked: { config: { workflowExecutionRetentionTtl: { seconds: number } } }) => {
      seconds = asked.config.workflowExecutionRetentionTtl.seconds
    },
  }
  const isRaised = await raiseRetention({ workflowService } as never, 'default')
  expect(isRaised).toBe(seconds !== hours * 3600)
  return seconds / 3600
}

test.each([
  ['that the server gave is raised to a week', 24, 168],
  ['of somebody who wants less stays', 12, 12],
  ['of somebody who wants more stays', 720, 720],
])('a retention %s', async (_, before, after) => {
  expect(await retainedHours(before)).toBe(after)
})

const now = Date.parse('2026-11-29T12:00:00Z')
const minutesAgo = (minutes: number) => new Date(now - minutes * 60_000).toISOString()
const noZone = '0/3 nodes are available: 3 node(s) had volume node affinity conflict.'

/** What is found where the pod has these conditions, each since some minutes. */
async function found(
  conditions: readonly (readonly [type: string, status: string, minutes: number, message?: string])[],
  volumes: readonly object[] = [{ name: 'data', persistentVolumeClaim: { claimName: 'data-joiner-temporal-0' } }],
) {
  const cluster = new FakeCluster()
  cluster.put('pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'joiner-temporal-0', namespace: 'joiner' },
    spec: { nodeName: 'system-1', volumes },
    status: {
      conditions: conditions.map(([type, status, minutes, message]) => ({
        type,
        status,
        lastTransitionTime: minutesAgo(minutes),
        ...(message !== undefined && { message }),
      })),
    },
  })
  return volumeProblem({ client: cluster.client, namespace: 'joiner', now })
}

describe('a volume that does not come', () => {
  test.each([
    ['is in another zone than the nodes', [['PodScheduled', 'False', 6, noZone]], `for 6 min: ${noZone}`],
    [
      'cannot be mounted where the pod is',
      [
        ['PodScheduled', 'True', 5],
        ['PodReadyToStartContainers', 'False', 5],
      ],
      'for 5 min: Node system-1 could not mount it',
    ],
  ] as const)('is named with its remedy after five minutes: it %s', async (_, conditions, words) => {
    const problem = await found(conditions)
    expect(problem?.what).toContain(words)
    expect(problem?.remedies).toEqual([
      'delete the volume, no node is lost: kubectl delete pvc data-joiner-temporal-0 --namespace joiner --wait=false && kubectl delete pod joiner-temporal-0 --namespace joiner',
    ])
  })

  test.each([
    ['it may still come', [['PodScheduled', 'False', 4, noZone]]],
    ['the nodes are full', [['PodScheduled', 'False', 60, '0/3 nodes are available: 3 Insufficient cpu.']]],
    [
      'it is mounted',
      [
        ['PodScheduled', 'True', 60],
        ['PodReadyToStartContainers', 'True', 59],
      ],
    ],
    ['nothing is known', []],
  ] as const)('is not blamed where %s', async (_, conditions) => {
    expect(await found(conditions)).toBeUndefined()
  })

  test('is not blamed where there is none', async () => {
    expect(await found([['PodScheduled', 'False', 60, noZone]], [{ name: 'data', emptyDir: {} }])).toBeUndefined()
    const nothing = new FakeCluster()
    expect(await volumeProblem({ client: nothing.client, namespace: 'joiner', now })).toBeUndefined()
  })

  test('is said not to be known where the pod cannot be read', async () => {
    const client = { get: () => Promise.reject(new Error('HTTP 403')) }
    const problem = await volumeProblem({ client, namespace: 'joiner', now })
    expect(problem?.what).toBe('whether pod joiner-temporal-0 waits for its volume could not be read: HTTP 403')
  })
})
