import { expect, test } from 'vitest'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { podFingerprint } from '../../../activities/scheduler-thread/pod-fingerprint.ts'
import { formatWaitingClass } from '../../../api/waiting-pods.ts'
import {
  formatLastPass,
  formatVerdict,
  lastPassKey,
  verdictMapName,
  verdictShard,
} from '../../../core/disruption/verdicts/verdict.ts'
import { formatPause, type LoopName } from '../../../core/pauses/pauses.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import { waitingKey } from '../../../core/scheduling/explain/waiting-classes.ts'
import { nodeClass } from '../../applied-objects.ts'
import { claimJson, condition, nodeJson, podJson } from '../../fakes/objects.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import { FastWorld } from '../../fast/world/fast-world.ts'
import { passing } from '../../fast/world/passing.ts'
import { serversOf } from '../../fast/world/simulated-servers.ts'
import { World } from '../../world.ts'
import { poolObject, workloadObjects } from '../objects.ts'
import { type ChaosPlan, planOf } from '../plan.ts'
import { Scene, wait } from '../scene.ts'
import { Watch } from './watch.ts'

const plan: ChaosPlan = {
  ...planOf(1),
  workloads: [{ name: 'work-0', replicas: 1, cpu: 250 }],
  pools: [{ ...(planOf(1).pools[0] as ChaosPlan['pools'][number]), name: 'default', budget: '1', cpuLimit: 8 }],
}
const longMs = 130_000
const ready = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type))
const disrupted = (reason = 'Empty') => ({
  status: { conditions: [...ready, condition('DisruptionReason', 'True', 0, reason)] },
})

/** What a test does in a world without Joiner: as somebody else, and by requests that only Joiner makes. */
interface Stage {
  readonly scene: Scene
  readonly put: (resource: ResourceName, object: Json) => void
  readonly edit: (resource: ResourceName, name: string, change: Json, namespace?: string) => void
  readonly joiner: Scene['fast']['cluster']['client']
}

/** A node that is ready, with a pod that runs. */
function nodeWithPod({ put }: Stage, name: string): void {
  put('nodeclaims', claimJson(name, { status: { nodeName: `aks-${name}`, conditions: ready } }))
  put('nodes', {
    kind: 'Node',
    ...nodeJson(name, { metadata: { annotations: { 'kwok.x-k8s.io/node': 'fake' }, ownerReferences: [] } }),
  })
  put('pods', podJson(`pod-${name}`, name, { metadata: { ownerReferences: [] } }))
}

/** A VM whose tags name a NodeClaim that is gone. */
/** The plan's objects, and a process of Joiner. */
async function begin(scene: Scene): Promise<void> {
  await scene.world.apply(
    nodeClass(),
    ...plan.pools.map((pool) => poolObject({ ...pool, revision: 0 })),
    ...plan.workloads.flatMap(workloadObjects),
  )
  scene.world.startJoiner('joiner-0')
}

async function lostVm({ scene }: Stage): Promise<void> {
  const arm = await scene.world.arm()
  await arm.plantVm('aks-a', { 'karpenter.azure.com_cluster': 'local', 'joiner.sh_nodeclaim-uid': 'gone' })
  await arm.close()
  // Joiner would delete it.
  scene.world.startJoiner('joiner-0')
  scene.fast.cut('joiner-0', 'azure', 60 * 60_000)
  await wait(30 * 60_000)
}

/** A pod waits, a NodePool has room for it, and Joiner, which is cut off from the cluster, has said this of it. */
async function said(stage: Stage, what: Pick<WaitingClass, 'state' | 'cause' | 'finding'>): Promise<void> {
  const { scene, put, edit } = stage
  const { world, fast } = scene
  await world.apply(
    nodeClass(),
    ...plan.pools.map((pool) => poolObject({ ...pool, revision: 0 })),
    ...plan.workloads.flatMap(workloadObjects),
  )
  for (const [resource, name] of [
    ['nodepools', 'default'],
    ['aksnodeclasses', 'default'],
  ] as const)
    edit(resource, name, { status: { conditions: [condition('Ready')] } })
  world.startJoiner('joiner-0')
  fast.cut('joiner-0', 'kubernetes', 60 * 60_000)
  await wait(30_000)
  for (const pod of fast.cluster.server.objects.of('pods'))
    put('configmaps', {
      metadata: { name: 'joiner-waiting-pods', namespace: 'joiner' },
      data: {
        [waitingKey(podFingerprint(decodePod(pod)), what.state)]: formatWaitingClass({
          ...what,
          pods: [`default/${metaOf(pod).name}`],
          count: 1,
          sinceMs: scene.nowMs,
          plannedOn: [],
          funnel: [],
          remedies: [],
        }),
      },
    })
  await wait(15 * 60_000)
}

/** Joiner, which is cut off from the cluster, has said of a node that nobody disrupts that its owner forbids that. */
async function saidOfNode(stage: Stage): Promise<void> {
  const { scene, put } = stage
  nodeWithPod(stage, 'a')
  scene.world.startJoiner('joiner-0')
  scene.fast.cut('joiner-0', 'kubernetes', 60 * 60_000)
  const since = new Date(scene.nowMs).toISOString()
  const moves = [{ methods: ['drift'], outcome: 'blocked', cause: { kind: 'do-not-disrupt' } } as const]
  const verdict = formatVerdict({ nodeClaim: 'a', nodePool: 'default', since, moves })
  const lastPass = formatLastPass({ atMs: scene.nowMs + 10 * 60_000, commands: 0 })
  for (const [shard, data] of [
    [verdictShard('a'), { a: verdict }],
    [0, { [lastPassKey]: lastPass }],
  ] as const)
    put('configmaps', { metadata: { name: verdictMapName(shard), namespace: 'joiner' }, data })
  await wait(15 * 60_000)
}

/** Somebody pauses a loop. */
function pause({ put, scene }: Stage, loop: LoopName): void {
  const metadata = { name: 'joiner-pauses', namespace: 'joiner' }
  put('configmaps', { metadata, data: { [loop]: formatPause({ reason: 'test', sinceMs: scene.nowMs }) } })
}

const protectedPod = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }

const acts: Readonly<Record<string, (stage: Stage) => void | Promise<void>>> = {
  'pod deleted past its budget': async (stage) => {
    nodeWithPod(stage, 'a')
    await stage.joiner.delete(resourcePath('pods', 'pod-a', 'default'))
  },
  'VM ended with pods': (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodes', 'aks-a', { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } })
  },
  'disrupted with a protected pod': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'node deleted with a protected pod': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', {
      ...disrupted(),
      metadata: { annotations: { 'joiner.sh/disruption-command': 'c' } },
    })
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(longMs)
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'disrupted in a hold': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'disrupted in a pause': async (stage) => {
    nodeWithPod(stage, 'a')
    pause(stage, 'disruption')
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'made in a pause': async (stage) => {
    pause(stage, 'provisioning')
    await wait(longMs)
    stage.put('nodeclaims', claimJson('a'))
  },
  'taken from its command': (stage) => {
    nodeWithPod(stage, 'a')
    for (const command of ['c', 'd'])
      stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': command } } })
  },
  'marked without a command': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', disrupted())
    // Joiner would release it.
    stage.scene.world.startJoiner('joiner-0')
    stage.scene.fast.cut('joiner-0', 'kubernetes', 60 * 60_000)
    await wait(7 * 60_000)
  },
  'VM without a NodeClaim': lostVm,
  account: (stage) => said(stage, { state: 'unschedulable', cause: 'limits', finding: 'limits are used up' }),
  'VM that cannot join': async ({ scene, edit }) => {
    scene.fast.cluster.server.objects.onChange(({ resource, type, object }) => {
      if (resource === 'secrets' && type === 'ADDED')
        scene.later(0, () =>
          edit('secrets', metaOf(object).name, { stringData: { 'token-secret': 'another' } }, 'kube-system'),
        )
    })
    await begin(scene)
    await wait(60_000)
    // Joiner would make room for another VM.
    scene.fast.cut('joiner-0', 'azure', 60 * 60_000)
    await wait(7 * 60_000)
  },
  budget: (stage) => {
    for (const name of ['a', 'b']) nodeWithPod(stage, name)
    for (const name of ['a', 'b']) stage.edit('nodeclaims', name, disrupted())
  },
  'account of a node': saidOfNode,
  'account of a lifecycle': async ({ scene, edit }) => {
    await begin(scene)
    await wait(3 * 60_000)
    scene.fast.cut('joiner-0', 'kubernetes', 60 * 60_000)
    for (const name of scene.fast.cluster.names('nodeclaims'))
      edit('nodeclaims', name, { metadata: { deletionTimestamp: new Date(scene.nowMs).toISOString() } })
    await wait(12 * 60_000)
  },
  limit: async ({ scene, put }) => {
    for (const cpuLimit of [16, 8]) await scene.edit('default', { cpuLimit })
    await wait(longMs)
    put('nodeclaims', claimJson('a', { status: { capacity: { cpu: '7' }, conditions: ready } }))
    put('nodeclaims', claimJson('b', { spec: { resources: { requests: { cpu: '1500m' } } } }))
  },
  'foreign Node is written': async ({ scene, put, joiner }) => {
    scene.foreign.nodes.add('foreign-0')
    put('nodes', { metadata: { name: 'foreign-0' }, spec: {} })
    await joiner.mergePatch(resourcePath('nodes', 'foreign-0'), { metadata: { labels: { a: 'b' } } })
  },
  'foreign Node is gone': ({ scene, put }) => {
    scene.foreign.nodes.add('foreign-0')
    put('nodes', { metadata: { name: 'foreign-0' }, spec: {} })
    scene.fast.cluster.server.delete(resourcePath('nodes', 'foreign-0'))
  },
  'foreign VM is gone': async ({ scene }) => {
    scene.foreign.vms.add('aks-foreign-0')
    const arm = await scene.world.arm()
    await arm.plantVm('aks-foreign-0', { 'karpenter.azure.com_cluster': 'other' })
    await arm.close()
    await wait(20_000)
    await scene.world.operator.simulator('POST', '/vms/aks-foreign-0/delete')
    await wait(60_000)
  },
}

test.each(Object.entries(acts))('the watch names it: %s', async (kind, act) => {
  expect(await seen(act)).toEqual([kind])
})

const allowed: Readonly<Record<string, (stage: Stage) => void | Promise<void>>> = {
  'a pod that is deleted when the time of its node is over': async (stage) => {
    nodeWithPod(stage, 'a')
    const over = new Date(stage.scene.nowMs).toISOString()
    stage.edit('nodeclaims', 'a', {
      metadata: { annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': over } },
    })
    await stage.joiner.delete(resourcePath('pods', 'pod-a', 'default'))
  },
  'a NodeClaim that is made again in a pause': async (stage) => {
    pause(stage, 'provisioning')
    await wait(longMs)
    stage.put('nodeclaims', claimJson('a', { metadata: { annotations: { 'joiner.sh/adopted-from': 'lost' } } }))
  },
  'a NodeClaim over a limit that was just lowered': async ({ scene, put }) => {
    await scene.edit('default', { cpuLimit: 4 })
    put('nodeclaims', claimJson('a', { spec: { resources: { requests: { cpu: '8' } } } }))
  },
  'a NodeClaim whose VM comes out larger than its pods ask for': ({ put, edit }) => {
    for (const name of ['a', 'b'])
      put('nodeclaims', claimJson(name, { spec: { resources: { requests: { cpu: '3500m' } } } }))
    for (const name of ['a', 'b']) edit('nodeclaims', name, { status: { capacity: { cpu: '8' }, conditions: ready } })
  },
  'a VM whose Node names another NodeClaim than its tags, which a restore of etcd may leave': async (stage) => {
    const owner = { kind: 'NodeClaim', name: 'a', uid: 'uid-a' }
    stage.put('nodes', { kind: 'Node', ...nodeJson('a', { metadata: { ownerReferences: [owner] } }) })
    await lostVm(stage)
  },
  'a VM of an earlier NodeClaim, for which another stands': async (stage) => {
    stage.put('nodeclaims', claimJson('a', { metadata: { annotations: { 'joiner.sh/adopted-from': 'gone' } } }))
    await lostVm(stage)
  },
  'a VM that somebody else ended': (stage) => {
    nodeWithPod(stage, 'a')
    stage.scene.struck.add('aks-a')
    stage.edit('nodes', 'aks-a', { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } })
  },
  'a sick node with a protected pod': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted('Unhealthy'))
  },
  'a pod that is protected since a moment ago': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(20_000)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'a node that is said to stay for what is so': async (stage) => {
    const said = saidOfNode(stage)
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } })
    await said
  },
  'a pod that is said to wait for what is so': (stage) => {
    stage.scene.wasRefused = true
    return said(stage, { state: 'unschedulable', cause: 'capacity', finding: 'Azure has none' })
  },
  'what a restore of etcd takes away': async (stage) => {
    await wait(70_000)
    nodeWithPod(stage, 'a')
    await wait(20_000)
    stage.scene.etcd.restore(stage.scene.nowMs - 60_000, () => false)
    expect(stage.scene.fast.cluster.names('nodeclaims')).toEqual([])
  },
}

test.each(Object.entries(allowed))('the watch says nothing of %s', async (_, act) => {
  expect(await seen(act)).toEqual([])
})

/** Kinds of what the watch finds wrong. */
async function seen(act: (stage: Stage) => void | Promise<void>): Promise<readonly string[]> {
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
    return watch.wrong.map(({ kind }) => kind)
  })
}
