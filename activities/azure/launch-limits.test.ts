import { describe, expect, test } from 'vitest'
import { type AttemptInfo, asAttempt } from '../../test/fakes/attempt.ts'
import { newClaim, plant, ref, tagsOf, world } from '../../test/fakes/launch-world.ts'
import { at, condition, nodeJson } from '../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../test/fakes/time.ts'
import { createAzureActivities } from './activities.ts'

useFakeTime()

const minute = 60_000
const refused = { status: 403, code: 'AuthorizationFailed', message: 'no' }
const time = (seconds: number) => Date.parse(at(seconds))

/** A claim whose launch runs as the activity does. `afterMs`: when the claim's creation was. */
async function launches(afterMs: number, claim = newClaim()) {
  const known = world(claim)
  const activities = createAzureActivities(known.deps)
  await pass(afterMs)
  return {
    ...known,
    attempt: (info: AttemptInfo = {}, input: { readonly idleSinceMs?: number } = {}, attempt = 1) =>
      asAttempt(attempt, () => activities.launch({ claim: ref, attempt: 3, ...input }), info),
    annotations: () => known.cluster.object('nodeclaims', 'a')?.metadata.annotations,
  }
}

describe('the time of all attempts is over', () => {
  test('without a VM: only then it is a timeout, and nothing is created', async () => {
    const { attempt, azure } = await launches(15 * minute)
    expect(await ended(attempt())).toMatchObject({ kind: 'timeout' })
    expect(azure.names('virtualMachines')).toEqual([])
  })

  test.each(['Creating', 'Updating', 'Succeeded'])('with a VM that is %s: it is taken over', async (state) => {
    const { attempt, azure, launched } = await launches(60 * minute)
    plant(azure, tagsOf('uid-a'), state)
    expect(await ended(attempt())).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
    expect(launched()).toMatchObject({ status: 'True' })
    expect(azure.writes).toEqual([])
  })

  test("with another's VM under the claim's name: that is none of the claim's, which would wait for ever", async () => {
    const { attempt, azure } = await launches(15 * minute)
    plant(azure, { ...tagsOf('uid-a'), 'karpenter.azure.com_cluster': 'other' })
    expect(await ended(attempt())).toMatchObject({ kind: 'timeout' })
    expect(azure.writes).toEqual([])
  })

  test('and Azure does not say whether there is a VM: that is no timeout', async () => {
    const { attempt, azure } = await launches(60 * minute)
    azure.intercept((request) => (request.startsWith('GET virtualMachines/') ? refused : undefined))
    await expect(ended(attempt(), 5 * minute)).rejects.toThrow()
  })

  test('and its Node has joined although Azure knows no VM: that is no timeout', async () => {
    const { attempt, cluster } = await launches(60 * minute)
    cluster.put('nodes', nodeJson('a', { metadata: { ownerReferences: [] } }))
    await expect(ended(attempt())).rejects.toThrow('its Node aks-a has joined, but Azure has no VM of it')
  })

  test('by the clock, but no worker was there for most of it: the launch goes on', async () => {
    const { attempt, azure, annotations } = await launches(60 * minute)
    const outcome = await ended(attempt({}, { idleSinceMs: time(0) }))
    expect(outcome).toMatchObject({ kind: 'launched', endedMs: Date.now() })
    expect(azure.names('virtualMachines')).toEqual(['aks-a'])
    expect(annotations()).toMatchObject({
      'joiner.sh/time-away': '2026-01-01T00:00:00.000Z/2026-01-01T01:00:00.000Z',
    })
  })

  test('a second gap is added to the first, also by an attempt whose worker was lost', async () => {
    const away = '2026-01-01T00:05:00.000Z/2026-01-01T00:40:00.000Z'
    const { attempt, annotations } = await launches(
      60 * minute,
      newClaim({ metadata: { annotations: { 'joiner.sh/time-away': away } } }),
    )
    const last = { atMs: time(45 * 60), gaps: [] }
    expect(await ended(attempt({ firstScheduledMs: time(42 * 60), last }, {}, 2))).toMatchObject({ kind: 'launched' })
    expect(annotations()).toMatchObject({
      'joiner.sh/time-away': `${away},2026-01-01T00:45:00.000Z/2026-01-01T01:00:00.000Z`,
    })
  })
})

describe('an attempt', () => {
  test('that began more than 5 minutes ago is over before it does anything', async () => {
    const { attempt, azure } = await launches(6 * minute)
    expect(
      await ended(attempt({ firstScheduledMs: time(60), last: { atMs: time(359), gaps: [], hasEnded: true } }, {}, 4)),
    ).toMatchObject({ kind: 'late', message: 'the attempt had not ended after 5 minutes' })
    expect(azure.names('virtualMachines')).toEqual([])
  })

  test('has its time where Temporal’s clock is minutes behind', async () => {
    const { attempt } = await launches(1000)
    expect(await ended(attempt({ firstScheduledMs: time(-360) }))).toMatchObject({ kind: 'launched' })
  })

  test('that fails with time for another try fails, and says with its last heartbeat that it has ended', async () => {
    const { attempt, azure } = await launches(0)
    azure.refusePuts({ status: 500, code: 'InternalServerError' })
    const beats: unknown[] = []
    await expect(ended(attempt({ beats }))).rejects.toThrow()
    expect(beats).toEqual([{ atMs: time(0), attempt: 1, gaps: [], hasEnded: true }])
  })

  test('that fails without time for another one ends at its limit, to the second, with the cause', async () => {
    const { attempt, azure } = await launches(4.9 * minute)
    azure.refusePuts({ status: 500, code: 'InternalServerError' })
    const outcome = await ended(
      attempt({ firstScheduledMs: time(0), last: { atMs: time(280), gaps: [], hasEnded: true } }, {}, 9),
    )
    expect(outcome).toMatchObject({ kind: 'late', message: expect.stringContaining('InternalServerError') as string })
    expect(Date.now()).toBe(time(300))
  })

  test('never outlasts the time of the claim', async () => {
    const { attempt, azure } = await launches(14.9 * minute)
    azure.refusePuts(refused)
    expect(await ended(attempt(), 10 * minute)).toMatchObject({
      kind: 'late',
      message: expect.stringContaining('AuthorizationFailed') as string,
    })
    expect(Date.now()).toBe(time(900))
  })

  test('whose claim is deleted while it waits for its limit ends at once', async () => {
    const { attempt, azure, cluster } = await launches(14.9 * minute)
    azure.refusePuts(refused)
    const work = attempt()
    await pass(1000)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(895) } })
    expect(await ended(work, 500)).toMatchObject({ kind: 'claimGone' })
  })

  test('of a claim that has its Node is over, whatever the time', async () => {
    const claim = newClaim({
      metadata: { labels: { 'node.kubernetes.io/instance-type': 'Standard_D2s_v5' } },
      status: { providerID: 'azure:///vm', conditions: [condition('Launched'), condition('Registered')] },
    })
    const { attempt } = await launches(60 * minute, claim)
    expect(await ended(attempt())).toMatchObject({ kind: 'launched', providerId: 'azure:///vm' })
  })
})
