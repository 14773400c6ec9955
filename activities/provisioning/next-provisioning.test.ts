import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { podName } from '../../core/pods/pod-rules.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { condition, nodeClassJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../test/fakes/time.ts'
import { HeavyPods } from '../scheduler-thread/heavy-pods.ts'
import { Quarantine } from '../scheduler-thread/quarantine.ts'
import { QuarantineStore } from '../scheduler-thread/quarantine-store.ts'
import type { SolverThread } from '../scheduler-thread/solver-thread.ts'
import { ThreadFault } from '../scheduler-thread/supervised-thread.ts'
import { Fence } from './fence.ts'
import { nextProvisioning } from './next-provisioning.ts'
import { podsToPlace } from './planning-snapshot.ts'

useFakeTime()

/** A pod that no node has room for. */
const waiting = (name: string, cpu: string) =>
  podJson(name, '', {
    spec: { nodeName: undefined, containers: [{ name: 'c', resources: { requests: { cpu } } }] },
    status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 0, 'Unschedulable')] },
  })

test('a pod that crashes the scheduler is quarantined, and the others get their node in the same round', async () => {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default'))
  cluster.put('aksnodeclasses', nodeClassJson())
  cluster.put('pods', waiting('bad', '1'))
  cluster.put('pods', waiting('good', '2'))
  const { deps: known, reported } = await planningDeps(cluster)
  const { client, namespace } = known
  const plan: SolverThread['plan'] = async ({ leftOut }) => {
    const pods = podsToPlace(known).filter((pod) => !leftOut.has(podName(pod)))
    if (pods.some(({ metadata }) => metadata.name === 'bad')) throw new ThreadFault('exception', 'bad', undefined)
    const newNodeClaims = pods.map((pod) => plannedClaim({ pods: [pod] }))
    const numbers = { ignored: 0, snapshotMs: 0, solveMs: 0 }
    return { ...numbers, newNodeClaims, existing: [], unschedulable: [], stopped: false, zones: new Map() }
  }
  const deps = {
    ...known,
    solver: { plan } as SolverThread,
    heavyPods: new HeavyPods(),
    quarantine: new Quarantine({ ...known, store: new QuarantineStore({ client, namespace }) }, new Registry()),
    unavailable: Object.assign(known.unavailable, { synced: async () => {} }),
  }
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'test')
  const { signal } = new AbortController()
  expect(await ended(nextProvisioning(deps, fence, { signal, isFirst: true }))).toBe('planned')
  expect(cluster.names('nodeclaims')).toHaveLength(1)
  const about = (of: string) => reported.filter(({ reason }) => reason === of).map((event) => event.about)
  expect(about('Nominated')).toEqual(['Pod/good'])
  expect(about('Quarantined')).toContain('Pod/bad')
})
