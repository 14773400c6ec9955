import { afterEach, describe, expect, test } from 'vitest'
import { FakeAzure, type Refusal } from '../../../test/fakes/azure.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, goingClaim, nodeClassJson, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/client.ts'
import type { ForceFinishOutcome } from '../contract.ts'
import { bootstrapTokenId } from './bootstrap-token.ts'
import { forceFinish } from './force-finish.ts'
import { awaitInstance, deleteInstance, findInstance } from './instance.ts'
import { vmTags } from './virtual-machine.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

const ref = { name: 'a', uid: 'uid-a' }
const secretName = `bootstrap-token-${bootstrapTokenId('uid-a')}`
const own = vmTags({ config: azureConfig, nodeClass: { tags: {} }, claim: { uid: 'uid-a', nodePool: 'default' } })
const { 'joiner.sh_nodeclaim-uid': _uid, ...karpenters } = own
const elsewhere =
  'azure:///subscriptions/other/resourceGroups/mc_other/providers/Microsoft.Compute/virtualMachines/aks-a'
const denied: Refusal = { status: 403, code: 'AuthorizationFailed', message: 'no' }

function world(claim: Json = goingClaim('a'), tags: Readonly<Record<string, string>> | 'noVm' = own) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  cluster.put('aksnodeclasses', nodeClassJson())
  cluster.put('secrets', { metadata: { name: secretName, namespace: 'kube-system' } })
  const azure = new FakeAzure()
  if (tags !== 'noVm')
    azure.put('virtualMachines', 'aks-a', {
      tags,
      provisioningState: 'Succeeded',
      hardwareProfile: { vmSize: 'Standard_D4s_v5' },
      storageProfile: { osDisk: { name: 'aks-a-1' } },
      zones: ['1'],
    })
  const known = azureDeps(cluster, azure)
  stops.push(known.stop)
  const stop = new AbortController()
  return {
    cluster,
    ...known,
    stopWaiting: stop,
    deletes: () => deleteInstance(known.deps, ref, stop.signal),
    awaits: () => awaitInstance(known.deps, ref, stop.signal),
    condition: (type: string) => cluster.object('nodeclaims', 'a')?.status.conditions.find((one) => one.type === type),
  }
}

/** VMs of other owners that stand under the name of the claim's. */
const foreign: [string, Readonly<Record<string, string>>][] = [
  ['without tags', {}],
  ['of another cluster', { ...own, 'karpenter.azure.com_cluster': 'other' }],
  ['of another cluster of the same name', { ...own, 'joiner.sh_cluster-uid': 'other' }],
  ['of another NodeClaim', { ...own, 'joiner.sh_nodeclaim-uid': 'other' }],
  ['of an AKS machine', { ...own, 'karpenter.azure.com_aksmachine_nodeclaim': 'x' }],
  ['of Karpenter for another NodePool', { ...karpenters, 'karpenter.sh_nodepool': 'other' }],
]

describe('deleting the VM of a claim', () => {
  test('deletes it and resolves when Azure says that it is gone', async () => {
    const { azure, cluster, deletes, condition: of } = world()
    azure.deletesTakeMs = 20_000
    const work = deletes()
    await pass(10_000)
    expect(of('InstanceTerminating')?.status).toBe('True')
    expect(azure.names('virtualMachines')).toEqual(['aks-a'])
    expect(await ended(work)).toEqual({ existed: true })
    expect(azure.names('virtualMachines')).toEqual([])
    expect(cluster.names('secrets')).toEqual([])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['of Joiner', own],
    ['of Karpenter for the same NodePool', karpenters],
  ])('%s takes NIC and disk along', async (_, tags) => {
    const { azure, deletes } = world(goingClaim('a'), tags)
    const id = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/MC_group/providers/Microsoft.Compute/virtualMachines/aks-a`
    azure.put('networkInterfaces', 'aks-a-1', { virtualMachine: { id } })
    azure.put('disks', 'aks-a-1', { managedBy: id })
    await ended(deletes())
    expect([azure.names('networkInterfaces'), azure.names('disks')]).toEqual([[], []])
  })

  test('of a claim that nobody has deleted is refused; VM and token stay', async () => {
    const { azure, cluster, deletes } = world(claimJson('a'))
    await expect(deletes()).rejects.toThrow('metadata.deletionTimestamp is not set')
    expect(azure.writes).toEqual([])
    expect(cluster.names('secrets')).toEqual([secretName])
  })

  test.each(foreign)('%s never deletes it; the claim reports it and keeps waiting', async (_, tags) => {
    const { azure, deletes, condition: of, told } = world(goingClaim('a'), tags)
    await expect(ended(deletes())).rejects.toThrow('joiner node force-finish a --leave-vm')
    expect(azure.writes).toEqual([])
    expect(of('InstanceTerminating')).toMatchObject({ status: 'False', reason: 'InstanceNotOwned' })
    expect(told.map(({ reason }) => reason)).toEqual(['FailedTermination'])
  })

  test.each(foreign)('%s is no business of a claim that never had a VM', async (_, tags) => {
    const { azure, deletes } = world(goingClaim('a', { status: { providerID: undefined } }), tags)
    expect(await ended(deletes())).toEqual({ existed: false })
    expect(azure.writes).toEqual([])
  })

  test('whose status names a VM elsewhere waits for the operator', async () => {
    const { azure, deletes } = world(goingClaim('a', { status: { providerID: elsewhere } }), 'noVm')
    await expect(ended(deletes())).rejects.toThrow('names another VM than')
    expect(azure.writes).toEqual([])
  })

  test('that is gone already is success', async () => {
    const { deletes, cluster } = world(goingClaim('a'), 'noVm')
    expect(await ended(deletes())).toEqual({ existed: false })
    expect(cluster.names('secrets')).toEqual([])
  })

  test('of a claim that is gone is known by the UID alone', async () => {
    const { azure, deletes } = world(claimJson('b'))
    expect(await ended(deletes())).toEqual({ existed: true })
    expect(azure.names('virtualMachines')).toEqual([])
    const other = world(claimJson('b'), karpenters)
    expect(await ended(other.deletes())).toEqual({ existed: false })
    expect(other.azure.writes).toEqual([])
  })

  test('is not asked for twice while it goes', async () => {
    const { azure, deletes } = world()
    azure.becomes('aks-a', 'Deleting')
    setTimeout(() => azure.remove('virtualMachines', 'aks-a'), 3000)
    expect(await ended(deletes())).toEqual({ existed: true })
    expect(azure.writes).toEqual([])
  })

  test('does not believe a list that does not show the VM', async () => {
    const { azure, deletes } = world()
    azure.deletesTakeMs = 20_000
    azure.intercept((request) => {
      // The list comes from a place that holds no VMs at all.
      return request === 'GET virtualMachines/' ? { status: 200, body: { value: [] } } : undefined
    })
    const work = deletes()
    let isOver = false
    void work.then(() => {
      isOver = true
    })
    await pass(15_000)
    expect(isOver).toBe(false)
    expect(await ended(work)).toEqual({ existed: true })
  })

  test.each(['GET virtualMachines/aks-a', 'DELETE virtualMachines/aks-a'])(
    'fails when Azure refuses %s, and says nothing of success',
    async (what) => {
      const { azure, deletes, condition: of } = world()
      azure.intercept((request) => (request === what ? denied : undefined))
      await expect(ended(deletes())).rejects.toThrow('no')
      expect(azure.names('virtualMachines')).toEqual(['aks-a'])
      expect(of('InstanceTerminating')).toBeUndefined()
    },
  )

  test('counts how long it took', async () => {
    const { azure, deletes, deps } = world()
    azure.deletesTakeMs = 4000
    const seen: string[] = []
    deps.lifecycleMetrics.instanceTerminated = (claim) => void seen.push(claim.metadata.name)
    await ended(deletes())
    expect(seen).toEqual(['a'])
  })
})

describe('whether a claim may still have a VM', () => {
  test.each<[string, Json, Readonly<Record<string, string>> | 'noVm', boolean]>([
    ['of its own', goingClaim('a'), own, true],
    ['of its name, whoever owns it', goingClaim('a'), {}, true],
    ['none', goingClaim('a'), 'noVm', false],
    [
      'none of the name, and its status names one elsewhere',
      goingClaim('a', { status: { providerID: elsewhere } }),
      'noVm',
      true,
    ],
    ['none, and it is gone', claimJson('b'), 'noVm', false],
  ])('%s', async (_, claim, tags, exists) => {
    const { deps } = world(claim, tags)
    expect(await findInstance(deps, ref)).toEqual({ exists })
  })

  test.each<Refusal>([
    denied,
    { status: 404, code: 'ResourceGroupNotFound' },
    { status: 404, code: 'SubscriptionNotFound' },
    { status: 500, code: 'InternalServerError' },
  ])('is not known after $status $code', async (refusal) => {
    const { azure, deps } = world(goingClaim('a'), 'noVm')
    azure.intercept(() => refusal)
    await expect(findInstance(deps, ref)).rejects.toThrow()
  })

  test('with a name that no VM can have: none', async () => {
    const { deps } = world()
    expect(await findInstance(deps, { name: 'x'.repeat(61), uid: 'u' })).toEqual({ exists: false })
  })
})

describe('waiting for the VM of a launched claim', () => {
  const launched = (change: Json = {}) =>
    claimJson('a', { status: { conditions: [condition('Launched'), condition('Registered', 'Unknown')], ...change } })

  test('ends when its Node has registered, whatever Azure says', async () => {
    const { azure, cluster, awaits } = world(launched())
    azure.becomes('aks-a', 'Creating')
    const work = awaits()
    await pass(5000)
    azure.becomes('aks-a', 'Failed', { code: 'OSProvisioningTimedOut' })
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['is deleted', (cluster) => cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(1) } })],
    ['is gone', (cluster) => cluster.remove('nodeclaims', 'a')],
    ['is another by now', (cluster) => cluster.put('nodeclaims', claimJson('a', { metadata: { uid: 'other' } }))],
  ])('ends when the claim %s', async (_, change) => {
    const { azure, cluster, awaits } = world(launched())
    azure.becomes('aks-a', 'Creating')
    const work = awaits()
    await pass(2000)
    change(cluster)
    expect(await ended(work)).toEqual({ kind: 'claimGone' })
  })

  test('that failed for lack of capacity marks the offering, takes the token back and launches again', async () => {
    const { azure, cluster, deps, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Creating')
    const work = awaits()
    await pass(2000)
    azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    expect(await ended(work)).toMatchObject({
      kind: 'failed',
      reason: 'AllocationFailure',
      message: expect.stringContaining('Standard_D4s_v5 on-demand in zone westus2-1') as string,
    })
    expect(of('Launched')).toMatchObject({ status: 'Unknown', reason: 'AllocationFailure' })
    expect(deps.unavailable.marks.size).toBeGreaterThan(0)
    expect(cluster.names('secrets')).toEqual([])
  })

  test('that failed for another reason marks nothing, and waits as long as the reason asks for', async () => {
    const { azure, deps, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Failed', { code: 'AuthorizationFailed', message: 'the identity may not' })
    const startedAt = Date.now()
    expect(await ended(awaits(), 120_000)).toMatchObject({ kind: 'failed', reason: 'CreateInstanceFailed' })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(60_000)
    expect(deps.unavailable.marks.size).toBe(0)
    expect(of('Launched')).toMatchObject({ status: 'Unknown', reason: 'CreateInstanceFailed' })
  })

  test.each<[string, (azure: FakeAzure) => void]>([
    ['was deleted', (azure) => azure.remove('virtualMachines', 'aks-a')],
    ['is being deleted', (azure) => azure.becomes('aks-a', 'Deleting')],
  ])('that %s launches again', async (_, change) => {
    const { azure, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Creating')
    const work = awaits()
    await pass(2000)
    change(azure)
    expect(await ended(work)).toEqual({ kind: 'vmGone' })
    expect(of('Launched')).toMatchObject({ status: 'Unknown', reason: 'InstanceNotFound' })
  })

  test('that a list shows as failed and Azure itself as made is awaited further', async () => {
    const { azure, cluster, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-a') azure.becomes('aks-a', 'Succeeded')
    })
    const work = awaits()
    await pass(5000)
    expect(of('Launched')?.status).toBe('True')
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
  })

  test('that runs and whose Node does not come has Azure asked why, ten minutes before the end and one', async () => {
    const { cluster, awaits, told, condition: of } = world(launched())
    const work = awaits()
    await pass(4.5 * 60_000)
    expect(told).toEqual([])
    await pass(60_000)
    expect(told.filter(({ reason }) => reason === 'NodeNotJoined')).toHaveLength(1)
    expect(of('Registered')).toMatchObject({
      status: 'Unknown',
      message: expect.stringContaining('though VM aks-a was created') as string,
    })
    await pass(9 * 60_000)
    expect(told.filter(({ reason }) => reason === 'NodeNotJoined')).toHaveLength(2)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(1) } })
    await ended(work)
  })
})

describe('ending a life by force', () => {
  const asked = { atMs: Date.parse(at(30)), by: 'alice', reason: 'stuck' }
  const finish = (deps: ReturnType<typeof world>['deps'], leaveVm: boolean): Promise<ForceFinishOutcome> =>
    ended(forceFinish(deps, { claim: ref, asked, leaveVm }))
  const abandonedTag = 'joiner.sh_abandoned'

  test('of a claim that lives is refused', async () => {
    const { azure, cluster, deps, told } = world(claimJson('a'))
    const before = cluster.object('nodeclaims', 'a')
    expect(await finish(deps, true)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is not being deleted') as string,
    })
    expect(cluster.object('nodeclaims', 'a')).toEqual(before)
    expect(azure.writes).toEqual([])
    expect(told.map(({ reason }) => reason)).toEqual(['ForceFinishRefused'])
  })

  test('without a reason is refused', async () => {
    const { deps, cluster } = world()
    const outcome = await forceFinish(deps, { claim: ref, asked: { atMs: 0 }, leaveVm: true })
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test('while the VM exists is refused, unless it may be left', async () => {
    const { azure, deps, cluster } = world()
    expect(await finish(deps, false)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('VM aks-a exists (Succeeded)') as string,
    })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
    expect(azure.writes).toEqual([])
  })

  test('leaves the VM to garbage collection by a tag, and lets Node and claim go', async () => {
    const { azure, cluster, deps } = world()
    cluster.put('nodes', nodeJson('a'))
    const outcome = await finish(deps, true)
    expect(outcome).toMatchObject({
      kind: 'finished',
      vm: expect.stringMatching(/\/virtualMachines\/aks-a$/) as string,
    })
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual({ ...own, [abandonedTag]: '2026-01-01T00:00:30.000Z' })
    expect([cluster.names('nodeclaims'), cluster.names('nodes'), cluster.names('secrets')]).toEqual([[], [], []])
  })

  test('leaves a VM that cannot be tagged as it is, and says how to delete it', async () => {
    const { azure, cluster, deps } = world()
    azure.intercept((request) => (request.startsWith('PATCH') ? denied : undefined))
    const outcome = (await finish(deps, true)) as ForceFinishOutcome & { kind: 'finished' }
    expect(outcome.left).toContain('az vm delete --ids')
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test.each(foreign)('never touches a VM %s', async (_, tags) => {
    const { azure, cluster, deps } = world(goingClaim('a'), tags)
    expect(await finish(deps, false)).toMatchObject({ kind: 'refused' })
    expect(await finish(deps, true)).toMatchObject({
      kind: 'finished',
      left: expect.stringContaining('its VM stays as it is') as string,
    })
    expect(azure.writes).toEqual([])
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test('when Azure does not answer is refused, or leaves the VM that may be there', async () => {
    const { azure, cluster, deps } = world()
    azure.intercept(() => denied)
    expect(await finish(deps, false)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is not known') as string,
    })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
    const outcome = (await finish(deps, true)) as ForceFinishOutcome & { kind: 'finished' }
    expect(outcome.vm).toMatch(/aks-a$/)
    expect(cluster.names('nodeclaims')).toEqual([])
  })

  test('after the VM is gone leaves the last step to the role that may delete pods', async () => {
    const { cluster, deps } = world(goingClaim('a'), 'noVm')
    expect(await finish(deps, false)).toEqual({ kind: 'finished', isVmGone: true })
    expect(cluster.names('nodeclaims')).toEqual(['a'])
  })

  test('of a claim that is gone is success', async () => {
    const { deps } = world(claimJson('b'))
    expect(await finish(deps, false)).toEqual({ kind: 'finished' })
  })
})

test('the metrics of Azure calls name what failed', async () => {
  const { azure, deps, registry } = world(goingClaim('a'), 'noVm')
  azure.intercept(() => denied)
  await findInstance(deps, ref).catch(() => {})
  expect(await metricLines(registry, 'karpenter_cloudprovider_errors_total{')).toEqual([
    'karpenter_cloudprovider_errors_total{controller="",method="Get",provider="azure",error="unknown",nodepool=""} 1',
  ])
})
