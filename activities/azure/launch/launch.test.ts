import { afterEach, describe, expect, test } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { FakeAzure, type Refusal } from '../../../test/fakes/azure.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, condition, goingClaim, nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError, type Json } from '../../kubernetes/client/client.ts'
import type { LaunchOutcome } from '../contract.ts'
import { bootstrapTokenId } from './bootstrap-token.ts'
import { launch } from './launch.ts'
import { osDiskName } from './os-disk-name.ts'
import { vmTags } from './virtual-machine.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

const ref = { name: 'a', uid: 'uid-a' }
const secretName = `bootstrap-token-${bootstrapTokenId('uid-a')}`
const inValues = (key: string, ...values: string[]) => ({ key, operator: 'In', values })
const onDemand = [inValues('karpenter.sh/capacity-type', 'on-demand')]

/** A claim of a moment ago: planned, and no VM yet. */
function newClaim({ requirements = onDemand, metadata, status, ...spec }: Json = {}): Json {
  const labels = { 'karpenter.sh/nodepool': 'default' }
  return claimJson('a', {
    metadata: { labels, ...(metadata as Json) },
    spec: { requirements, resources: { requests: { cpu: '1' } }, ...spec },
    status: { nodeName: undefined, providerID: undefined, conditions: [], ...(status as Json) },
  })
}

function world(claim: Json | undefined = newClaim(), nodeClass: Json | undefined = nodeClassJson()) {
  const cluster = new FakeCluster()
  if (claim !== undefined) cluster.put('nodeclaims', claim)
  if (nodeClass !== undefined) cluster.put('aksnodeclasses', nodeClass)
  const known = azureDeps(cluster, new FakeAzure())
  stops.push(known.stop)
  return {
    cluster,
    ...known,
    /** `again`: a later try of the same attempt, after a crash or a failure. */
    launch: (attempt = 1, again = false) =>
      ended(asAttempt(again ? 2 : 1, () => launch(known.deps, ref, attempt, new AbortController().signal))),
    launched: () => cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'Launched'),
    tokens: () => cluster.all('secrets').map(({ metadata }) => metadata.name),
  }
}

/** Tags of a VM of this cluster, of the claim with this UID. */
const tagsOf = (uid: string | undefined, nodePool = 'default') => {
  const { 'joiner.sh_nodeclaim-uid': own, ...others } = vmTags({
    config: azureConfig,
    nodeClass: { tags: {} },
    claim: { uid: uid ?? '', nodePool },
  })
  return uid === undefined ? others : { ...others, 'joiner.sh_nodeclaim-uid': own as string }
}

/** A VM that stands under the claim's name. */
function plant(azure: FakeAzure, tags: Readonly<Record<string, string>>, state = 'Succeeded', attempt = 1): void {
  azure.put('virtualMachines', 'aks-a', {
    tags,
    provisioningState: state,
    hardwareProfile: { vmSize: 'Standard_D8s_v5' },
    storageProfile: {
      imageReference: { communityGalleryImageId: '/CommunityGalleries/g/images/old/versions/1' },
      osDisk: { name: osDiskName(azureConfig.clusterUid, 'a', attempt) },
    },
    zones: ['3'],
  })
}

describe('a launch', () => {
  test('makes the cheapest VM that fits, and writes what it made into the claim', async () => {
    const { azure, cluster, launch, launched, tokens } = world()
    const outcome = (await launch()) as LaunchOutcome & { kind: 'launched' }
    expect(outcome).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5', capacityType: 'on-demand' })
    expect(azure.names('virtualMachines')).toEqual(['aks-a'])
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual(tagsOf('uid-a'))
    const claim = cluster.object('nodeclaims', 'a')
    expect(claim?.metadata.labels).toMatchObject({
      'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      'topology.kubernetes.io/zone': outcome.zone,
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/nodepool': 'default',
    })
    expect(claim?.status).toMatchObject({ providerID: outcome.providerId, imageID: outcome.imageId })
    expect(launched()).toMatchObject({ status: 'True' })
    expect(tokens()).toEqual([secretName])
  })

  test.each<[string, readonly Json[], Json, string]>([
    ['spot where it may', [], { cpu: '1' }, 'Standard_D2s_v5 spot'],
    ['a larger size for larger pods', onDemand, { cpu: '3' }, 'Standard_D4s_v5 on-demand'],
    [
      'the type that the plan names',
      [inValues('node.kubernetes.io/instance-type', 'Standard_D8s_v5'), ...onDemand],
      { cpu: '1' },
      'Standard_D8s_v5 on-demand',
    ],
    [
      'nothing smaller than minimum cores',
      [{ key: 'karpenter.azure.com/sku-cpu', operator: 'Gt', values: ['4'] }],
      { cpu: '1' },
      'Standard_D8s_v5 spot',
    ],
  ])('takes %s', async (_, requirements, requests, what) => {
    const { launch } = world(newClaim({ requirements, resources: { requests } }))
    const outcome = (await launch()) as LaunchOutcome & { kind: 'launched' }
    expect(`${outcome.instanceType} ${outcome.capacityType}`).toBe(what)
  })

  test('stays in the zone that the claim names', async () => {
    const { azure, launch } = world(
      newClaim({ requirements: [...onDemand, inValues('topology.kubernetes.io/zone', 'westus2-2')] }),
    )
    expect(await launch()).toMatchObject({ zone: 'westus2-2' })
    expect(azure.get('virtualMachines', 'aks-a')?.properties['zones']).toEqual(['2'])
  })

  test('puts the finalizer on a claim that was made by hand before there is a VM', async () => {
    const { azure, cluster, launch } = world(newClaim({ metadata: { finalizers: [] } }))
    let atPut: readonly string[] | undefined
    azure.intercept((request) => {
      if (request.startsWith('PUT')) atPut = cluster.object('nodeclaims', 'a')?.metadata.finalizers
    })
    await launch()
    expect(atPut).toEqual(['karpenter.sh/termination'])
  })

  test('removes labels of an earlier launch that the new VM does not have', async () => {
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'karpenter.azure.com/sku-gpu-name': 'T4',
      'example.com/own': 'x',
    }
    const { cluster, launch } = world(newClaim({ metadata: { labels } }))
    await launch()
    const after = cluster.object('nodeclaims', 'a')?.metadata.labels
    expect(after).not.toHaveProperty(['karpenter.azure.com/sku-gpu-name'])
    expect(after).toMatchObject({ 'example.com/own': 'x' })
  })

  test('keeps the secret of the token out of claim, events, log and result', async () => {
    const { cluster, launch, told, logged } = world()
    const outcome = await launch()
    const secret = (cluster.object('secrets', secretName, 'kube-system') as unknown as { stringData: Json }).stringData[
      'token-secret'
    ] as string
    expect(secret).toMatch(/^[a-z0-9]{16}$/)
    for (const text of [outcome, cluster.object('nodeclaims', 'a'), told, logged])
      expect(JSON.stringify(text)).not.toContain(secret)
  })
})

describe('a claim for which nothing is to be launched', () => {
  test.each<[string, Json | undefined]>([
    ['that is being deleted', goingClaim('a', { status: { conditions: [] } })],
    ['whose name another has', newClaim({ metadata: { uid: 'other' } })],
    ['that is gone', claimJson('b')],
  ])('%s: no VM, and no token is left', async (_, claim) => {
    const { azure, launch, tokens } = world(claim)
    expect(await launch(1, true)).toEqual({ kind: 'claimGone' })
    expect(azure.writes).toEqual([])
    expect(tokens()).toEqual([])
  })

  test('that has its Node keeps it, whatever Azure says of the VM', async () => {
    const { azure, cluster, launch } = world(claimJson('a'))
    plant(azure, tagsOf('uid-a'), 'Failed')
    const before = cluster.object('nodeclaims', 'a')
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D4s_v5', zone: 'westus2-1' })
    expect(azure.writes).toEqual([])
    expect(cluster.object('nodeclaims', 'a')).toEqual(before)
  })

  test.each<[string, Json | undefined, RegExp]>([
    ['is missing', nodeClassJson('other'), /spec.nodeClassRef.name "default" names no AKSNodeClass/],
    ['is being deleted', nodeClassJson('default', { metadata: { deletionTimestamp: at(0) } }), /names no AKSNodeClass/],
    [
      'is not ready',
      nodeClassJson('default', {
        status: { conditions: [{ ...condition('Ready', 'False'), message: 'no subnet', observedGeneration: 1 }] },
      }),
      /is not Ready: no subnet/,
    ],
  ])('whose node class %s is told so, and nothing is made', async (_, nodeClass, message) => {
    const { azure, launch } = world(newClaim(), nodeClass)
    const outcome = await launch()
    expect(outcome.kind).toBe('nodeClassNotReady')
    expect((outcome as { message: string }).message).toMatch(message)
    expect(azure.writes).toEqual([])
  })

  test.each([
    ['of an earlier generation', { ...condition('Ready'), observedGeneration: 0 }],
    ['that is not known yet', condition('Ready', 'Unknown')],
  ])('whose node class has a readiness %s is tried again, and says so', async (_, ready) => {
    const { azure, launch, launched } = world(newClaim(), nodeClassJson('default', { status: { conditions: [ready] } }))
    await expect(launch()).rejects.toThrow('its status was not brought up to date yet')
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'NodeClassReadinessUnknown' })
    expect(azure.writes).toEqual([])
  })

  test('with a value that no node can have is refused for good', async () => {
    const requirements = [inValues('node.kubernetes.io/windows-build', 'x\nKUBELET_FLAGS=--static-pod-url=http://evil')]
    const { azure, launch, launched } = world(newClaim({ requirements }))
    expect(await launch()).toMatchObject({ kind: 'invalid' })
    expect(launched()).toMatchObject({ status: 'False', reason: 'InvalidNodeClaim' })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, readonly Json[], Json]>([
    ['no type is as large', onDemand, { cpu: '100' }],
    ['no such type exists', [inValues('node.kubernetes.io/instance-type', 'Standard_NC24')], { cpu: '1' }],
    ['no such zone exists', [inValues('topology.kubernetes.io/zone', 'westus2-9')], { cpu: '1' }],
  ])('is exhausted when %s', async (_, requirements, requests) => {
    const { azure, launch } = world(newClaim({ requirements, resources: { requests } }))
    expect(await launch()).toMatchObject({ kind: 'exhausted' })
    expect(azure.writes).toEqual([])
  })

  test('is not launched from a class without an image for the type, and is told which', async () => {
    const { azure, launch } = world(newClaim(), nodeClassJson('default', { status: { images: [] } }))
    expect(await launch()).toMatchObject({ kind: 'nodeClassNotReady' })
    expect(azure.writes).toEqual([])
  })
})

describe('Azure refuses', () => {
  const noRoom: Refusal = { status: 409, code: 'ZonalAllocationFailed', message: 'no room' }
  const noSku: Refusal = { status: 409, code: 'SkuNotAvailable', message: 'not for you' }

  test('capacity: an outcome that names what was refused, marked for all replicas, and nothing is left', async () => {
    const { azure, cluster, deps, launch, launched } = world()
    azure.refusePuts(noRoom)
    const outcome = (await launch()) as LaunchOutcome & { kind: 'capacity' }
    expect(outcome).toMatchObject({
      kind: 'capacity',
      reason: 'ZonalAllocationFailure',
      instanceType: 'Standard_D2s_v5',
    })
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'ZonalAllocationFailure' })
    expect(azure.names('virtualMachines')).toEqual([])
    const { instanceType, zone } = outcome
    for (const capacityType of ['on-demand', 'spot'])
      expect(
        deps.unavailable.isMarked({ instanceType, family: 'standardDSv5Family', vCpus: 2, zone, capacityType }),
      ).toBe(true)
    expect(Object.keys(cluster.object('configmaps', 'joiner-unavailable-offerings', 'joiner')?.data ?? {})).not.toEqual(
      [],
    )
  })

  test('one offering after the other: each attempt asks for another, until none is left', async () => {
    const requirements = [...onDemand, inValues('node.kubernetes.io/instance-type', 'Standard_D2s_v5')]
    const { azure, launch } = world(newClaim({ requirements }))
    azure.refusePuts(noRoom, noRoom, noRoom, noRoom)
    const zones: string[] = []
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await launch(attempt)
      if (outcome.kind !== 'capacity') {
        expect(outcome.kind).toBe('exhausted')
        expect((outcome as { message: string }).message).toContain('marked ZonalAllocationFailure')
        break
      }
      zones.push(outcome.zone)
    }
    // The last is regional.
    expect(zones.sort()).toEqual(['0', 'westus2-1', 'westus2-2', 'westus2-3'])
  })

  test('and the next attempt takes over without looking again: no GET of the VM, the same token', async () => {
    const { azure, launch, tokens } = world()
    azure.refusePuts(noSku)
    await launch(1)
    const gets: string[] = []
    azure.intercept((request) => {
      if (request.startsWith('GET virtualMachines/aks-a')) gets.push(request)
    })
    expect(await launch(2)).toMatchObject({ kind: 'launched' })
    expect(gets).toEqual([])
    expect(tokens()).toEqual([secretName])
  })

  test('and an attempt that is not the next looks for itself', async () => {
    const { azure, launch } = world()
    azure.refusePuts(noSku)
    await launch(1)
    plant(azure, tagsOf('uid-a'))
    expect(await launch(3)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
  })

  test('for the quota of the region: exhausted, and nothing is marked', async () => {
    const { azure, deps, launch } = world()
    const message = 'Operation could not be completed as it results in exceeding approved Total Regional Cores quota.'
    azure.refusePuts({ status: 409, code: 'OperationNotAllowed', message })
    expect(await launch()).toMatchObject({ kind: 'exhausted' })
    expect(deps.unavailable.marks.size).toBe(0)
  })

  test.each<[Refusal, string]>([
    [
      {
        status: 403,
        code: 'AuthorizationFailed',
        message: "does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write'",
      },
      'NotAuthorized',
    ],
    [{ status: 403, code: 'RequestDisallowedByPolicy', message: 'policy' }, 'PolicyDenied'],
  ])('for another reason (%j): a failure that claim and event tell, and that waits', async (refusal, type) => {
    const { azure, launch, launched, told, deps } = world()
    azure.refusePuts(refusal)
    const startedAt = Date.now()
    await expect(ended(launch(), 120_000)).rejects.toMatchObject({ type })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(10_000)
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'CreateInstanceFailed' })
    expect(told.filter(({ reason }) => reason === 'LaunchFailed').map(({ about }) => about)).toEqual(['NodeClaim/a'])
    expect(deps.unavailable.marks.size).toBe(0)
  })

  test('for another reason, and the claim is deleted meanwhile: the wait ends at once', async () => {
    const { azure, cluster, deps } = world()
    azure.refusePuts({ status: 403, code: 'AuthorizationFailed', message: 'no' })
    const work = asAttempt(1, () => launch(deps, ref, 1, new AbortController().signal))
    await pass(1000)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(1) } })
    await pass(100)
    expect(await work).toEqual({ kind: 'claimGone' })
  })

  test('and the vCPUs that were held for the claim are free again', async () => {
    const { azure, deps, launch } = world()
    azure.refusePuts(noSku)
    await launch(1)
    expect([...deps.quota.inFlight.values()].every((vCpus) => vCpus === 0)).toBe(true)
  })
})

describe('a VM that stands under the name of the claim', () => {
  test.each(['Creating', 'Updating', 'Succeeded'])('and is its own (%s) is adopted: no second PUT', async (state) => {
    const { azure, cluster, launch, launched } = world()
    plant(azure, tagsOf('uid-a'), state)
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5', zone: 'westus2-3' })
    expect(azure.writes).toEqual([])
    expect(launched()).toMatchObject({ status: 'True' })
    expect(cluster.object('nodeclaims', 'a')?.status).toMatchObject({
      imageID: '/CommunityGalleries/g/images/old/versions/1',
    })
  })

  test('and was made by Karpenter for this NodePool is adopted', async () => {
    const { azure, launch } = world()
    plant(azure, tagsOf(undefined))
    expect(await launch()).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['without tags', {}],
    ['of another cluster', { ...tagsOf('uid-a'), 'karpenter.azure.com_cluster': 'other' }],
    ['of another cluster of the same name', { ...tagsOf('uid-a'), 'joiner.sh_cluster-uid': 'other' }],
    ['of an AKS machine', { ...tagsOf('uid-a'), 'karpenter.azure.com_aksmachine_nodeclaim': 'x' }],
    ['of Karpenter for another NodePool', tagsOf(undefined, 'other')],
    ['without claim and NodePool', { 'karpenter.azure.com_cluster': 'test' }],
  ])('%s is neither adopted nor deleted, in whatever state', async (_, tags) => {
    for (const state of ['Succeeded', 'Failed', 'Creating', 'Deleting']) {
      const { azure, launch, launched } = world()
      plant(azure, tags, state)
      const before = azure.get('virtualMachines', 'aks-a')
      await expect(ended(launch(), 120_000)).rejects.toMatchObject({ type: 'InstanceNotOwned' })
      expect(azure.writes).toEqual([])
      expect(azure.get('virtualMachines', 'aks-a')).toEqual(before)
      expect(launched()?.status).toBe('Unknown')
    }
  })

  test('of a claim that lives is left to that claim', async () => {
    const { azure, cluster, launch } = world()
    cluster.put('nodeclaims', claimJson('other'))
    plant(azure, tagsOf('uid-other'))
    await expect(ended(launch(), 120_000)).rejects.toThrow('belongs to NodeClaim other')
    expect(azure.writes).toEqual([])
  })

  test('of an earlier claim of the name that is gone makes room', async () => {
    const { azure, launch } = world()
    plant(azure, tagsOf('uid-earlier'))
    azure.deletesTakeMs = 3000
    expect(await launch()).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
    expect(azure.writes).toEqual(['DELETE virtualMachines/aks-a', 'PUT virtualMachines/aks-a'])
  })

  test('and is being deleted is waited for and not deleted again', async () => {
    const { azure, launch } = world()
    plant(azure, tagsOf('uid-a'), 'Deleting')
    setTimeout(() => azure.remove('virtualMachines', 'aks-a'), 5000)
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
    expect(azure.writes).toEqual(['PUT virtualMachines/aks-a'])
  })

  test('and failed in an earlier attempt, which has been judged, makes room', async () => {
    const { azure, deps, launch } = world()
    plant(azure, tagsOf('uid-a'), 'Succeeded', 1)
    azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
    expect(deps.unavailable.marks.size).toBe(0)
  })

  test('and failed in this attempt for lack of capacity is judged now: an outcome, a mark and no VM', async () => {
    const { azure, deps, launch, launched } = world()
    plant(azure, tagsOf('uid-a'), 'Succeeded', 2)
    azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    expect(await launch(2)).toMatchObject({
      kind: 'capacity',
      reason: 'AllocationFailure',
      instanceType: 'Standard_D8s_v5',
      zone: 'westus2-3',
      capacityType: 'on-demand',
    })
    expect(azure.writes).toEqual(['DELETE virtualMachines/aks-a'])
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'AllocationFailure' })
    expect(deps.unavailable.marks.size).toBeGreaterThan(0)
  })

  test('and failed in this attempt for another reason is replaced at once', async () => {
    const { azure, launch } = world()
    plant(azure, tagsOf('uid-a'), 'Succeeded', 2)
    azure.becomes('aks-a', 'Failed', { code: 'OSProvisioningTimedOut' })
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
  })

  test('by the time of the PUT is looked at by the next try, and never changed', async () => {
    const { azure, launch } = world()
    const end = azure.intercept((request) => {
      if (request !== 'PUT virtualMachines/aks-a') return
      end()
      plant(azure, tagsOf('uid-a'))
    })
    await expect(launch()).rejects.toThrow('VM aks-a exists by now')
    expect(await launch(1, true)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
  })

  test.each<[string, Refusal]>([
    ['cannot be read', { status: 403, code: 'AuthorizationFailed' }],
    ['is in a resource group that does not exist', { status: 404, code: 'ResourceGroupNotFound' }],
    [
      'is answered for by a 404 about something else',
      { status: 404, code: 'ResourceNotFound', message: "The Resource 'Microsoft.Network/x/y' was not found" },
    ],
  ])('and %s is no proof that there is none: nothing is made', async (_, refusal) => {
    const { azure, deps } = world()
    azure.intercept((request) => (request === 'GET virtualMachines/aks-a' ? refusal : undefined))
    const work = asAttempt(1, () => launch(deps, ref, 1, new AbortController().signal))
    await expect(ended(work, 120_000)).rejects.toThrow()
    expect(azure.writes).toEqual([])
  })
})

describe('a launch that is repeated after a crash', () => {
  test('at any request leaves one VM, one token and a launched claim', async () => {
    const requests = async (failAt: number) => {
      const { azure, cluster, launch, launched, tokens } = world(newClaim({ metadata: { finalizers: [] } }))
      let count = 0
      const crash = () => {
        count += 1
        if (count === failAt) throw new Error('the process died')
      }
      // Before a request takes effect.
      cluster.intercept(({ verb }) => {
        if (verb !== 'get' && verb !== 'list') crash()
      })
      azure.intercept((request) => {
        if (!request.startsWith('GET')) crash()
      })
      await ended(launch(1), 200_000).catch(() => {})
      const made = count
      count = Number.POSITIVE_INFINITY
      await ended(launch(1, true), 200_000)
      expect(azure.names('virtualMachines')).toEqual(['aks-a'])
      expect(azure.names('disks')).toHaveLength(1)
      expect(tokens()).toEqual([secretName])
      expect(launched()).toMatchObject({ status: 'True' })
      expect(cluster.object('nodeclaims', 'a')?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
      return made
    }
    const all = await requests(0)
    expect(all).toBeGreaterThanOrEqual(5)
    for (let failAt = 1; failAt <= all; failAt += 1) await requests(failAt)
  })

  test('whose PUT went through although its answer was lost finds the VM', async () => {
    const { azure, cluster, launch } = world()
    const end = cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a/status'))
        throw new ApiError(503, 'ServiceUnavailable', 'away')
    })
    await expect(launch()).rejects.toThrow('away')
    end()
    expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual(['PUT virtualMachines/aks-a'])
  })

  test("makes a new token when the old one may lie in nobody's hands", async () => {
    const { cluster, launch } = world()
    cluster.put('secrets', {
      metadata: { name: secretName, namespace: 'kube-system', uid: 'old' },
      stringData: { 'token-secret': 'unreadable' },
    })
    await launch(1, true)
    expect(cluster.object('secrets', secretName, 'kube-system')?.metadata.uid).not.toBe('old')
  })
})
