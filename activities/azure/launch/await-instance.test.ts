import { describe, expect, test } from 'vitest'
import { FakeAzure } from '../../../test/fakes/azure.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { own, secretName, world } from '../../../test/fakes/instance-world.ts'
import { at, claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'

useFakeTime()

describe('waiting for the VM of a launched claim', () => {
  const launched = (change: Json = {}) =>
    claimJson('a', { status: { conditions: [condition('Launched'), condition('Registered', 'Unknown')], ...change } })

  test('ends when its Node has registered, whatever the state of the VM', async () => {
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

  test('that failed for lack of capacity marks the offering, revokes the token and launches again', async () => {
    const { azure, cluster, deps, awaits, reported, condition: of } = world(launched())
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
    // Upstream's event about a VM that fails after its PUT was accepted.
    expect(reported.filter(({ reason }) => reason === 'AsyncProvisioningError')).toEqual([
      {
        reason: 'AsyncProvisioningError',
        about: 'NodeClaim/a',
        message: expect.stringMatching(/^Failed to register: /) as string,
      },
    ])
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

  test.each<[string, (azure: FakeAzure) => void]>([
    ['vanishes', (azure) => azure.remove('virtualMachines', 'aks-a')],
    ['is deleted', (azure) => azure.becomes('aks-a', 'Deleting')],
  ])('that %s between its creation and its Node is launched again within a minute', async (_, change) => {
    const { azure, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Succeeded')
    const work = awaits()
    await pass(20_000)
    change(azure)
    expect(await ended(work, 60_000)).toEqual({ kind: 'vmGone' })
    expect(of('Launched')).toMatchObject({ status: 'Unknown', reason: 'InstanceNotFound' })
  })

  test('that a later list lacks and Azure still has is awaited further, as is one that fails after its creation', async () => {
    const { azure, cluster, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Succeeded')
    const work = awaits()
    await pass(20_000)
    azure.becomes('aks-a', 'Deleting')
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-a') azure.becomes('aks-a', 'Succeeded')
    })
    await pass(40_000)
    azure.becomes('aks-a', 'Failed', { code: 'VMExtensionProvisioningError' })
    await pass(120_000)
    expect(of('Launched')?.status).toBe('True')
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
  })

  test('that a list lacks after its creation and Azure calls failed keeps its token and its launch', async () => {
    const { azure, cluster, awaits, condition: of } = world(launched())
    azure.becomes('aks-a', 'Succeeded')
    const tokens = cluster.names('secrets')
    expect(tokens).toHaveLength(1)
    const work = awaits()
    await pass(20_000)
    azure.becomes('aks-a', 'Deleting')
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-a') azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    })
    await pass(60_000)
    expect(of('Launched')?.status).toBe('True')
    expect(cluster.names('secrets')).toEqual(tokens)
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await ended(work)).toEqual({ kind: 'succeeded' })
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

  const holding = (uid: string) => ({ 'joiner.sh_bootstrap-token-uid': uid })
  const ofLost = { metadata: { annotations: { 'joiner.sh/adopted-from': 'uid-before' } } }

  test.each<[string, Readonly<Record<string, string>>, { readonly hasNode?: true; readonly claim?: Json }, boolean]>([
    ['holds a bootstrap token that was replaced: it makes room', holding('before'), {}, true],
    ['holds the bootstrap token in force: it may still join', holding('now'), {}, false],
    ['holds a bootstrap token that was revoked when its Node joined', holding('before'), { hasNode: true }, false],
    ['holds nobody knows which bootstrap token', {}, {}, false],
    ['is of a lost NodeClaim, which its bootstrap token is named after', holding('before'), { claim: ofLost }, false],
  ])('whose Node is late and that %s', async (_, tags, { hasNode, claim }, neverJoins) => {
    const before = { ...claimJson('a', claim), status: launched().status }
    const { azure, cluster, awaits, reported, stopWaiting, condition: of } = world(before, { ...own, ...tags })
    cluster.put('secrets', { metadata: { name: secretName, namespace: 'kube-system', uid: 'now' } })
    if (hasNode) cluster.put('nodes', nodeJson('a'))
    const work = awaits()
    await pass(115_000)
    expect(of('Launched')?.status).toBe('True')
    await pass(40_000)
    // The next attempt deletes the VM.
    expect(azure.writes).toEqual([])
    expect(cluster.names('secrets')).toEqual([secretName])
    expect(of('Launched')).toMatchObject(
      neverJoins ? { status: 'Unknown', reason: 'BootstrapTokenLost' } : { status: 'True' },
    )
    expect(reported.map(({ reason }) => reason)).toEqual(neverJoins ? ['AsyncProvisioningError'] : [])
    stopWaiting.abort()
    if (neverJoins) expect(await ended(work)).toMatchObject({ kind: 'failed', reason: 'BootstrapTokenLost' })
    else await expect(ended(work)).rejects.toThrow()
  })

  test('that runs and whose Node does not come is diagnosed ten minutes and one minute before the end', async () => {
    const { cluster, awaits, reported, condition: of } = world(launched())
    const work = awaits()
    await pass(4.5 * 60_000)
    expect(reported).toEqual([])
    await pass(60_000)
    expect(reported.filter(({ reason }) => reason === 'NodeNotJoined')).toHaveLength(1)
    expect(of('Registered')).toMatchObject({
      status: 'Unknown',
      message: expect.stringContaining('though VM aks-a was created') as string,
    })
    await pass(9 * 60_000)
    expect(reported.filter(({ reason }) => reason === 'NodeNotJoined')).toHaveLength(2)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(1) } })
    await ended(work)
  })
})
