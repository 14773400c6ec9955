import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { batchWindow, nextWork, type WaitingPodsDeps } from './waiting-pods.ts'

const startMs = Date.parse('2026-01-01T00:00:10.400Z')

beforeEach(() => void vi.useFakeTimers({ now: startMs }))
afterEach(() => void vi.useRealTimers())

/** A cluster with a pod that was made then and waits, on a node that leaves or on none. */
function clusterOf({ madeAt, onLeavingNode = false }: { readonly madeAt: string; readonly onLeavingNode?: boolean }) {
  const cache = new ClusterCache({} as never, pino({ level: 'silent' }), {
    nodeRules: { interruptions: [], repairs: [] },
  })
  const pod = (name: string, creationTimestamp: string, nodeName?: string) =>
    cache.upsert('Pod', {
      metadata: { name, namespace: 'default', uid: name, resourceVersion: '1', creationTimestamp, labels: {} },
      spec: { containers: [], ...(nodeName && { nodeName }) },
      status: { conditions: nodeName ? [] : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    })
  pod('first', madeAt)
  if (onLeavingNode) {
    const metadata = { name: 'leaving', uid: 'leaving', resourceVersion: '1', creationTimestamp: madeAt, labels: {} }
    const deletionTimestamp = '2026-01-01T00:00:10Z'
    cache.upsert('Node', { metadata: { ...metadata, deletionTimestamp }, spec: {}, status: { conditions: [] } })
    pod('moving', madeAt, 'leaving')
  }
  return { pod, deps: { cache, now: () => Date.now(), batchIdleMs: 1000, batchMaxMs: 10_000 } as WaitingPodsDeps }
}

/** How long a window is open, in milliseconds. */
async function lasts(deps: WaitingPodsDeps, isFirst: boolean): Promise<number> {
  const window = batchWindow(deps, { signal: new AbortController().signal, isFirst }).then(() => Date.now() - startMs)
  await vi.advanceTimersByTimeAsync(20_000)
  return window
}

test.each([
  ['for the idle time', { madeAt: '2026-01-01T00:00:10Z' }, false, 1000],
  ['no longer for a pod that a new planner finds and that has waited', { madeAt: '2026-01-01T00:00:08Z' }, true, 0],
  [
    'for the rest for one that may be younger, since times have whole seconds',
    { madeAt: '2026-01-01T00:00:09Z' },
    true,
    600,
  ],
  ['as long as ever once the planner works', { madeAt: '2026-01-01T00:00:08Z' }, false, 1000],
  ['as long as ever where a node leaves', { madeAt: '2026-01-01T00:00:01Z', onLeavingNode: true }, true, 1000],
])('a batch is open %s', async (_, cluster, isFirst, ms) => {
  expect(await lasts(clusterOf(cluster).deps, isFirst)).toBe(ms)
})

test('a pod that comes while a new planner waits keeps its batch open', async () => {
  const { deps, pod } = clusterOf({ madeAt: '2026-01-01T00:00:09Z' })
  setTimeout(() => pod('second', '2026-01-01T00:00:10Z'), 500)
  expect(await lasts(deps, true)).toBe(1500)
})

test('more pods without a place than a function takes arguments are tried again all the same', async () => {
  const { deps: known } = clusterOf({ madeAt: '2026-01-01T00:00:08Z' })
  const no = () => false
  const nothing = () => {}
  const deps = {
    ...known,
    quarantine: { refresh: async () => {}, report: nothing, holds: no },
    metrics: { waiting: nothing },
    nodeRefusals: { look: nothing, isWaiting: no },
    refusedClaims: { isWaiting: no },
    heavyPods: { isWaiting: no },
    nominations: { targetOf: nothing },
    buffers: { dueAt: Number.POSITIVE_INFINITY, isDue: no },
    unavailable: { onCleared: () => nothing },
  } as unknown as WaitingPodsDeps
  const others = Array.from({ length: 150_000 }, (_, at) => [`pod-${at}`, startMs + 8000] as const)
  const tried = new Map<string, number>([['first', startMs + 5000], ...others])
  const work = nextWork(deps, tried, new AbortController().signal).then((what) => [what, Date.now() - startMs])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await work).toEqual(['pods', 5000])
})
