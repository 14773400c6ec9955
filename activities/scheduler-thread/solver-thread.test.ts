import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { neverFirst } from '../../core/disruption/methods/context.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import { inProcessSolver } from '../../test/fast/in-process-solver.ts'
import { sampleType } from '../../test/samples/sample-objects.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import type { ToSolver } from './messages.ts'
import { type EvaluationThreadRequest, SolverThread, type ThreadRequest } from './solver-thread.ts'
import { type StartThread, workerThread } from './supervised-thread.ts'

const created = '2026-01-01T00:00:00Z'
const log = pino({ level: 'silent' })
const instanceTypes = new Map([['default', [sampleType('small', 2), sampleType('large', 16)]]])
const request: ThreadRequest = {
  now: Date.parse(created),
  instanceTypes,
  options: {},
  defaultSpread: [],
  timeLimitMs: 60_000,
  leftOut: new Set(),
  apart: new Map(),
}

let versions = 0
const metadata = (name: string, more: Json = {}): Json => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: String(++versions),
  creationTimestamp: created,
  ...more,
})

const pod = (name: string, cpu = '1'): Json => ({
  metadata: metadata(name, { namespace: 'default' }),
  spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
  status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
})

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const pool: Json = {
  metadata: metadata('default'),
  spec: {
    template: {
      spec: {
        nodeClassRef,
        requirements: [],
      },
    },
  },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
}

const threads: SolverThread[] = []
afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.stop()))
})

/** Nothing is watched: the tests fill the cache. */
function newCache(): ClusterCache {
  const cache = new ClusterCache({} as never, log)
  cache.upsert('NodePool', pool)
  return cache
}

function solverOf(cache: ClusterCache, startThread: StartThread): SolverThread {
  const thread = new SolverThread(cache, log, { start: startThread })
  threads.push(thread)
  return thread
}

const planned = async (thread: SolverThread, change: Partial<ThreadRequest> = {}) => {
  const { newNodeClaims, unschedulable, stopped } = await thread.plan({ ...request, ...change })
  return {
    claims: newNodeClaims.map(({ instanceTypes: types, pods }) => [types, pods.map((one) => one.metadata.name)]),
    failed: unschedulable.map(({ pod: { metadata: own } }) => own.name),
    stopped,
  }
}

const labels = {
  'karpenter.sh/nodepool': 'default',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/initialized': 'true',
  'karpenter.sh/capacity-type': 'on-demand',
  'topology.kubernetes.io/zone': 'z1',
  'node.kubernetes.io/instance-type': 'small',
}
const isTrue = (type: string): Json => ({ type, status: 'True', lastTransitionTime: created })

/** A node with its claim, ready and left alone for long enough. */
function addNode(cache: ClusterCache, name: string): void {
  const amounts = { cpu: '2', memory: '8Gi', pods: '110' }
  cache.upsert('NodeClaim', {
    metadata: metadata(`${name}-claim`, { labels }),
    spec: { requirements: [], nodeClassRef, resources: {} },
    status: {
      providerID: `azure:///${name}`,
      capacity: amounts,
      allocatable: amounts,
      conditions: ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map(isTrue),
    },
  })
  cache.upsert('Node', {
    metadata: metadata(name, { labels: { ...labels, 'kubernetes.io/hostname': name } }),
    spec: { providerID: `azure:///${name}` },
    status: { capacity: amounts, allocatable: amounts, conditions: [isTrue('Ready')] },
  })
}

const evaluation: EvaluationThreadRequest = {
  now: Date.parse(created) + 3_600_000,
  instanceTypes,
  options: {},
  defaultSpread: [],
  nominated: new Set(),
  pauses: [],
  staticCapacity: false,
  spotToSpot: false,
  terminateFirst: neverFirst,
}

/** Ways to start the thread: of Node, and the one of simulated processes, which must be no different. */
const starts = [
  ['of Node', workerThread()],
  ['in process', inProcessSolver],
] as const

describe.each(starts)('the thread %s', (_, startThread) => {
  const start = () => {
    const cache = newCache()
    return { cache, thread: solverOf(cache, startThread) }
  }

  it('plans with what the cache knew before it was started, and with each change since', async () => {
    const { cache, thread } = start()
    cache.upsert('Pod', pod('early'))
    expect(await planned(thread)).toEqual({
      claims: [[['small', 'large'], ['early']]],
      failed: [],
      stopped: false,
    })
    cache.upsert('Pod', pod('late', '8'))
    cache.upsert('Pod', pod('huge', '64'))
    const { claims, failed } = await planned(thread)
    expect(claims).toEqual([[['large'], ['late', 'early']]])
    expect(failed).toEqual(['huge'])
  })

  it('answers plans that are asked for at once, each with its own types', async () => {
    const { cache, thread } = start()
    cache.upsert('Pod', pod('only'))
    const [both, large] = await Promise.all([
      planned(thread),
      planned(thread, { instanceTypes: new Map([['default', [sampleType('large', 16)]]]) }),
    ])
    expect([both.claims, large.claims]).toEqual([[[['small', 'large'], ['only']]], [[['large'], ['only']]]])
    expect((await planned(thread, { instanceTypes: new Map() })).failed).toEqual(['only'])
  })

  it('ends a pass in time, with nothing for the pods that it did not reach', async () => {
    const { cache, thread } = start()
    cache.upsert('Pod', pod('only'))
    expect(await planned(thread, { timeLimitMs: -1 })).toEqual({ claims: [], failed: [], stopped: true })
  })

  it('leaves out pods that are deleted while it plans, before they were bound', async () => {
    const { cache, thread } = start()
    cache.upsert('Pod', pod('late'))
    const plan = planned(thread)
    cache.upsert('Pod', {
      ...pod('late'),
      metadata: metadata('late', { namespace: 'default', deletionTimestamp: created }),
    })
    expect((await plan).claims).toEqual([])
  })

  it('starts again after its thread has ended, with the whole cluster', async () => {
    const { cache, thread } = start()
    cache.upsert('Pod', pod('only'))
    await thread.plan(request)
    await thread.stop()
    cache.upsert('Pod', pod('other', '4'))
    expect((await planned(thread)).claims).toEqual([[['large'], ['other', 'only']]])
  })

  it('finds what to disrupt, with the objects that the cache has, and says whether it still holds', async () => {
    const { cache, thread } = start()
    const disruption = { consolidateAfter: '0s', consolidationPolicy: 'WhenEmpty', budgets: [{ nodes: '100%' }] }
    cache.upsert('NodePool', {
      ...pool,
      metadata: metadata('default'),
      spec: { ...(pool['spec'] as Json), disruption },
    })
    addNode(cache, 'a')
    addNode(cache, 'b')
    const runs = {
      ...pod('runs'),
      spec: { ...(pod('runs')['spec'] as Json), nodeName: 'b' },
      status: { phase: 'Running' },
    }
    cache.upsert('Pod', runs)
    const { commands, passes } = await thread.evaluate(evaluation)
    const [command] = commands
    expect(command).toMatchObject({ method: 'emptiness', decision: 'delete' })
    expect(command?.candidates.map(({ node }) => node)).toEqual([cache.nodes.get('a')])
    expect(passes.map(({ method, candidates }) => [method, candidates])).toContainEqual(['emptiness', ['a']])
    const proposed = { method: 'emptiness', decision: 'delete', candidates: ['uid-a-claim'], replacements: 0 } as const
    expect(await thread.validateTogether(evaluation, [proposed, proposed])).toMatchObject([
      { kind: 'valid' },
      // The first one has reserved the node.
      { kind: 'invalid', reason: 'churn' },
    ])
    cache.upsert('Pod', {
      ...runs,
      metadata: metadata('late', { namespace: 'default' }),
      spec: { ...(runs.spec as Json), nodeName: 'a' },
    })
    expect(await thread.validateTogether(evaluation, [proposed])).toMatchObject([{ kind: 'invalid', reason: 'churn' }])
  })
})

it('sends of a list only what the thread has in no other', async () => {
  const sent: ToSolver[] = []
  const recorded: StartThread = (...input) => {
    const thread = inProcessSolver(...input)
    const send = thread.postMessage.bind(thread)
    return {
      ...thread,
      postMessage: (message) => {
        sent.push(message)
        send(message)
      },
    }
  }
  const cache = newCache()
  const thread = solverOf(cache, recorded)
  cache.upsert('Pod', pod('only', '8'))
  const [small, large, huge] = [sampleType('small', 2), sampleType('large', 16), sampleType('huge', 64)]
  const claimsWith = async (...types: readonly InstanceType[]) =>
    (await planned(thread, { instanceTypes: new Map([['default', types]]) })).claims
  expect(await claimsWith(small, large)).toEqual([[['large'], ['only']]])
  expect(await claimsWith(huge, large)).toEqual([[['large', 'huge'], ['only']]])
  // The first list is forgotten by then.
  expect(await claimsWith(small, huge)).toEqual([[['huge'], ['only']]])
  expect(sent.flatMap((message) => (message.kind === 'types' ? [message.types] : []))).toEqual([
    [small, large],
    [huge, { list: 0, at: 1 }],
    [small, { list: 1, at: 0 }],
  ])
})

it('answers the same in process as in a thread of Node, with the same objects', async () => {
  const cache = newCache()
  addNode(cache, 'a')
  addNode(cache, 'b')
  for (const [name, cpu] of [
    ['placed', '1'],
    ['new', '8'],
    ['huge', '64'],
  ] as const)
    cache.upsert('Pod', pod(name, cpu))
  const [node, process] = await Promise.all(
    starts.map(async ([, startThread]) => {
      const thread = solverOf(cache, startThread)
      const { snapshotMs: _, solveMs: __, ...plan } = await thread.plan(request)
      const explained = await thread.explain(['default/huge'], 60_000)
      const { passes, ...evaluated } = await thread.evaluate(evaluation)
      return { plan, explained, ...evaluated, passes: passes.map((pass) => ({ ...pass, milliseconds: 0 })) }
    }),
  )
  expect(node?.plan.newNodeClaims).toHaveLength(1)
  expect(node?.explained.size).toBe(1)
  expect(process).toEqual(node)
})
