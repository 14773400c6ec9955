import { pino } from 'pino'
import { Registry } from 'prom-client'
import { BufferRoom } from '../../activities/capacity-buffers/buffer-room.ts'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import { Fence } from '../../activities/provisioning/fence.ts'
import { Findings } from '../../activities/provisioning/findings/findings.ts'
import { PlanningMetrics } from '../../activities/provisioning/metrics.ts'
import { type NextProvisioningDeps, nextProvisioning } from '../../activities/provisioning/next-provisioning.ts'
import { NodeRefusals } from '../../activities/provisioning/node-refusals/node-refusals.ts'
import { Nominations } from '../../activities/provisioning/nominations.ts'
import { RefusedClaims } from '../../activities/provisioning/refused-claims.ts'
import { HeavyPods } from '../../activities/scheduler-thread/heavy-pods.ts'
import { Quarantine } from '../../activities/scheduler-thread/quarantine.ts'
import { SolverThread } from '../../activities/scheduler-thread/solver-thread.ts'
import { noTracing } from '../../activities/telemetry/tracing.ts'
import type { InstanceTypeJson } from '../../api/shapes/scenario.ts'
import { instanceTypes } from '../../starter/files/catalog.ts'
import type { Scenario } from '../workloads/scenario.ts'
import { entering } from './entering.ts'

/** A batch window that costs nothing: what is measured comes after it. */
const windowMs = 1
const rounds = 20

export interface PlannerPasses {
  /** From a pending pod in the watch cache to its NodeClaim created, in milliseconds, sorted. */
  readonly times: readonly number[]
  /** Lists that the passes requested; the first attempt, which takes the fence from nobody, is not among them. */
  readonly lists: number
}

/** An API server for one planner: a Lease, no pause, and NodeClaims that are created. It counts lists. */
function apiServer() {
  const counted = { lists: 0 }
  let version = 1e9
  let lease: Json = { metadata: { resourceVersion: '1' }, spec: { holderIdentity: '' } }
  const client = {
    get: async (path: string) => {
      if (path.includes('/leases/')) return lease
      if (path.includes('/nodepools/')) return pools.get(path.split('/').at(-1) ?? '')
      throw new ApiError(404, 'NotFound', path)
    },
    mergePatch: async (path: string, { spec, ...rest }: Json) => {
      if (path.includes('/configmaps/')) return rest
      lease = { metadata: { resourceVersion: String(++version) }, spec }
      return lease
    },
    create: async (_: string, body: Json) => {
      const { name } = body['metadata'] as { readonly name: string }
      const set = { uid: name, resourceVersion: String(++version), creationTimestamp: new Date().toISOString() }
      return { ...body, metadata: { ...(body['metadata'] as Json), ...set } }
    },
    list: async () => {
      counted.lists += 1
      return { items: [], resourceVersion: '0' }
    },
    async *listPages() {
      counted.lists += 1
      yield { items: [], resourceVersion: '0' }
    },
  }
  const pools = new Map<string, Json>()
  return { client, counted, pools }
}

/**
 * Runs whole passes of the provisioning activity on a large cluster of which a part changes in between: everything is as in a planner, but that the
 * API server is made up and answers at once.
 */
export async function plannerPasses(scenario: Scenario, changedShare: number): Promise<PlannerPasses> {
  const { client, counted, pools } = apiServer()
  const log = pino({ level: 'error' })
  const cache = new ClusterCache(client as never, log)
  const solver = new SolverThread(cache, log)
  const ahead = Date.parse(scenario.now) - Date.now()
  const now = () => Date.now() + ahead
  const events = { record() {}, recordTransitions() {} } as never
  const types = instanceTypes(scenario.instanceTypes as readonly InstanceTypeJson[])
  cache.synced = async () => {}
  const deps = {
    client,
    cache,
    solver,
    log,
    now,
    events,
    namespace: 'joiner',
    tracing: noTracing,
    lifecycles: { start: async () => {} },
    nominations: new Nominations(10_000),
    refusedClaims: new RefusedClaims(),
    nodeRefusals: new NodeRefusals(new Registry()),
    heavyPods: new HeavyPods(),
    quarantine: new Quarantine({ cache, store: { read: async () => [] } as never, events, log, now }, new Registry()),
    metrics: new PlanningMetrics({ cache, now }, new Registry()),
    findings: new Findings(now, new Registry()),
    buffers: new BufferRoom({ client: client as never, cache, log, now }),
    catalogue: { instanceTypesFor: () => types },
    unavailable: { marks: new Map(), synced: async () => {}, onCleared: () => () => {} },
    scheduling: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedCapacity: true, defaultSpread: [] },
    batchIdleMs: windowMs,
    batchMaxMs: windowMs,
  } as unknown as NextProvisioningDeps
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'bench')
  const pass = () => nextProvisioning(deps, fence, { signal: new AbortController().signal, isFirst: false })
  try {
    const enter = entering(cache, scenario)
    for (const object of scenario.objects) {
      enter(object as unknown as Json)
      if (object.kind === 'NodePool')
        pools.set(String(object.metadata['name']), poolJson(object as unknown as Json, scenario))
    }
    cache.nodeClasses.set('default', { metadata: { name: 'default', resourceVersion: '1' } } as never)
    await pass()
    counted.lists = 0
    return { times: await timed(scenario, { enter, changedShare, solver, pass }), lists: counted.lists }
  } finally {
    await solver.stop()
  }
}

/** A NodePool as the API server serves it. */
function poolJson(pool: Json, { now }: Scenario): Json {
  const status = { conditions: [{ type: 'Ready', status: 'True' }] }
  return {
    ...pool,
    metadata: { uid: 'pool', resourceVersion: '1', creationTimestamp: now, ...(pool['metadata'] as Json) },
    status,
  }
}

interface Timed {
  readonly enter: (object: Json) => void
  readonly changedShare: number
  readonly solver: SolverThread
  readonly pass: () => Promise<string>
}

async function timed(scenario: Scenario, { enter, changedShare, solver, pass }: Timed): Promise<readonly number[]> {
  const pods = scenario.objects.filter(({ kind }) => kind === 'Pod')
  const bound = pods.filter(({ spec }) => spec['nodeName'] !== undefined)
  const waiting = pods.find(({ spec }) => spec['nodeName'] === undefined && spec['nodeSelector'] !== undefined)
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < bound.length * changedShare; at++)
      enter(bound[(round * 1009 + at * 97) % bound.length] as unknown as Json)
    // In a planner changes reach the thread as they come.
    await new Promise((resolve) => setImmediate(resolve))
    await solver.idle()
    const name = `new-${round}`
    const pod = waiting as unknown as { readonly metadata: Json }
    enter({ ...(pod as Json), metadata: { ...pod.metadata, name, uid: name } })
    const startMs = performance.now()
    const outcome = await pass()
    if (outcome !== 'planned') throw new Error(`the pass of round ${round} ended as ${outcome}, without a NodeClaim`)
    times.push(performance.now() - startMs)
  }
  return times.toSorted((a, b) => a - b)
}
