// One kill while nodes are in every phase, and kills of the servers.
import { expect, test } from 'vitest'
import { deployment } from '../applied-objects.ts'
import type { Call } from '../faults/gate.ts'
import { scrape, sum } from '../observed/metrics.ts'
import { expectWhole } from '../whole.ts'
import { claimsPath, isTrue, type World } from '../world.ts'
import type { Durable } from './durable.ts'

const isOf = (call: Call, method: string, path: string) => call.method === method && call.path.startsWith(path)

export function everyPhaseTests(durable: () => Durable): void {
  // Held requests make it the same each time: nothing depends on which of two comes first.
  test('kill -9 while nodes are in every phase: each comes to its end, once', async () => {
    const { world, proxy, azure } = durable()
    // Such a node takes no pod of the other Deployment (durable.ts).
    const nodeSelector = { 'karpenter.azure.com/sku-cpu': '4' }
    await world.apply(deployment({ name: 'loose', cpu: '3', replicas: 1, nodeSelector }))
    await world.scale('inflate', 2)
    await world.untilRunning(2)
    await world.until('all are ready', async () => (await ready(world)).length === 3)
    const [draining, deleted] = [await nodeOf(world, 'inflate'), await nodeOf(world, 'loose')]
    await world.apply(budgetOfNone)
    await world.until('the budget allows nothing', () => isInForce(world))

    const finalizer = proxy.hold(
      (call) => isOf(call, 'PATCH', `${claimsPath}/${claimOf(deleted)}`) && call.body.includes('finalizers'),
    )
    await world.operator.kubectl(['delete', 'nodeclaim', claimOf(deleted), '--wait=false'])
    await world.operator.kubectl(['delete', 'node', draining, '--wait=false'])
    // The pod of the deleted one gets another node, whose VM is made and which is not registered yet.
    const registration = proxy.hold(
      (call) => isOf(call, 'PATCH', '/api/v1/nodes/') && !call.path.includes(draining) && !call.path.includes(deleted),
    )
    await durable().untilReached('a node that registers', registration)
    await durable().untilReached('a NodeClaim whose VM is gone', finalizer)
    expect((await world.azure()).virtualMachines.map(({ name }) => name)).not.toContain(deleted)

    const put = azure.hold((call) => call.method === 'PUT' && call.path.includes('/virtualMachines/'))
    await world.scale('inflate', 3)
    await durable().untilReached('the PUT of a VM', put)
    // Azure makes it, and its answer is lost.
    await put.carryOut()

    const create = proxy.hold((call) => isOf(call, 'POST', claimsPath))
    await world.scale('inflate', 5)
    await durable().untilReached('the creation of a NodeClaim', create)
    await create.carryOut()
    const before = await world.list('nodeclaims')
    expect(before).toHaveLength(6)
    expect(await taintsOf(world, draining)).toContain('karpenter.sh/disrupted')

    await world.crash()
    proxy.forget()
    azure.forget()
    durable().startDirect('joiner')
    await world.until('Joiner drains again, and the budget refuses', async () => {
      const values = await scrape(world)
      return (sum(values, 'karpenter_pods_eviction_requests_total', { code: '429' }) ?? 0) > 0
    })
    expect((await world.list('pods')).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
    await world.operator.kubectl(['delete', 'pdb', 'inflate'])
    await world.until('the drained node is gone', async () =>
      (await world.list('nodes')).every(({ metadata }) => metadata.name !== draining),
    )
    await world.untilRunning(5)
    const loose = claimOf(await nodeOf(world, 'loose'))
    await world.scale('loose', 0)
    await world.operator.kubectl(['delete', 'nodeclaim', loose, '--wait=false'])
    await expectWhole(world, 5)
    // One VM for each pod and each pod that was moved: nothing was made twice.
    const made = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)
    expect(new Set(made).size).toBe(8)
    const after = (await world.list('nodeclaims')).map(({ metadata }) => metadata.uid)
    const kept = before.filter(({ metadata }) => ![deleted, draining].includes(`aks-${metadata.name}`))
    expect(kept.filter(({ metadata }) => !after.includes(metadata.uid))).toHaveLength(1)
  })

  test.each(['kube-apiserver', 'temporal', 'azure'])('%s killed and started again in the middle', async (server) => {
    const { world } = durable()
    const seen = (await world.list('nodeclaims')).length
    await world.timing({ bootMs: 1000 })
    await world.scale('inflate', seen + 2)
    await world.until('NodeClaims exist', async () => (await world.list('nodeclaims')).length === seen + 2)
    await world.cluster.supervisor.restart(server, 'SIGKILL')
    await expectWhole(world, seen + 2)
    await world.timing({ bootMs: 0 })
  })
}

const claimOf = (node: string) => node.replace(/^aks-/, '')

async function ready(world: World) {
  return (await world.list('nodeclaims')).filter((claim) => isTrue(claim, 'Ready'))
}

/** The node of a pod of a Deployment. */
async function nodeOf(world: World, app: string): Promise<string> {
  return world.until(`a pod of ${app} runs`, async () => {
    const pods = await world.list('pods')
    return pods.find(({ metadata, status }) => metadata.labels?.['app'] === app && status?.phase === 'Running')?.spec
      .nodeName
  })
}

async function taintsOf(world: World, node: string): Promise<readonly string[]> {
  const found = (await world.list('nodes')).find(({ metadata }) => metadata.name === node)
  return (found?.spec.taints ?? []).map(({ key }) => key)
}

const budgetOfNone = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'inflate', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
}

async function isInForce(world: World): Promise<boolean> {
  const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets/inflate'
  const { status } = await world.operator.api<{ status?: { expectedPods?: number } }>('GET', path)
  return (status?.expectedPods ?? 0) > 0
}
