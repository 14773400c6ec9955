import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { waitingMapName } from '../../core/scheduling/explain/waiting-classes.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { condition, nodeClassJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import { ended, pass, useFakeTime } from '../../test/fakes/time.ts'
import { sampleType } from '../../test/samples/sample-objects.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import { HeavyPods } from '../scheduler-thread/heavy-pods.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'
import { Quarantine } from '../scheduler-thread/quarantine.ts'
import { QuarantineStore } from '../scheduler-thread/quarantine-store.ts'
import type { SolverThread } from '../scheduler-thread/solver-thread.ts'
import { ThreadFault } from '../scheduler-thread/supervised-thread.ts'
import { ReconcileMetrics } from '../telemetry/reconcile-metrics.ts'
import { Fence } from './fence.ts'
import { nextProvisioning } from './next-provisioning.ts'
import { podsToPlace } from './planning-snapshot.ts'
import { provision } from './provision.ts'

useFakeTime()

/** A pod that no node has room for. */
const waiting = (name: string, cpu: string) =>
  podJson(name, '', {
    spec: { nodeName: undefined, containers: [{ name: 'c', resources: { requests: { cpu } } }] },
    status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 0, 'Unschedulable')] },
  })

/** A cluster with pods of these names that wait, and what plans them by the solver that `planOf` makes. */
async function plannerOf(names: readonly string[], planOf: (pods: readonly Pod[]) => Partial<ThreadPlan>) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default'))
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const name of names) cluster.put('pods', waiting(name, '1'))
  const { deps: known, reported } = await planningDeps(cluster)
  const { client, namespace } = known
  const plan: SolverThread['plan'] = async ({ leftOut }) => {
    const made = planOf(podsToPlace(known).filter((pod) => !leftOut.has(podName(pod))))
    const numbers = { ignored: 0, snapshotMs: 0, solveMs: 0 }
    return { ...numbers, newNodeClaims: [], existing: [], unschedulable: [], stopped: false, zones: new Map(), ...made }
  }
  const deps = {
    ...known,
    solver: { plan } as SolverThread,
    heavyPods: new HeavyPods(),
    quarantine: new Quarantine({ ...known, store: new QuarantineStore({ client, namespace }) }, new Registry()),
    unavailable: Object.assign(known.unavailable, { synced: async () => {} }),
  }
  return { cluster, deps, reported }
}

/** Plans pods of these names in a round. Returns what was created, and events by reason. */
async function roundOf(...given: Parameters<typeof plannerOf>) {
  const { cluster, deps, reported } = await plannerOf(...given)
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'test')
  const { signal } = new AbortController()
  expect(await ended(nextProvisioning(deps, fence, { signal, isFirst: true }))).toBe('planned')
  const events = (of: string) => reported.filter(({ reason }) => reason === of)
  return { claims: cluster.names('nodeclaims'), events, about: (of: string) => events(of).map(({ about }) => about) }
}

test('a pod that crashes the scheduler is quarantined, and the others get their node in the same round', async () => {
  const { claims, about } = await roundOf(['bad', 'good'], (pods) => {
    if (pods.some(({ metadata }) => metadata.name === 'bad')) throw new ThreadFault('exception', 'bad', undefined)
    return { newNodeClaims: pods.map((pod) => plannedClaim({ pods: [pod] })) }
  })
  expect(claims).toHaveLength(1)
  expect(about('Nominated')).toEqual(['Pod/good'])
  expect(about('Quarantined')).toContain('Pod/bad')
})

test('a planner whose fence another attempt took while it had nothing to create takes it again, and goes on saying why pods wait', async () => {
  const { cluster, deps } = await plannerOf(['big'], (pods) => ({
    unschedulable: pods.map((pod) => ({ pod, cause: { kind: 'ignored', reasons: [{ kind: 'match-fields' }] } })),
  }))
  const stop = new AbortController()
  const reconciles = new ReconcileMetrics(new Registry())
  const planning = provision({ deps, reconciles, signal: stop.signal })
  await pass(10_000)
  const fence = () => cluster.object('leases', 'joiner-planner-fence', deps.namespace)?.['spec'] as Json
  const own = fence()['holderIdentity']
  cluster.edit('leases', 'joiner-planner-fence', { spec: { holderIdentity: 'late/provisioning/8' } }, deps.namespace)
  await pass(90_000)
  expect(fence()['holderIdentity']).toBe(String(own).replace('provisioning/1', 'provisioning/2'))
  cluster.remove('pods', 'big', 'default')
  await pass(30_000)
  const found = cluster.object('configmaps', waitingMapName, deps.namespace)?.['data'] as Json
  expect(Object.keys(found)).toEqual(['Summary'])
  stop.abort()
  await ended(planning)
})

test('a pod that excludes nodes of Joiner on purpose gets no event, another pod that is left out says why', async () => {
  const { events } = await roundOf(['good', 'odd', 'shy'], (pods) => {
    const [good, odd, shy] = pods.toSorted((a, b) => (podName(a) < podName(b) ? -1 : 1)) as [Pod, Pod, Pod]
    return {
      newNodeClaims: [plannedClaim({ pods: [good] })],
      unschedulable: [
        { pod: odd, cause: { kind: 'ignored', reasons: [{ kind: 'match-fields' }] } },
        { pod: shy, cause: { kind: 'ignored', reasons: [{ kind: 'match-fields' }, { kind: 'not-on-karpenter' }] } },
      ],
    }
  })
  expect(events('FailedScheduling')).toMatchObject([
    {
      about: 'Pod/odd',
      message: 'Failed to schedule pod, node selector term with matchFields is not supported',
    },
  ])
})

test('a NodePool that is edited while its pods are planned gets no node of its earlier template, which would not seem to have drifted', async () => {
  const edited = (generation: number, team: string) => ({
    metadata: { generation },
    spec: { template: { metadata: { labels: { team } } } },
  })
  const seen: string[] = []
  const { cluster, deps } = await plannerOf(['web'], (pods) => {
    const { labels } = deps.cache.nodePools.get('default')?.template ?? {}
    seen.push(labels?.['team'] ?? '')
    // Somebody edits it while the scheduler works.
    cluster.edit('nodepools', 'default', edited(3, 'blue'))
    return { newNodeClaims: [plannedClaim({ pods, labels: { 'karpenter.sh/nodepool': 'default', ...labels } })] }
  })
  cluster.edit('nodepools', 'default', edited(2, 'red'))
  await deps.cache.catchUp(['NodePool'])
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'test')
  const { signal } = new AbortController()
  for (let round = 0; cluster.all('nodeclaims').length === 0 && round < 3; round++)
    await ended(nextProvisioning(deps, fence, { signal, isFirst: true }))
  const [claim] = cluster.all('nodeclaims')
  expect(claim?.metadata.labels).toMatchObject({ team: 'blue' })
  expect(claim?.metadata.annotations['karpenter.sh/nodepool-hash']).toBe(
    deps.cache.nodePools.get('default')?.template.hash,
  )
  expect(seen).toEqual(['red', 'blue'])
})

test('a static NodePool that lacks hundreds of nodes keeps no pod waiting until all of them are created', async () => {
  const { cluster, deps } = await plannerOf(['web'], (pods) => ({ newNodeClaims: [plannedClaim({ pods })] }))
  cluster.put('nodepools', poolJson('fixed', { spec: { replicas: 1000 } }))
  await deps.cache.catchUp(['NodePool'])
  const types = [sampleType('Standard_D4s_v5', 4)]
  const planning = { ...deps, catalogue: { instanceTypesFor: () => types } as never }
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'test')
  const { signal } = new AbortController()
  const ofPool = (name: string) => cluster.names('nodeclaims').filter((claim) => claim.startsWith(name)).length
  for (let round = 0; round < 4; round++) await ended(nextProvisioning(planning, fence, { signal, isFirst: true }))
  expect(ofPool('default')).toBe(1)
  expect(ofPool('fixed')).toBeGreaterThan(100)
})

test('a pod whose NodeClaim a webhook keeps from being created says so, as long as it fails', async () => {
  const { cluster, deps, reported } = await plannerOf(['web'], (pods) => ({ newNodeClaims: [plannedClaim({ pods })] }))
  const why = 'Internal error occurred: failed calling webhook "guard.example.com"'
  cluster.intercept(({ verb, path }) => {
    if (verb === 'create' && path.endsWith('/nodeclaims')) throw new ApiError(500, 'InternalError', why)
  })
  const stop = new AbortController()
  const planning = provision({ deps, reconciles: new ReconcileMetrics(new Registry()), signal: stop.signal })
  await pass(60_000)
  const found = cluster.object('configmaps', waitingMapName, deps.namespace)?.['data'] as Json
  expect(JSON.stringify(found)).toContain('failed calling webhook')
  expect(reported.find(({ reason }) => reason === 'FailedScheduling')).toMatchObject({
    about: 'Pod/web',
    message: expect.stringContaining(why),
  })
  stop.abort()
  await ended(planning)
})
