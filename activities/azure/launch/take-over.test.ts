import { RestError } from '@azure/core-rest-pipeline'
import { describe, expect, test } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import type { Refusal } from '../../../test/fakes/azure.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { launch, newClaim, plant, ref, secretName, tagsOf, world } from '../../../test/fakes/launch-world.ts'
import { at, claimJson, condition, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { withRefusal } from '../refusals/class-refusals.ts'
import { awaitInstance } from './instance.ts'

useFakeTime()

describe('a VM with the name of the claim', () => {
  test('whose DELETE gets no answer is not launched again before a late DELETE has taken effect', async () => {
    const { azure, launch, launched } = world()
    plant(azure, tagsOf('uid-a'), 'Failed')
    azure.carry = async (request, effect) => {
      if (!request.startsWith('DELETE')) return effect()
      setTimeout(effect, 55_000)
      await new Promise((resolve) => setTimeout(resolve, 30_000))
      throw new RestError('no answer in 30 s', { code: RestError.REQUEST_SEND_ERROR })
    }
    const first = launch().catch((error: unknown) => error)
    await pass(31_000)
    expect(launched()?.message).toContain('no answer in 30 s')
    expect(await ended(first)).toMatchObject({ type: 'ArmUnreachable', nextRetryDelay: 30_000 })
    await pass(30_000)
    expect(azure.names('virtualMachines')).toEqual([])
  })

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

  test.each([
    ['a moment ago ends the wait of its class: the launch did not come to record it', 30, 0],
    ['long ago says nothing of what Azure accepts now', 600, 1],
  ])('and was made %s', async (_, seconds, marks) => {
    const { azure, deps, launch } = world()
    plant(azure, tagsOf('uid-a'), 'Creating')
    const timeCreated = new Date(Date.now() - 1000 * seconds).toISOString()
    azure.put('virtualMachines', 'aks-a', {
      tags: tagsOf('uid-a'),
      ...azure.get('virtualMachines', 'aks-a')?.properties,
      timeCreated,
    })
    const words = { code: 'c', signature: 's', reason: 'SizeRefused', cause: 'c', turn: '', state: '' }
    for (const vCpus of [8, 4])
      await deps.unavailable.change((all, nowMs) =>
        withRefusal(
          all,
          {
            nodeClass: 'default',
            instanceType: `Standard_D${vCpus}s_v5`,
            family: 'f',
            capacityType: 'on-demand',
            ...words,
          },
          nowMs,
        ),
      )
    expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(deps.unavailable.marks.size).toBe(marks)
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

  test('of a claim that exists is left to that claim', async () => {
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

  test.each<[string, Json, Readonly<Record<string, string>>, boolean]>([
    ['Ready: pods may run there', {}, {}, true],
    ['silent', { status: { conditions: [condition('Ready', 'Unknown')] } }, {}, false],
    ['Ready, and an operator left the VM', {}, { 'joiner.sh_abandoned': at(0) }, false],
  ])('of an earlier claim of the name is kept while its Node is %s', async (_, node, tags, isKept) => {
    const { azure, cluster, launch } = world()
    plant(azure, { ...tagsOf('uid-earlier'), ...tags })
    cluster.put('nodes', nodeJson('a', node))
    if (isKept)
      await expect(ended(launch(), 120_000)).rejects.toThrow(
        'kubectl annotate nodeclaim a joiner.sh/adopted-from=uid-earlier. Else',
      )
    else expect(await launch()).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual(isKept ? [] : ['DELETE virtualMachines/aks-a', 'PUT virtualMachines/aks-a'])
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

  test('by the time of the PUT is checked by the next attempt, and never changed', async () => {
    const { azure, launch } = world()
    const end = azure.intercept((request) => {
      if (request !== 'PUT virtualMachines/aks-a') return
      end()
      plant(azure, tagsOf('uid-a'))
    })
    await expect(launch()).rejects.toThrow('VM aks-a exists by now')
    expect(await launch(1, true)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
  })

  const secret = (uid: string) => ({ metadata: { name: secretName, namespace: 'kube-system', uid } })
  const holding = (uid: string) => ({ 'joiner.sh_bootstrap-token-uid': uid })

  test.each<[string, string | undefined, Readonly<Record<string, string>>, boolean, boolean]>([
    ['is adopted: its bootstrap token is in force', 'held', holding('held'), false, false],
    ['makes room: another try has replaced its bootstrap token', 'another', holding('held'), false, true],
    ['makes room: its bootstrap token is gone', undefined, holding('held'), false, true],
    ['is adopted without its bootstrap token: its Node has joined', undefined, holding('held'), true, false],
    ['is adopted: nothing says which bootstrap token it holds', undefined, {}, false, false],
  ])('and is its own %s', async (_, uid, tags, hasNode, isDeleted) => {
    for (const state of ['Creating', 'Updating', 'Succeeded']) {
      const { azure, cluster, launch } = world()
      plant(azure, { ...tagsOf('uid-a'), ...tags }, state)
      if (uid !== undefined) cluster.put('secrets', secret(uid))
      if (hasNode) cluster.put('nodes', nodeJson('a'))
      expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
      expect(azure.writes).toEqual(isDeleted ? ['DELETE virtualMachines/aks-a', 'PUT virtualMachines/aks-a'] : [])
      const made = cluster.object('secrets', secretName, 'kube-system')?.metadata.uid
      if (isDeleted) expect(azure.get('virtualMachines', 'aks-a')?.tags).toMatchObject(holding(String(made)))
      else if (uid !== undefined) expect(made).toBe(uid)
    }
  })

  test('that cannot join and whose deletion fails is not adopted by the next try either', async () => {
    const { azure, cluster, launch } = world()
    cluster.put('secrets', secret('another'))
    plant(azure, { ...tagsOf('uid-a'), ...holding('held') }, 'Creating')
    const end = azure.intercept((request) =>
      request === 'DELETE virtualMachines/aks-a' ? { status: 500, code: 'InternalServerError' } : undefined,
    )
    await expect(launch()).rejects.toThrow()
    end()
    expect(await launch(1, true)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
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
    const work = asAttempt(1, () => launch(deps, { claim: ref, attempt: 1 }, new AbortController().signal))
    await expect(ended(work, 120_000)).rejects.toThrow()
    expect(azure.writes).toEqual([])
  })
})

describe('the VM of a lost NodeClaim', () => {
  const again = (annotations: Json = {}) =>
    newClaim({ metadata: { annotations: { 'joiner.sh/adopted-from': 'uid-before', ...annotations } } })
  const uidOf = (azure: ReturnType<typeof world>['azure']) =>
    azure.get('virtualMachines', 'aks-a')?.tags['joiner.sh_nodeclaim-uid']

  test.each(['Succeeded', 'Updating', 'Failed'])(
    '(%s) is the claim\u2019s with its UID in the tags, and nothing else',
    async (state) => {
      const { azure, cluster, launch, launched } = world(again({ 'karpenter.azure.com/aksnodeclass-hash': '7' }))
      plant(azure, { ...tagsOf('uid-before'), team: 'a' }, state)
      cluster.put('nodes', nodeJson('a', { metadata: { ownerReferences: [] } }))
      expect(await launch()).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5', zone: 'westus2-3' })
      expect(azure.writes).toEqual(['PATCH virtualMachines/aks-a'])
      expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual({ ...tagsOf('uid-a'), team: 'a' })
      expect(launched()).toMatchObject({ status: 'True' })
      const { annotations } = cluster.object('nodeclaims', 'a')?.metadata ?? {}
      expect(annotations).toMatchObject({ 'karpenter.azure.com/aksnodeclass-hash': '7' })
      expect(annotations).not.toHaveProperty('karpenter.azure.com/in-place-update-hash')
    },
  )

  test('that somebody else changed since it was read keeps its tags until it is read again', async () => {
    const { azure, launch } = world(again())
    plant(azure, tagsOf('uid-before'))
    const end = azure.intercept((request) => {
      if (request.startsWith('PATCH ')) plant(azure, { ...tagsOf('uid-before'), team: 'b' })
      return undefined
    })
    await expect(ended(launch(), 120_000)).rejects.toThrow()
    expect(uidOf(azure)).toBe('uid-before')
    end()
    expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual({ ...tagsOf('uid-a'), team: 'b' })
  })

  test('that is Failed and has no Node any more is not taken over again and again', async () => {
    const { azure, cluster, launch } = world(again())
    plant(azure, tagsOf('uid-before'), 'Failed')
    await expect(ended(launch(), 120_000)).rejects.toThrow('az vm reapply --ids')
    expect(azure.writes).toEqual([])
    expect(cluster.object('nodeclaims', 'a')?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('is not tagged a second time', async () => {
    const { azure, launch } = world(again())
    plant(azure, tagsOf('uid-a'))
    expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual([])
  })

  test('of Karpenter gets the UID', async () => {
    const { azure, launch } = world(again({ 'joiner.sh/adopted-from': 'unknown' }))
    plant(azure, tagsOf(undefined))
    expect(await launch()).toMatchObject({ kind: 'launched' })
    expect(uidOf(azure)).toBe('uid-a')
  })

  test.each(['gone', 'Deleting'])('that is %s ends the claim, and none is made for it', async (state) => {
    const { azure, cluster, launch, reported } = world(again())
    if (state === 'Deleting') plant(azure, tagsOf('uid-before'), state)
    expect(await launch()).toEqual({ kind: 'claimGone' })
    expect(azure.writes).toEqual([])
    expect(cluster.object('nodeclaims', 'a')?.metadata.deletionTimestamp).toBeDefined()
    expect(reported).toContainEqual(expect.objectContaining({ reason: 'GarbageCollected', about: 'NodeClaim/a' }))
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['another claim of the name', tagsOf('uid-third')],
    ['another cluster', { ...tagsOf('uid-before'), 'karpenter.azure.com_cluster': 'other' }],
  ])('that is of %s by now is left alone', async (_, tags) => {
    for (const state of ['Succeeded', 'Failed']) {
      const { azure, launch } = world(again())
      plant(azure, tags, state)
      await expect(ended(launch(), 120_000)).rejects.toMatchObject({ type: 'InstanceNotOwned' })
      expect(azure.writes).toEqual([])
    }
  })

  test('is left to a NodeClaim that has that UID', async () => {
    const { azure, cluster, launch } = world(again())
    cluster.put('nodeclaims', claimJson('b', { metadata: { uid: 'uid-before' } }))
    plant(azure, tagsOf('uid-before'))
    await expect(ended(launch(), 120_000)).rejects.toMatchObject({ type: 'InstanceNotOwned' })
    expect(azure.writes).toEqual([])
  })
})

test('a process that stood still after the answer to its PUT records nothing once another try went on', async () => {
  const { azure, cluster, deps } = world(newClaim({ requirements: [] }))
  const thawed = Promise.withResolvers<void>()
  azure.carry = async (request, effect) => {
    const answer = effect()
    if (request.startsWith('PUT')) {
      azure.carry = (_, other) => other()
      await thawed.promise
    }
    return answer
  }
  const tries = (of: typeof deps, number: number, attempt: number) =>
    asAttempt(number, () => launch(of, { claim: ref, attempt }, new AbortController().signal))
  const frozen = tries(deps, 1, 1).catch((error: unknown) => error)
  await pass(1000)
  const other = azureDeps(cluster, azure).deps
  expect(await ended(tries(other, 2, 1))).toMatchObject({ kind: 'launched', capacityType: 'spot' })
  azure.becomes('aks-a', 'Failed', { code: 'OperationNotAllowed', message: 'LowPriorityCores' })
  const failed = awaitInstance(other, { ...ref, limitMs: 900_000 }, new AbortController().signal)
  expect(await ended(failed)).toMatchObject({ kind: 'failed', reason: 'SubscriptionQuotaReached' })
  expect(await ended(tries(other, 1, 2))).toMatchObject({ kind: 'launched', capacityType: 'on-demand' })
  const before = cluster.object('nodeclaims', 'a')
  thawed.resolve()
  expect(await ended(frozen)).toBeInstanceOf(Error)
  expect(cluster.object('nodeclaims', 'a')).toEqual(before)
  expect(before?.metadata.labels).toMatchObject({ 'karpenter.sh/capacity-type': 'on-demand' })
})
