import { describe, expect, test } from 'vitest'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { newClaim, ref, world } from '../../../test/fakes/launch-world.ts'
import { at, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { createAzureActivities } from '../activities.ts'

useFakeTime()

const joining = {
  metadata: { labels: {}, finalizers: [], ownerReferences: [] },
  spec: { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] },
}

async function launching(createdAs = 'Succeeded') {
  const known = world(newClaim())
  known.azure.createdAs = createdAs
  const activities = createAzureActivities(known.deps)
  const attempt = (number: number) =>
    asAttempt(number, () => activities.launch({ claim: ref, attempt: 1, limitMs: 900_000 }))
  const work = attempt(1)
  await pass(5000)
  return { ...known, work, again: () => attempt(2) }
}

describe('a launch', () => {
  test('ends when the Node has joined and is ready', async () => {
    const { cluster, work, tokens } = await launching()
    cluster.put('nodes', nodeJson('a', joining))
    expect(await ended(work)).toMatchObject({
      kind: 'launched',
      join: { kind: 'initialized', nodeName: 'aks-a', registeredMs: Date.parse(at(5)) },
    })
    expect(tokens()).toEqual([])
  })

  test('ends without the Node after two minutes: the wait for it is a step that everybody sees', async () => {
    const { work, launched } = await launching()
    const startMs = Date.parse(at(0))
    const outcome = await ended(work, 180_000)
    expect(outcome).toMatchObject({ kind: 'launched' })
    expect(outcome).not.toHaveProperty('join')
    expect(Date.now() - startMs).toBeCloseTo(120_000, -4)
    expect(launched()).toMatchObject({ status: 'True' })
  })

  test('tells that the VM failed', async () => {
    const { azure, work, launched } = await launching('Creating')
    azure.becomes('aks-a', 'Failed', { code: 'AllocationFailed' })
    expect(await ended(work)).toMatchObject({ kind: 'launched', join: { kind: 'failed', reason: 'AllocationFailure' } })
    expect(launched()).toMatchObject({ status: 'Unknown' })
  })

  test('tells that its claim is going', async () => {
    const { cluster, work } = await launching()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(5) } })
    expect(await ended(work)).toMatchObject({ kind: 'launched', join: { kind: 'claimGone' } })
  })

  test('goes on with the wait of an attempt that was given up, and asks Azure for no other VM', async () => {
    const { azure, cluster, work: before, again } = await launching()
    const puts = azure.writes.length
    const work = again()
    await expect(before).rejects.toThrow('a later attempt goes on with it')
    await pass(5000)
    cluster.put('nodes', nodeJson('a', joining))
    expect(await ended(work)).toMatchObject({ kind: 'launched', join: { kind: 'initialized' } })
    expect(azure.writes).toHaveLength(puts)
  })
})
