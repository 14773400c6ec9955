import { expect, test } from 'vitest'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { formatPause, type LoopName } from '../../../core/pauses/pauses.ts'
import { at, claimJson, condition, nodeJson } from '../../fakes/objects.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import { SimulatedProcess } from '../../fast/simulated-process.ts'
import { poolObject } from '../objects.ts'
import { wait } from '../scene.ts'
import {
  begin,
  cutOff,
  disrupted,
  longMs,
  lostVm,
  nodeWithPod,
  pool,
  ready,
  type Stage,
  said,
  saidOfNode,
  seen,
} from './stage.ts'

/** Somebody pauses a loop. */
function pause({ put, scene }: Stage, loop: LoopName): void {
  const metadata = { name: 'joiner-pauses', namespace: 'joiner' }
  put('configmaps', { metadata, data: { [loop]: formatPause({ reason: 'test', sinceMs: scene.nowMs }) } })
}

/** A node that a command takes, and the one that comes in its place. */
function replaced({ put, edit, ...stage }: Stage): void {
  for (const name of ['a', 'b']) nodeWithPod({ put, edit, ...stage }, name)
  put('nodepools', poolObject({ ...pool, revision: 0 }))
  edit('nodeclaims', 'a', { ...disrupted(), metadata: { annotations: { 'joiner.sh/disruption-command': 'c' } } })
  edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/replacement-for': 'c' } } })
}

const protectedPod = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }

/** A node that a command takes though somebody protects its pod, while the one in its place is lost. */
async function protectedAndAlone(stage: Stage): Promise<void> {
  replaced(stage)
  stage.edit('pods', 'pod-a', protectedPod, 'default')
  stage.scene.fast.cluster.remove('nodes', 'aks-b')
  await wait(longMs)
}

/** A process deletes the VM of a node with a pod, which Azure does ten seconds later. */
function deletedLate(stage: Stage): void {
  nodeWithPod(stage, 'a')
  const ends = { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } }
  void new SimulatedProcess('joiner').run(() =>
    stage.scene.fast.network.carry('DELETE virtualMachines/aks-a', async () => {
      await wait(10_000)
      stage.edit('nodes', 'aks-a', ends)
    }),
  )
}

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
  'node deleted for a lost replacement': async (stage) => {
    replaced(stage)
    stage.scene.fast.cluster.remove('nodes', 'aks-b')
    await wait(longMs)
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'disrupted in a hold': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'deleted in a hold': async (stage) => {
    replaced(stage)
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
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
    // Joiner would release it.
    await cutOff(stage.scene)
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', disrupted())
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
  'account of a node': (stage) => saidOfNode(stage),
  'account of a node, account of a lifecycle': async ({ scene, edit }) => {
    await begin(scene)
    await wait(3 * 60_000)
    scene.fast.cut('joiner-0', 'kubernetes', 60 * 60_000)
    for (const name of scene.fast.cluster.names('nodeclaims'))
      edit('nodeclaims', name, { metadata: { deletionTimestamp: new Date(scene.nowMs).toISOString() } })
    await wait(12 * 60_000)
  },
  limit: async ({ scene, put }) => {
    for (const cpuLimit of [16, 8]) await scene.edit('default', { cpuLimit })
    put('nodeclaims', claimJson('a', { status: { capacity: { cpu: '7' }, conditions: ready } }))
    await wait(longMs)
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

test('the watch names a commit that another process finishes though the budget has gone', async () => {
  const wrong = await seen(async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', disrupted())
    await stage.scene.edit('default', { budget: '0' })
    await wait(1000)
    stage.scene.startedMs = stage.scene.nowMs
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'c' } } })
  })
  expect(wrong.map(({ kind }) => kind)).toEqual(['budget'])
})

test('the watch names a node with a protected pod whose Node Joiner itself deletes first', async () => {
  const wrong = await seen(async (stage) => {
    await protectedAndAlone(stage)
    for (const [kind, name] of [
      ['nodes', 'aks-a'],
      ['nodeclaims', 'a'],
    ] as const)
      await stage.joiner.delete(resourcePath(kind, name))
  })
  expect(wrong).toEqual([{ kind: 'node deleted with a protected pod', what: 'a, pod-a' }])
})

test('the watch names a VM that ends by a DELETE that was sent after a restore of etcd brought its pods back', async () => {
  const wrong = await seen(async (stage) => {
    stage.scene.etcd.restoredMs = stage.scene.nowMs
    await wait(1000)
    deletedLate(stage)
    await wait(30_000)
  })
  expect(wrong).toEqual([{ kind: 'VM ended with pods', what: 'aks-a, pod-a' }])
})

/** The third NodeClaim of a static NodePool that may have two nodes; all of them go. */
async function thirdNode({ scene, put, edit }: Stage): Promise<string> {
  await scene.edit('default', { nodes: 1 })
  await wait(longMs)
  for (const name of ['a', 'b', 'c']) {
    put('nodeclaims', claimJson(name))
    edit('nodeclaims', name, { metadata: { deletionTimestamp: new Date(scene.nowMs).toISOString() } })
  }
  return metaOf(scene.fast.cluster.server.objects.find(resourcePath('nodeclaims', 'c')) ?? {}).uid
}

test('the watch names a static NodePool with more nodes than its limit, those counted that go', async () => {
  const wrong = await seen(async (stage) => {
    const uid = await thirdNode(stage)
    const arm = await stage.scene.world.arm()
    await arm.plantVm('aks-c', { 'karpenter.azure.com_cluster': 'local', 'joiner.sh_nodeclaim-uid': uid })
    await arm.close()
    await wait(15_000)
  })
  expect(wrong).toEqual([{ kind: 'limit', what: 'default has 3 nodes of 2' }])
})

test.each(Object.entries(acts))('the watch names it: %s', async (kind, act) => {
  expect((await seen(act)).map((one) => one.kind)).toEqual(kind.split(', '))
})

const allowed: Readonly<Record<string, (stage: Stage) => void | Promise<void>>> = {
  'a third NodeClaim of a static NodePool with room for two, which goes before it has a VM': async (stage) => {
    await thirdNode(stage)
    await wait(15_000)
  },
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
  'a VM that was launched larger than its pods ask for after another plan was held to the limit': async (stage) => {
    await stage.scene.edit('default', { cpuLimit: 8 })
    await wait(longMs)
    const requests = (cpu: string) => ({ spec: { resources: { requests: { cpu } } } })
    stage.put('nodeclaims', claimJson('a', requests('3500m')))
    const launched = { ...condition('Launched'), lastTransitionTime: new Date(stage.scene.nowMs).toISOString() }
    stage.edit('nodeclaims', 'a', { status: { capacity: { cpu: '8' }, conditions: [launched] } })
    stage.put('nodeclaims', claimJson('b', requests('3500m')))
  },
  'a VM whose Node names another NodeClaim than its tags, which a restore of etcd may leave': async (stage) => {
    const owner = { kind: 'NodeClaim', name: 'a', uid: 'uid-a' }
    stage.put('nodes', { kind: 'Node', ...nodeJson('a', { metadata: { ownerReferences: [owner] } }) })
    await lostVm(stage)
  },
  'a VM of an earlier NodeClaim, for which another stands': async (stage) => {
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      'karpenter.sh/capacity-type': 'on-demand',
    }
    const metadata = { uid: '0a0a0a0a', labels, annotations: { 'joiner.sh/adopted-from': 'gone' } }
    stage.put('nodeclaims', claimJson('a', { metadata }))
    await lostVm(stage)
  },
  'a VM that somebody else ended': (stage) => {
    nodeWithPod(stage, 'a')
    stage.scene.struck.add('aks-a')
    stage.edit('nodes', 'aks-a', { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } })
  },
  'a VM whose DELETE was on its way when a restore of etcd brought its pods back': async (stage) => {
    deletedLate(stage)
    await wait(1000)
    stage.scene.etcd.restoredMs = stage.scene.nowMs
    await wait(30_000)
  },
  'a sick node with a protected pod': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(longMs)
    stage.edit('nodeclaims', 'a', disrupted('Unhealthy'))
  },
  'a node that goes for one that is there': async (stage) => {
    replaced(stage)
    await wait(longMs)
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'a node that goes for one whose Node went a moment ago': async (stage) => {
    replaced(stage)
    await wait(longMs)
    stage.scene.fast.cluster.remove('nodes', 'aks-b')
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'a node whose lifecycle is cancelled, with a protected pod and a replacement that is lost': async (stage) => {
    await protectedAndAlone(stage)
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/cancelled-at': at(0) } } })
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'a node whose Node somebody deletes, with a protected pod and a replacement that is lost': async (stage) => {
    await protectedAndAlone(stage)
    stage.scene.fast.cluster.server.delete(resourcePath('nodes', 'aks-a'))
    await stage.joiner.delete(resourcePath('nodeclaims', 'a'))
  },
  'a commit that is finished by the process that began it, after its budget went': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('nodeclaims', 'a', disrupted())
    await stage.scene.edit('default', { budget: '0' })
    stage.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'c' } } })
  },
  'a pod that is protected since a moment ago': async (stage) => {
    nodeWithPod(stage, 'a')
    stage.edit('pods', 'pod-a', protectedPod, 'default')
    await wait(20_000)
    stage.edit('nodeclaims', 'a', disrupted())
  },
  'a node that is said to stay for what is so': async (stage) => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' }
    await saidOfNode(stage, { change: () => stage.edit('nodeclaims', 'a', { metadata: { annotations } }) })
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
