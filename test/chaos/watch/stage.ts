// What tests of the watch do in a world without Joiner, or with one that is cut off.
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { ResourceName } from '../../../activities/kubernetes/client/resources.ts'
import { podFingerprint } from '../../../activities/scheduler-thread/pod-fingerprint.ts'
import { formatWaitingClass, formatWaitingSummary, summaryKey } from '../../../api/waiting-pods.ts'
import {
  formatLastPass,
  formatVerdict,
  lastPassKey,
  type Move,
  verdictMapName,
  verdictShard,
} from '../../../core/disruption/verdicts/verdict.ts'
import { type WaitingClass, waitingKey, waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { nodeClass } from '../../applied-objects.ts'
import { claimJson, condition, nodeJson, podJson } from '../../fakes/objects.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import { FastWorld } from '../../fast/world/fast-world.ts'
import { passing } from '../../fast/world/passing.ts'
import { serversOf } from '../../fast/world/simulated-servers.ts'
import { World } from '../../world.ts'
import { poolObject, workloadObjects } from '../objects.ts'
import { type ChaosPlan, type PlannedPool, planOf } from '../plan.ts'
import { Scene, wait } from '../scene.ts'
import { Watch } from './watch.ts'
import type { Wrong } from './wrong.ts'

/** The only one. */
export const pool = { ...(planOf(1).pools[0] as PlannedPool), name: 'default', budget: '1', cpuLimit: 8 }
const plan: ChaosPlan = {
  ...planOf(1),
  replicas: 1,
  workloads: [{ name: 'work-0', replicas: 1, cpu: 250 }],
  pools: [pool],
}
export const longMs = 130_000
export const ready = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
export const disrupted = (reason = 'Empty') => ({
  status: { conditions: [...ready, condition('DisruptionReason', 'True', 0, reason)] },
})

/** What a test does in a world without Joiner: as somebody else, and by requests that only Joiner makes. */
export interface Stage {
  readonly scene: Scene
  readonly put: (resource: ResourceName, object: Json) => void
  readonly edit: (resource: ResourceName, name: string, change: Json, namespace?: string) => void
  readonly joiner: Scene['fast']['cluster']['client']
}

/** A node that is ready, with a pod that runs. */
export function nodeWithPod({ put }: Stage, name: string): void {
  put('nodeclaims', claimJson(name, { status: { nodeName: `aks-${name}`, conditions: ready } }))
  put('nodes', {
    kind: 'Node',
    ...nodeJson(name, { metadata: { annotations: { 'kwok.x-k8s.io/node': 'fake' }, ownerReferences: [] } }),
  })
  put('pods', podJson(`pod-${name}`, name, { metadata: { ownerReferences: [] } }))
}

const applyPlan = ({ world }: Scene) =>
  world.apply(nodeClass(), poolObject({ ...pool, revision: 0 }), ...plan.workloads.flatMap(workloadObjects))

/** The plan's objects, and a process of Joiner. */
export async function begin(scene: Scene): Promise<void> {
  await applyPlan(scene)
  scene.world.startJoiner('joiner-0')
}

/** A process of Joiner has set up what it needs, and then is cut off from the cluster. */
export async function cutOff(scene: Scene): Promise<void> {
  scene.world.startJoiner('joiner-0')
  await wait(60_000)
  scene.fast.cut('joiner-0', 'kubernetes', 90 * 60_000)
}

/** A VM whose tags name a NodeClaim that is gone. */
export async function lostVm({ scene }: Stage): Promise<void> {
  const arm = await scene.world.arm()
  await arm.plantVm('aks-a', { 'karpenter.azure.com_cluster': 'local', 'joiner.sh_nodeclaim-uid': 'gone' })
  await arm.close()
  // Joiner would delete it.
  scene.world.startJoiner('joiner-0')
  scene.fast.cut('joiner-0', 'azure', 60 * 60_000)
  await wait(30 * 60_000)
}

/** A pod waits, a NodePool has room for it, and Joiner, which is cut off from the cluster, has said this of it, and that so many wait. */
export async function said(
  stage: Stage,
  what: Pick<WaitingClass, 'state' | 'finding'> & Partial<WaitingClass>,
  counted = 1,
): Promise<void> {
  const { scene, put, edit } = stage
  const { fast } = scene
  await cutOff(scene)
  await applyPlan(scene)
  for (const [resource, name] of [
    ['nodepools', 'default'],
    ['aksnodeclasses', 'default'],
  ] as const)
    edit(resource, name, { status: { conditions: [condition('Ready')] } })
  await wait(30_000)
  for (const pod of fast.cluster.server.objects.of('pods'))
    put('configmaps', {
      metadata: { name: waitingMapName, namespace: 'joiner' },
      data: {
        [waitingKey(podFingerprint(decodePod(pod)), what.state)]: formatWaitingClass({
          pods: [`default/${metaOf(pod).name}`],
          count: 1,
          sinceMs: scene.nowMs,
          plannedOn: [],
          funnel: [],
          remedies: [],
          ...what,
        }),
        [summaryKey]: formatWaitingSummary(scene.nowMs, [{ state: what.state, count: counted }]),
      },
    })
  await wait(15 * 60_000)
}

const forbidden: Move = { methods: ['drift'], outcome: 'blocked', cause: { kind: 'do-not-disrupt' } }

/** Joiner, which is cut off from the cluster, has said this of a node, by default that its owner forbids to disrupt it, which nobody does. */
export async function saidOfNode(stage: Stage, { move = forbidden, change = () => {} } = {}): Promise<void> {
  const { scene, put } = stage
  await cutOff(scene)
  nodeWithPod(stage, 'a')
  change()
  const since = new Date(scene.nowMs).toISOString()
  const verdict = formatVerdict({ nodeClaim: 'a', nodePool: 'default', since, moves: [move] })
  const keep = (shard: number, data: Json) =>
    put('configmaps', { metadata: { name: verdictMapName(shard), namespace: 'joiner' }, data })
  keep(verdictShard('a'), { a: verdict })
  for (let minutes = 0; minutes < 20; minutes += 5) {
    keep(0, { [lastPassKey]: formatLastPass({ atMs: scene.nowMs, commands: 0 }) })
    await wait(5 * 60_000)
  }
}

/** What the watch finds wrong. */
export async function seen(act: (stage: Stage) => void | Promise<void>): Promise<readonly Wrong[]> {
  return passing(async () => {
    const fast = await FastWorld.start({ seed: 1 })
    const world = new World(serversOf(fast))
    const scene = new Scene(plan, { fast, world }, () => {})
    const watch = new Watch(scene)
    try {
      await act({
        scene,
        put: (resource, object) => fast.cluster.put(resource, object),
        edit: (resource, name, change, namespace) => fast.cluster.edit(resource, name, change, namespace),
        joiner: fast.cluster.client,
      })
    } finally {
      watch.stop()
      await world.stop()
    }
    return watch.wrong
  })
}
