import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { sampleType } from '../../test/samples/sample-objects.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import type { EventInput } from '../kubernetes/event-recorder.ts'
import { Quarantine } from './quarantine.ts'
import { QuarantineStore } from './quarantine-store.ts'
import { type SolveDeps, solve } from './solve.ts'
import { SolverThread } from './solver-thread.ts'
import { ThreadFault, workerThread } from './supervised-thread.ts'

const log = pino({ level: 'silent' })
const created = '2026-01-01T00:00:00Z'
const startMs = Date.parse(created) + 3_600_000
const hour = 3_600_000
const file = new URL('../../test/faults/solver-thread.ts', import.meta.url)

let now: number
let versions = 0
let cache: ClusterCache
let map: FakeConfigMap
let events: string[]
let registry: Registry
let threads: SolverThread[]

beforeEach(() => {
  now = startMs
  cache = new ClusterCache({} as never, log)
  map = new FakeConfigMap()
  events = []
  registry = new Registry()
  threads = []
  cache.upsert('NodePool', {
    metadata: metadata('default'),
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'd' }, requirements: [] },
      },
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  })
  cache.upsert('AKSNodeClass', { metadata: metadata('d'), spec: {} })
})

afterEach(() => Promise.all(threads.map((thread) => thread.stop())))

/** The ConfigMap, as the API server has it. */
class FakeConfigMap {
  data: Record<string, string> | undefined
  isDown = false

  client = {
    get: () => this.#answer(),
    create: (_: string, { data }: { data: Record<string, string> }) => {
      this.data = data
      return this.#answer()
    },
    mergePatch: (_: string, { data }: { data: Record<string, string | null> }) => {
      if (this.data === undefined) return this.#answer()
      for (const [key, value] of Object.entries(data)) {
        if (value === null) delete this.data[key]
        else this.data[key] = value
      }
      return this.#answer()
    },
  }

  #answer(): Promise<Json> {
    if (this.isDown) return Promise.reject(new ApiError(503, '', 'unavailable'))
    return this.data === undefined
      ? Promise.reject(new ApiError(404, 'NotFound', 'no such ConfigMap'))
      : Promise.resolve({ data: { ...this.data } })
  }
}

function metadata(name: string, more: Json = {}): Json {
  versions += 1
  return { name, uid: `uid-${name}`, resourceVersion: String(versions), creationTimestamp: created, ...more }
}

function addPod(
  name: string,
  { fault = '', cpu = '1', nodeName }: { fault?: string; cpu?: string; nodeName?: string },
) {
  cache.upsert('Pod', {
    metadata: metadata(name, { namespace: 'default', labels: fault === '' ? { app: name } : { fault } }),
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [{ name: 'main', resources: { requests: { cpu } } }],
      topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }],
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  })
}

interface Planner extends Pick<SolveDeps, 'quarantine' | 'solver'> {
  /** Runs passes until all pods have been planned or are held. Returns how many crashed. */
  readonly run: () => Promise<number>
  readonly planned: Set<string>
}

function start(): Planner {
  const quarantine = new Quarantine(
    {
      cache,
      store: new QuarantineStore({ client: map.client as never, namespace: 'joiner' }),
      events: {
        record: ({ about, reason, message }: EventInput) => events.push(`${reason} ${about.metadata.name}: ${message}`),
      } as never,
      log,
      now: () => now,
    },
    registry,
  )
  const solver = new SolverThread(cache, log, { quarantine, start: workerThread({ file, heapMiB: 64 }), marginMs: 700 })
  threads.push(solver)
  const types = [sampleType('small', 2), sampleType('large', 16)]
  const never = { isWaiting: () => false, apart: () => new Map() }
  const deps = {
    cache,
    quarantine,
    solver,
    now: () => now,
    catalogue: { instanceTypesFor: () => types },
    scheduling: { defaultSpread: [] },
    refusedClaims: never,
    nodeRefusals: never,
    heavyPods: never,
    metrics: { passBegins: () => () => {} },
  } as unknown as SolveDeps
  const planned = new Set<string>()
  const run = async () => {
    let crashed = 0
    for (let pass = 0; pass < 30; pass++) {
      const waiting = [...cache.pods.values()].filter((pod) => pod.nodeName === undefined && !planned.has(podName(pod)))
      const pods = waiting.filter((pod) => !quarantine.holds(pod))
      if (pods.length === 0) return crashed
      const plan = await solve(deps, waiting)
      if (plan === undefined) crashed += 1
      for (const { pods: placed } of plan?.newNodeClaims ?? [])
        for (const pod of placed) {
          planned.add(podName(pod))
          const { namespace, name } = pod.metadata
          addPod(name, { nodeName: 'somewhere' })
          expect(namespace).toBe('default')
        }
    }
    throw new Error('the pods are never planned')
  }
  return { quarantine, solver, run, planned }
}

const held = ({ quarantine }: Planner) =>
  [...cache.pods.values()].filter((pod: Pod) => quarantine.holds(pod)).map(({ metadata: { name } }) => name)

const gauge = async () => (await registry.getMetricsAsJSON()).flatMap(({ values }) => values.map(({ value }) => value))

describe.each([
  ['an exception', 'exception', 2, 'exception: this pod cannot be planned'],
  ['a heap without end', 'heap', 2, 'heap limit'],
  ['a thread that does not answer', 'hang', 2, 'time limit: no answer within'],
  ['an exception of nobody knows which pod', 'quiet', 5, 'exception: a pod cannot be planned'],
])('after %s', (_, fault, most, cause) => {
  it('the pod is held, alone, and named; all others are planned', async () => {
    for (const name of ['a', 'b', 'd', 'e']) addPod(name, {})
    addPod('c', { fault })
    const planner = start()
    // A fault that ends by itself has time to do so on any machine; a thread that hangs is ended soon.
    const plan = planner.solver.plan.bind(planner.solver)
    planner.solver.plan = (request) => plan({ ...request, timeLimitMs: fault === 'hang' ? 4000 : 60_000 })
    const crashed = await planner.run()
    expect(crashed).toBeGreaterThanOrEqual(2)
    expect(crashed).toBeLessThanOrEqual(most)
    expect(held(planner)).toEqual(['c'])
    expect([...planner.planned].sort()).toEqual(['a', 'b', 'd', 'e'].map((name) => `default/${name}`))
    expect(events).toHaveLength(1)
    expect(events[0]).toMatch(/^Quarantined c: Quarantined until 2026-01-01T02:00:00.000Z: scheduler ended by /)
    expect(events[0]).toContain(cause)
    expect(events[0]).toContain('joiner blocked objects clear Pod/default/c')
    expect(await gauge()).toEqual([1])
  }, 30_000)
})

describe('a quarantine', () => {
  const quarantined = async () => {
    addPod('c', { fault: 'exception' })
    const planner = start()
    await planner.run()
    expect(held(planner)).toEqual(['c'])
    return planner
  }

  it('holds pods of the same spec, whatever their names, and no others', async () => {
    const planner = await quarantined()
    addPod('same', { fault: 'exception' })
    addPod('smaller', { fault: 'exception', cpu: '500m' })
    addPod('innocent', {})
    expect(held(planner)).toEqual(['c', 'same'])
    planner.quarantine.report([...cache.pods.values()])
    expect(events.at(-1)).toMatch(/^Quarantined same: .* as Pod\/default\/c with the same spec/)
    expect(await planner.run()).toBe(2)
    expect(held(planner)).toEqual(['c', 'same', 'smaller'])
    expect(await gauge()).toEqual([2])
  })

  it('is there after a restart, and ends after an hour', async () => {
    await quarantined()
    registry = new Registry()
    const next = start()
    expect(held(next)).toEqual([])
    await next.quarantine.refresh(true)
    expect(held(next)).toEqual(['c'])
    now += hour
    await next.quarantine.refresh()
    expect(held(next)).toEqual([])
    expect(map.data).toEqual({})
    // The thread receives the pod again.
    expect(await next.run()).toBe(2)
    expect(held(next)).toEqual(['c'])
  })

  it('ends when it is cleared, or by itself, also after the clock was set back', async () => {
    now += 31 * 24 * hour
    const planner = await quarantined()
    now = startMs
    await planner.quarantine.refresh()
    expect(held(planner)).toEqual([])
    expect(map.data).toEqual({})
  })

  it('ends when the spec changes, and when it is cleared', async () => {
    const planner = await quarantined()
    now += 10_000
    addPod('c', { fault: 'exception', cpu: '2' })
    expect(held(planner)).toEqual([])
    await planner.quarantine.refresh()
    expect(map.data).toEqual({})
    await planner.run()
    expect(held(planner)).toEqual(['c'])
    map.data = {}
    now += 10_000
    await planner.quarantine.refresh()
    expect(held(planner)).toEqual([])
  })

  it('is kept while it cannot be written, and written then', async () => {
    map.isDown = true
    const planner = await quarantined()
    now += 10_000
    await planner.quarantine.refresh()
    expect(held(planner)).toEqual(['c'])
    map.isDown = false
    now += 10_000
    await planner.quarantine.refresh()
    expect(held(planner)).toEqual(['c'])
    expect(Object.values(map.data ?? {})).toHaveLength(1)
  })
})

it('a pod that runs still fills its node, which stays', async () => {
  addPod('c', { fault: 'exception' })
  const { quarantine, run } = start()
  await run()
  addPod('runs', { fault: 'exception', nodeName: 'n' })
  const [c, runs] = ['c', 'runs'].map((name) => cache.pods.get(`default/${name}`) as Pod)
  expect(quarantine.shown(c as Pod)).toBeUndefined()
  expect(quarantine.shown(runs as Pod)).toMatchObject({
    nodeName: 'n',
    requests: runs?.requests,
    topologySpreadConstraints: [],
    metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
  })
})

it('no pod is held for a fault of the cluster, and the error is reported', async () => {
  for (const name of ['a', 'b', 'c']) addPod(name, {})
  cache.upsert('Namespace', { metadata: metadata('broken') })
  const planner = start()
  await expect(planner.run()).rejects.toThrow('the cluster cannot be planned for')
  expect(held(planner)).toEqual([])
})

it('objects of other kinds are left out after two crashes in which the thread read them; Nodes are not', async () => {
  const { quarantine } = start()
  cache.upsert('PodDisruptionBudget', {
    metadata: metadata('pdb', { namespace: 'default' }),
    spec: { selector: {}, maxUnavailable: 1 },
    status: {},
  })
  cache.upsert('Node', { metadata: metadata('n'), spec: {}, status: {} })
  const fault = (id: string) => new ThreadFault('heap limit', 'full', { doing: 'reading', id })
  const budget = [...cache.podDisruptionBudgets.values()][0]
  for (const isShown of [true, false]) {
    expect(await quarantine.crashed(fault('PodDisruptionBudget/default/pdb'))).toBe(true)
    expect(quarantine.shown(budget as never) !== undefined).toBe(isShown)
  }
  expect(await quarantine.crashed(fault('Node/n'))).toBe(false)
  expect(await quarantine.crashed(fault('Pod/default/gone'))).toBe(false)
})
