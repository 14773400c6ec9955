import { expect, test } from 'vitest'
import { disruptionCommandId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { claimJson, nodeJson, podJson } from '../../fakes/objects.ts'
import { wait } from '../scene.ts'
import { GapAccounts } from './gap-accounts.ts'
import { cutOff, disrupted, nodeWithPod, pool, ready, type Stage, said, saidOfNode, seen } from './stage.ts'
import { everyNth, Lasting } from './wrong.ts'

const planned = { state: 'planned', finding: 'a node is to come' } as const

/** A pod of a NodePool that is there, and of one that is not. */
const funnels = ['default', 'gone'].map((name) => `NodePool ${name}: 9 types; limits: none`)

/** A node of a command that does not run, of which the answers have heard. */
async function inCommand(stage: Stage): Promise<void> {
  await cutOff(stage.scene)
  nodeWithPod(stage, 'a')
  stage.edit('nodeclaims', 'a', { ...disrupted(), metadata: { annotations: { 'joiner.sh/disruption-command': 'c' } } })
  await wait(20 * 60_000)
}

/** What is said and is not so, a part of it, by what makes it so. */
const untruths: Readonly<Record<string, (stage: Stage) => void | Promise<void>>> = {
  'neither a NodeClaim nor a Node has that name': (stage) => said(stage, { ...planned, plannedOn: ['gone-1'] }),
  'it is said to be one of 3, of which 1 wait': (stage) => said(stage, { ...planned, count: 3 }, 3),
  'provisioning is not paused': (stage) => said(stage, { state: 'held', cause: 'paused', finding: 'paused' }),
  'there is no NodePool gone that is ready': (stage) =>
    said(stage, { state: 'unschedulable', cause: 'requirements', finding: 'none', funnel: funnels }),
  '2 pods are said to wait, of 1': (stage) => said(stage, planned, 2),
  'pod default/other is said to wait, and does not': (stage) => said(stage, { ...planned, pods: ['default/other'] }),
  'USD an hour, and Azure is paid 0': async (stage) => {
    await cutOff(stage.scene)
    nodeWithPod(stage, 'a')
    await wait(40 * 60_000)
  },
  'its instanceType is said to be Standard_D4s_v5, and is Standard_D2s_v5': async (stage) => {
    await cutOff(stage.scene)
    const arm = await stage.scene.world.arm()
    await arm.plantVm('aks-a', { 'karpenter.azure.com_cluster': 'local', 'joiner.sh_nodeclaim-uid': 'uid-a' })
    await arm.close()
    nodeWithPod(stage, 'a')
    await wait(10 * 60_000)
  },
  [`it is said to be disrupted by ${disruptionCommandId(clusterName, 'c')}, which does not run`]: inCommand,
  'no command is said to be under way, and a has one': inCommand,
  'the cluster was last evaluated at': async (stage) => {
    await cutOff(stage.scene)
    await wait(30 * 60_000)
  },
  'a is said to be ready, and its Node aks-a is gone': async (stage) => {
    await cutOff(stage.scene)
    stage.put('nodeclaims', claimJson('a', { status: { nodeName: 'aks-a', conditions: ready } }))
    await wait(20 * 60_000)
  },
  'it is said to stay as the node is empty': (stage) =>
    saidOfNode(stage, {
      move: { methods: ['single-node'], outcome: 'unsuitable', cause: { kind: 'empty' } },
      change: () => stage.put('pods', podJson('pod-b', 'a')),
    }),
}

test.each(Object.entries(untruths))('an account is held against the objects: %s', async (what, act) => {
  expect((await seen(act)).map((one) => one.what)).toContainEqual(expect.stringContaining(what))
})

test.each([
  { nodes: undefined, expected: ['nothing is said of NodePool default'] },
  { nodes: 2, expected: [] },
])('why a pod waits is told of every NodePool but a static one: %o', async ({ nodes, expected }) => {
  const wrong = await seen((stage) => {
    stage.scene.pools.set(pool.name, { ...pool, revision: 0, ...(nodes === undefined ? {} : { nodes }) })
    return said(stage, { state: 'unschedulable', cause: 'requirements', finding: 'none', funnel: funnels.slice(1) })
  })
  const untold = wrong.flatMap(({ what }) => /nothing is said of NodePool \S+/.exec(what) ?? [])
  expect([...new Set(untold)]).toEqual(expected)
})

test.each([
  { node: '4', expected: true },
  { node: '8', expected: false },
])('limits count the Node of a NodeClaim that has not heard of its VM: %o', async ({ node: cpu, expected }) => {
  const wrong = await seen((stage) => {
    stage.put('nodeclaims', claimJson('a', { status: { capacity: undefined, conditions: [] } }))
    stage.put('nodes', nodeJson('a', { metadata: { ownerReferences: [] }, status: { capacity: { cpu } } }))
    return said(stage, { state: 'unschedulable', cause: 'limits', finding: 'none' })
  })
  const isNamed = wrong.some(({ what }) => what.includes('NodePool default has had room for its smallest size'))
  expect(isNamed).toBe(expected)
})

test.each([
  { cpu: '4', expected: true },
  { cpu: '4500m', expected: false },
])('limits count what a NodeClaim without a VM asks for: %o', async ({ cpu, expected }) => {
  const wrong = await seen((stage) => {
    const spec = { resources: { requests: { cpu } } }
    stage.put('nodeclaims', claimJson('a', { spec, status: { capacity: undefined, conditions: [] } }))
    return said(stage, { state: 'unschedulable', cause: 'limits', finding: 'none' })
  })
  const isNamed = wrong.some(({ what }) => what.includes('NodePool default has had room for its smallest size'))
  expect(isNamed).toBe(expected)
})

test('a pause that a restore brings back is one that planners obey, whatever the loop says of itself', async () => {
  const wrong = await seen(async (stage) => {
    await cutOff(stage.scene)
    const data = { disruption: JSON.stringify({ reason: 'audit', since: new Date(stage.scene.nowMs).toISOString() }) }
    stage.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data })
    await wait(40 * 60_000)
  })
  expect(wrong.filter(({ what }) => what.includes('paused'))).toEqual([])
})

/** A command that reads a ConfigMap and says that all is well, whatever came of it. */
const hiding = {
  status: async (_scene: unknown, _name: string, client: Stage['joiner']) => {
    await client.get('/api/v1/namespaces/joiner/configmaps/joiner-pauses').catch(() => undefined)
    return { text: 'nothing is paused; no disruption command is under way', isWhole: true }
  },
}

async function looksAt(accounts: GapAccounts): Promise<readonly string[]> {
  const looks: string[] = []
  for (let look = 0; look < everyNth.gap; look++) looks.push(...(await accounts.look()))
  return looks
}

test('an answer that hides what it could not read is named', async () => {
  await seen(async ({ scene }) => {
    const accounts = new GapAccounts(scene, hiding)
    const looks = await looksAt(accounts)
    const path = '/api/v1/namespaces/joiner/configmaps/joiner-pauses'
    expect(looks).toEqual([`joiner status  does not say that ${path} could not be read`])
  })
})

test('an answer that is made without Temporal, and does not say so, is named', async () => {
  await seen(async ({ scene }) => {
    const accounts = new GapAccounts(scene, hiding)
    scene.fast.temporal.leave(600_000)
    const looks = await looksAt(accounts)
    expect(looks).toEqual([
      'joiner status  answers as if Temporal were there',
      'joiner status  says that no disruption command is under way while Temporal is away',
    ])
  })
})

test('what is untrue at one look and true at the next is behind, and no more', () => {
  const lasting = new Lasting()
  const one = { key: 'pods', what: '2 pods', mostMs: 1000 }
  expect(lasting.look('a', [one], 0)).toEqual([])
  expect(lasting.subjects).toEqual(['a'])
  expect(lasting.look('a', [], 500)).toEqual([])
  expect(lasting.look('a', [one], 1000)).toEqual([])
  expect(lasting.look('a', [{ ...one, what: '3 pods' }], 2000)).toEqual(['3 pods'])
  lasting.keep([])
  expect(lasting.look('a', [one], 3000)).toEqual([])
})
