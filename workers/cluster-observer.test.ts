import { pino } from 'pino'
import { register } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { ClusterCache } from '../activities/kubernetes/cache/cluster-cache.ts'
import type { Config } from '../api/config.ts'
import { observeCluster } from './cluster-observer.ts'
import { startHealthServer } from './telemetry/health-server.ts'
import { metricsText } from './telemetry/metrics-text.ts'

const log = pino({ level: 'silent' })
const pod = {
  kind: 'Pod',
  metadata: {
    name: 'web-0',
    namespace: 'default',
    uid: 'uid',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: {},
  status: { phase: 'Pending' },
}

afterEach(() => register.clear())

/** What is told of a cluster with one pod by a process with these roles. */
function reported(config: Partial<Config>, isReported: () => boolean) {
  const cache = new ClusterCache({} as never, log)
  const settings = { DISABLE_CLUSTER_STATE_OBSERVABILITY: false, ...config } as Config
  const observer = observeCluster(
    { cache, registry: register, now: () => Date.parse('2026-01-01T00:01:00Z') } as never,
    settings,
    {
      isReported,
    },
  )
  cache.upsert('Pod', pod)
  return observer
}

const names = (observer: ReturnType<typeof reported>) => observer.families().map(({ name }) => name)

test('only the process that bridges reports the cluster, from the moment on when it does', () => {
  let isLeader = false
  const observer = reported({ JOINER_ROLES: ['bridge'] }, () => isLeader)
  expect(names(observer)).toEqual([])
  isLeader = true
  expect(names(observer)).toContain('karpenter_pods_state')
  const [waiting] = observer.families().filter(({ name }) => name === 'karpenter_pods_unbound_time_seconds')
  expect([...(waiting?.samples() ?? [])]).toEqual([
    ['{name="web-0",namespace="default",dynamic_resources="false"}', 60],
  ])
})

test.each([
  ['a process that never bridges', { JOINER_ROLES: ['planner'] }],
  ['one that is told not to', { JOINER_ROLES: ['bridge'], DISABLE_CLUSTER_STATE_OBSERVABILITY: true }],
] as const)('%s says nothing of nodes and pods', (_, config) => {
  expect(names(reported(config as never, () => true))).toEqual([])
})

test('/metrics is whole, compressed or not, also while Temporal’s library does not answer', async () => {
  const observer = reported({ JOINER_ROLES: ['bridge'] }, () => true)
  const temporal = async () => {
    throw new Error('connection refused')
  }
  const server = await startHealthServer(0, {
    notReady: () => [],
    metrics: () => metricsText({ gauges: [observer.families], temporal, log }),
  })
  const url = `${server.address.replace('0.0.0.0', '127.0.0.1')}/metrics`
  const read = async (encoding: string) => {
    const answer = await fetch(url, { headers: { 'accept-encoding': encoding } })
    return { encoding: answer.headers.get('content-encoding'), text: await answer.text() }
  }
  const [plain, compressed] = [await read('identity'), await read('gzip')]
  await server.close()
  expect([plain.encoding, compressed.encoding]).toEqual([null, 'gzip'])
  expect(compressed.text).toBe(plain.text)
  expect(plain.text).toContain('karpenter_pods_state{name="web-0",')
})
