import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { poolJson } from '../../test/fakes/objects.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Json, ListResult } from '../kubernetes/client/answers.ts'
import { trackPodEvents } from './pod-events.ts'

const log = pino({ level: 'silent' })
const start = Date.UTC(2026, 0, 1)
const time = (seconds: number) => `${new Date(start + seconds * 1000).toISOString().slice(0, 19)}Z`

let now: number
let version = 0
let cache: ClusterCache
let lists: Record<string, Json[]>
let written: string[]
let end: () => void
let isInitialized: boolean
/** Conditions beside Initialized, as they were read and as they were written last. */
let others: readonly string[]
let kept: readonly string[]

beforeEach(() => {
  now = start + 1000_000
  written = []
  isInitialized = true
  others = []
  lists = {
    nodes: [object('n1', { spec: { providerID: 'azure:///n1' } }, { labels: { 'karpenter.sh/nodepool': 'default' } })],
    nodeclaims: [claim()],
    pods: [],
  }
  const listOf = (path: string): ListResult => ({
    items: lists[path.split('/').at(-1) ?? ''] ?? [],
    resourceVersion: String(version + 1),
  })
  const client = {
    list: (path: string) => Promise.resolve(listOf(path)),
    async *listPages(path: string) {
      yield listOf(path)
    },
    inTurn: (_: string, section: () => Promise<unknown>) => section(),
    patchStatus: (_: string, { status }: { readonly status: Written }): Promise<Json> => {
      written.push(status.lastPodEventTime)
      kept = status.conditions.map(({ type }) => type).filter((type) => type === 'Consolidatable' || type === 'Drifted')
      return Promise.resolve(claim(status.lastPodEventTime))
    },
  }
  cache = new ClusterCache(client as never, log)
  const events = { recordTransitions: () => {} } as never
  end = trackPodEvents({ cache, client: client as never, events, log, now: () => now })
})

afterEach(() => end())

function object(name: string, rest: object = {}, metadata: object = {}): Json {
  version += 1
  return {
    metadata: { name, uid: name, resourceVersion: String(version), creationTimestamp: time(0), ...metadata },
    ...rest,
  }
}

interface Written {
  readonly lastPodEventTime: string
  readonly conditions: readonly { readonly type: string }[]
}

function claim(lastPodEventTime?: string): Json {
  const conditions = [
    { type: 'Initialized', status: isInitialized ? 'True' : 'Unknown', lastTransitionTime: time(0) },
    ...others.map((type) => ({ type, status: 'True', lastTransitionTime: time(0) })),
  ]
  const status = {
    providerID: 'AZURE:///n1',
    conditions,
    ...(lastPodEventTime === undefined ? {} : { lastPodEventTime }),
  }
  return object(
    'c1',
    {
      spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'd' } },
      status,
    },
    { labels: { 'karpenter.sh/nodepool': 'default' } },
  )
}

interface PodChange {
  readonly bound?: number
  readonly phase?: string
  readonly ready?: number
  readonly metadata?: object
}

function pod({ bound, phase = 'Running', ready, metadata = {} }: PodChange = {}): Json {
  const condition = (type: string, status: string, at: number) => ({ type, status, lastTransitionTime: time(at) })
  const conditions = [
    ...(bound === undefined ? [] : [condition('PodScheduled', 'True', bound)]),
    ...(ready === undefined ? [] : [condition('Ready', phase === 'Running' ? 'True' : 'False', ready)]),
  ]
  return object(
    'p',
    { spec: { ...(bound === undefined ? {} : { nodeName: 'n1' }), containers: [] }, status: { phase, conditions } },
    { namespace: 'default', ...metadata },
  )
}

const daemon = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }] }
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Lists everything, as a process does at its start. */
async function begin(): Promise<void> {
  await cache.catchUp(cache.unsynced)
  await settled()
}

async function see(json: Json): Promise<void> {
  cache.upsert('Pod', json)
  await settled()
}

describe('after the start', () => {
  beforeEach(begin)

  it('a pod that is bound, ends and is deleted is recorded each time', async () => {
    await see(pod({ phase: 'Pending' }))
    expect(written).toEqual([])
    await see(pod({ bound: 1000 }))
    now += 20_000
    await see(pod({ bound: 1000, ready: 1010 }))
    expect(written).toEqual([time(1000)])
    await see(pod({ bound: 1000, phase: 'Succeeded', ready: 1020 }))
    now += 20_000
    await see(pod({ bound: 1000, phase: 'Succeeded', ready: 1020, metadata: { deletionTimestamp: time(1040) } }))
    expect(written).toEqual([time(1000), time(1020), time(1040)])
  })

  it('nothing is recorded of a node that is not initialized: consolidateAfter counts from that anyway', async () => {
    isInitialized = false
    cache.upsert('NodeClaim', claim())
    await see(pod({ phase: 'Pending' }))
    await see(pod({ bound: 1000 }))
    expect(written).toEqual([])
  })

  it('several events within ten seconds are one', async () => {
    await see(pod({ phase: 'Pending' }))
    await see(pod({ bound: 1000 }))
    now += 9999
    await see(pod({ bound: 1000, metadata: { deletionTimestamp: time(1010) } }))
    expect(written).toEqual([time(1000)])
  })

  it('a pod that is gone without an end is recorded', async () => {
    await see(pod({ bound: 900 }))
    now += 60_000
    lists['pods'] = []
    version += 1
    await cache.catchUp(['Pod'])
    await settled()
    expect(written).toEqual([time(900), time(1060)])
  })

  it('a pod that is bound when first seen counts from its binding', async () => {
    await see(pod({ bound: 950 }))
    expect(written).toEqual([time(950)])
  })

  it('daemons do not count, nor pods elsewhere', async () => {
    await see(pod({ phase: 'Pending', metadata: daemon }))
    await see(pod({ bound: 1000, metadata: daemon }))
    expect(written).toEqual([])
  })

  it.each([
    ['takes Consolidatable back in the same write', '30s', ['Drifted']],
    ['leaves it where consolidation waits for nothing', '0s', ['Consolidatable', 'Drifted']],
  ])('an event %s', async (_, consolidateAfter, left) => {
    others = ['Consolidatable', 'Drifted']
    const metadata = { uid: 'default', resourceVersion: '1', creationTimestamp: time(0) }
    cache.upsert('NodePool', poolJson('default', { metadata, spec: { disruption: { consolidateAfter } } }))
    cache.upsert('NodeClaim', claim())
    await see(pod({ phase: 'Pending' }))
    await see(pod({ bound: 1000 }))
    expect(written).toEqual([time(1000)])
    expect(kept.toSorted()).toEqual(left)
  })

  it('nothing is recorded after the end', async () => {
    end()
    await see(pod({ bound: 1000 }))
    expect(written).toEqual([])
  })
})

describe('at the start', () => {
  it.each<[string, string | undefined, Json | undefined, readonly string[]]>([
    ['what is known already is no event', time(100), pod({ bound: 100, ready: 500 }), []],
    ['nor is what happened within the same ten seconds', time(100), pod({ bound: 109 }), []],
    ['a pod that was bound meanwhile is one, at its own time', time(100), pod({ bound: 700, ready: 710 }), [time(700)]],
    ['so is one that ended meanwhile', time(100), pod({ bound: 100, phase: 'Failed', ready: 800 }), [time(800)]],
    [
      'so is one whose end began meanwhile',
      time(100),
      pod({ bound: 100, metadata: { deletionTimestamp: time(930), deletionGracePeriodSeconds: 30 } }),
      [time(900)],
    ],
    ['so is one on a node without any', undefined, pod({ bound: 10 }), [time(10)]],
    ['a clock that is ahead is not believed', time(100), pod({ bound: 5000 }), [time(1000)]],
    ['a daemon is none', time(100), pod({ bound: 700, metadata: daemon }), []],
    ['a node without pods has none', undefined, undefined, []],
  ])('%s', async (_, last, seen, expected) => {
    lists['nodeclaims'] = [claim(last)]
    lists['pods'] = seen === undefined ? [] : [seen]
    await begin()
    expect(written).toEqual(expected)
  })
})
