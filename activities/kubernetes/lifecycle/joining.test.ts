import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { transitions } from '../../../core/events.ts'
import type { Condition } from '../../../core/objects.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { condition, nodeJson, claimJson as sampleClaim } from '../../../test/fakes/objects.ts'
import { ClusterCache } from '../cache/cluster-cache.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { awaitRegistration } from './joining.ts'

const providerID = 'azure:///subscriptions/s/virtualMachines/aks-a'
const start = Date.UTC(2026, 0, 1)
const ref = { name: 'a', uid: 'a' }

function claimJson(conditions: readonly Json[], spec: Json = {}): Json {
  return {
    metadata: { name: 'a', uid: 'a', resourceVersion: '1', creationTimestamp: new Date(start).toISOString() },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [],
      ...spec,
    },
    status: { providerID, conditions },
  }
}

const at = (type: string, status: string, reason = type) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: new Date(start).toISOString(),
})

/** An API server that holds one NodeClaim, with a cache that knows these Nodes with its VM's provider id. */
function clusterWith(nodes: readonly string[], spec: Json = {}) {
  const clock = { now: start, isWrong: false }
  let claim = claimJson([at('Launched', 'True')], spec)
  const log = pino({ level: 'silent' })
  const cache = new ClusterCache({} as never, log)
  const write = async (path: string, { status }: Json): Promise<Json> => {
    if (!path.endsWith('/a')) throw new ApiError(404, 'NotFound', path)
    const { metadata } = claim as { metadata: Json }
    const resourceVersion = String(Number(metadata['resourceVersion']) + 1)
    claim = {
      ...claim,
      metadata: { ...metadata, resourceVersion },
      status: { ...(claim['status'] as Json), ...(status as Json) },
    }
    cache.upsert('NodeClaim', claim)
    return claim
  }
  const client = { get: async () => claim, mergePatch: write, patchStatus: write }
  cache.upsert('NodeClaim', claim)
  for (const name of nodes) {
    const labels = { 'karpenter.sh/capacity-type': 'spot' }
    cache.upsert('Node', { metadata: { name, uid: name, resourceVersion: '1', labels }, spec: { providerID } })
  }
  const events = { record: () => {}, recordTransitions: () => {} }
  const deps = {
    client,
    cache,
    log,
    events,
    now: () => clock.now,
    serverTime: { isOwnWrong: () => clock.isWrong },
  } as never
  const end = new AbortController()
  return {
    clock,
    cache,
    end,
    outcome: (limitMs?: number) => awaitRegistration(deps, { ...ref, limitMs }, end.signal),
    /** Sets Launched in the API server only. */
    launchedLater: () => {
      const lastTransitionTime = new Date(start + 60_000).toISOString()
      claim = { ...claim, status: { providerID, conditions: [{ ...at('Launched', 'True'), lastTransitionTime }] } }
    },
    registered: () => cache.nodeClaims.get('a')?.status.conditions.find(({ type }) => type === 'Registered'),
    deleteClaim: () =>
      write('/a', {}).then(() => {
        const { metadata } = claim as { metadata: Json }
        claim = {
          ...claim,
          metadata: { ...metadata, resourceVersion: '99', deletionTimestamp: new Date(start).toISOString() },
        }
        cache.upsert('NodeClaim', claim)
      }),
  }
}

/** Long enough for whatever does not wait for time. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 50))

test('a claim whose launch the cache does not know is not given up before its time', async () => {
  const cluster = clusterWith([])
  cluster.launchedLater()
  cluster.clock.now = start + 15 * 60_000 - 100
  expect(await cluster.outcome()).toEqual({ kind: 'observeAgain' })
})

test('a Node with the provider id of the VM and another name is not registered; the end of the wait names it', async () => {
  const cluster = clusterWith(['rogue'])
  cluster.clock.now = start + 15 * 60_000 - 100
  expect(await cluster.outcome()).toMatchObject({ kind: 'timeout', message: expect.stringContaining('by Node rogue') })
  expect(cluster.registered()).toBeUndefined()
})

describe('long after the registration limit', () => {
  const late = start + 60 * 60_000

  test('a claim without a Node is given up', async () => {
    const cluster = clusterWith([])
    cluster.clock.now = late
    expect(await cluster.outcome()).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('did not join within 15 minutes;') as string,
    })
  })

  test('the message names the limit that the workflow passed', async () => {
    const cluster = clusterWith([])
    cluster.clock.now = start + 90_000
    expect(await cluster.outcome(90_000)).toMatchObject({
      message: expect.stringContaining('did not join within 90 seconds;') as string,
    })
  })
})

test('a claim that is deleted while its Node is awaited is released at once', async () => {
  const cluster = clusterWith([])
  const outcome = cluster.outcome()
  await settle()
  await cluster.deleteClaim()
  expect(await outcome).toEqual({ kind: 'claimGone' })
})

test.each([
  [false, 'observeAgain'],
  [true, 'claimGone'],
])('the wait for a Node ends with the expiry of its claim, unless the clock is wrong: %s', async (isWrong, kind) => {
  const cluster = clusterWith([], { expireAfter: '1m' })
  Object.assign(cluster.clock, { now: start + 120_000, isWrong })
  const outcome = cluster.outcome()
  await settle()
  await cluster.deleteClaim()
  expect(await outcome).toEqual({ kind })
})

describe('a Node that joins', () => {
  const startupTaint = { key: 'example.com/starting', effect: 'NoSchedule' }

  /** Returns what is requested and what becomes of claim and Node when a Node with these fields joins. */
  async function joined(node: Json, claim: Json = {}) {
    const cluster = new FakeCluster()
    const conditions = [
      condition('Launched'),
      condition('Registered', 'Unknown'),
      condition('Initialized', 'Unknown'),
      condition('Ready', 'Unknown'),
    ].map((each) => Object.assign(each, { observedGeneration: 1 }))
    const launched = { nodeName: undefined, conditions }
    cluster.put('nodeclaims', sampleClaim('a', { metadata: { generation: 1 }, spec: claim, status: launched }))
    const own = {
      labels: { 'karpenter.sh/capacity-type': 'on-demand' },
      finalizers: undefined,
      ownerReferences: undefined,
    }
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }
    cluster.put('nodes', nodeJson('a', { metadata: own, spec: { taints: [unregistered] }, ...node }))
    const events: string[] = []
    const deps = {
      client: cluster.client,
      cache: cluster.cacheOf(),
      log: pino({ level: 'silent' }),
      now: () => start,
      events: {
        record() {},
        recordTransitions: (_: unknown, before: readonly Condition[], after: readonly Condition[]) =>
          void events.push(...transitions('NodeClaim', before, after).map(({ reason }) => reason)),
      },
      lifecycleMetrics: { nodeCreated() {} },
      serverTime: { isOwnWrong: () => false },
    } as never
    const outcome = await awaitRegistration(deps, { name: 'a', uid: 'uid-a' }, new AbortController().signal)
    const { status } = cluster.object('nodeclaims', 'a') ?? {}
    const { metadata, spec } = cluster.object('nodes', 'aks-a') ?? {}
    return {
      outcome,
      events,
      writes: cluster.attempts.map((attempt) => attempt.split('/').at(-1) ?? attempt),
      isTrue: (status?.conditions ?? []).filter((each) => each.status === 'True').map(({ type }) => type),
      marks: ['registered', 'initialized'].filter((mark) => metadata?.labels[`karpenter.sh/${mark}`] === 'true'),
      taints: spec?.taints.map(({ key }) => key),
    }
  }

  test('ready is registered and initialized by one write of the Node and one of the claim, reported in three events', async () => {
    expect(await joined({})).toEqual({
      outcome: { kind: 'registered', nodeName: 'aks-a', registeredMs: Date.UTC(2026, 0, 1) },
      events: ['Registered', 'Initialized', 'Ready'],
      writes: ['aks-a', 'status'],
      isTrue: ['Launched', 'Registered', 'Initialized', 'ConsistentStateFound', 'Ready'],
      marks: ['registered', 'initialized'],
      taints: [],
    })
  })

  test.each<[string, Json, Json, readonly string[]]>([
    ['not ready', { status: { conditions: [condition('Ready', 'False')] } }, {}, []],
    ['ready, but with startup taints to come', {}, { startupTaints: [startupTaint] }, [startupTaint.key]],
    [
      'ready, without a resource that the claim requests',
      {},
      { resources: { requests: { 'nvidia.com/gpu': '1' } } },
      [],
    ],
  ])('%s is registered at once and initialized later', async (_, node, claim, taints) => {
    expect(await joined(node, claim)).toMatchObject({
      outcome: { kind: 'registered', nodeName: 'aks-a', registeredMs: Date.UTC(2026, 0, 1) },
      events: ['Registered'],
      isTrue: ['Launched', 'Registered'],
      marks: ['registered'],
      taints,
    })
  })
})
