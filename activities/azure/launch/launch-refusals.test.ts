import { describe, expect, test } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import type { Refusal } from '../../../test/fakes/azure.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import {
  inValues,
  launch,
  newClaim,
  onDemand,
  plant,
  ref,
  secretName,
  tagsOf,
  world,
} from '../../../test/fakes/launch-world.ts'
import { at, nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import type { LaunchOutcome } from '../contract.ts'

useFakeTime()

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

  test('one offering after the other: each attempt requests another, until none is left', async () => {
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

  test('and the next attempt takes over without reading again: no GET of the VM, the same token', async () => {
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

  test('and an attempt that is not the next reads for itself', async () => {
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
    const { azure, launch, launched, reported, deps } = world()
    azure.refusePuts(refusal)
    const startedAt = Date.now()
    await expect(ended(launch(), 120_000)).rejects.toMatchObject({ type })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(10_000)
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'CreateInstanceFailed' })
    expect(reported.filter(({ reason }) => reason === 'LaunchFailed').map(({ about }) => about)).toEqual([
      'NodeClaim/a',
    ])
    expect(deps.unavailable.marks.size).toBe(0)
  })

  test('for another reason, and the claim is deleted meanwhile: the wait ends at once', async () => {
    const { azure, cluster, deps } = world()
    azure.refusePuts({ status: 403, code: 'AuthorizationFailed', message: 'no' })
    const work = asAttempt(1, () => launch(deps, { claim: ref, attempt: 1 }, new AbortController().signal))
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

  test('the last vCPUs of a family: what a failed attempt had reserved is free for the next one', async () => {
    const usages = new Map([['standarddsv5family', { limit: 2, current: 0 }]])
    const { azure, launch } = world(newClaim(), nodeClassJson(), usages)
    azure.refusePuts({ status: 500, code: 'InternalServerError' })
    await expect(launch(1)).rejects.toThrow()
    expect(await launch(1, true)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5' })
  })

  test('nothing where the quota of a family is used up: no request is sent, and the outcome names it', async () => {
    const usages = new Map([['standarddsv5family', { limit: 10, current: 10 }]])
    const { azure, launch } = world(newClaim(), nodeClassJson(), usages)
    const outcome = await launch(1)
    expect(outcome).toMatchObject({
      kind: 'exhausted',
      message: expect.stringMatching(/standarddsv5family/i) as string,
    })
    expect(azure.writes).toEqual([])
  })

  test('two claims that are launched at once take no more than is left of a quota', async () => {
    const usages = new Map([['standarddsv5family', { limit: 2, current: 0 }]])
    const { azure, cluster, deps } = world(newClaim(), nodeClassJson(), usages)
    const { metadata, ...second } = newClaim()
    cluster.put('nodeclaims', { ...second, metadata: { ...(metadata as Json), name: 'b', uid: 'uid-b' } })
    const outcomes = await ended(
      Promise.all(
        ['a', 'b'].map((name) =>
          asAttempt(1, () =>
            launch(deps, { claim: { name, uid: `uid-${name}` }, attempt: 1 }, new AbortController().signal),
          ),
        ),
      ),
    )
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['exhausted', 'launched'])
    expect(azure.names('virtualMachines')).toHaveLength(1)
  })
})

describe('what upstream publishes about a launch (reference/azure-provider.md 4.2 and 5)', () => {
  test.each<[string, Json]>([
    ['does not exist', nodeClassJson('other')],
    ['is being deleted', nodeClassJson('default', { metadata: { deletionTimestamp: at(0), finalizers: ['x'] } })],
  ])('a node class that %s: NodeClassResolutionError', async (why, nodeClass) => {
    const { launch, reported } = world(newClaim(), nodeClass)
    expect(await launch()).toMatchObject({ kind: 'nodeClassNotReady' })
    expect(reported).toContainEqual({
      reason: 'NodeClassResolutionError',
      about: 'NodeClaim/a',
      message: `Failed resolving NodeClass: AKSNodeClass default ${why}`,
    })
  })

  test('should increment the image selection error count for a family', async () => {
    const { launch, registry } = world(newClaim(), nodeClassJson('default', { status: { images: [] } }))
    expect(await launch()).toMatchObject({ kind: 'nodeClassNotReady' })
    expect(await metricLines(registry, 'karpenter_image_selection_error_count{family="Ubuntu2404"} 1')).toHaveLength(1)
  })
})
