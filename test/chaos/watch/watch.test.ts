import { expect, test } from 'vitest'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { claimJson, condition, nodeJson, podJson } from '../../fakes/objects.ts'
import { FastWorld } from '../../fast/world/fast-world.ts'
import { passing } from '../../fast/world/passing.ts'
import { serversOf } from '../../fast/world/simulated-servers.ts'
import { World } from '../../world.ts'
import { type ChaosPlan, planOf } from '../plan.ts'
import { Scene, wait } from '../scene.ts'
import { Watch } from './watch.ts'

const plan: ChaosPlan = {
  ...planOf(1),
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
  budget: (stage) => {
    for (const name of ['a', 'b']) nodeWithPod(stage, name)
    for (const name of ['a', 'b']) stage.edit('nodeclaims', name, disrupted())
  },
  limit: async ({ put }) => {
    for (const name of ['a', 'b'])
      put('nodeclaims', claimJson(name, { status: { capacity: { cpu: '8' }, conditions: ready } }))
    await wait(20_000)
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
