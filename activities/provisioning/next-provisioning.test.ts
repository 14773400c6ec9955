import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { condition, nodeClassJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../test/fakes/time.ts'
import { HeavyPods } from '../scheduler-thread/heavy-pods.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'
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

/** Plans pods of these names in a round, by the solver that `planOf` makes. Returns what was created, and events by reason. */
async function roundOf(names: readonly string[], planOf: (pods: readonly Pod[]) => Partial<ThreadPlan>) {
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
