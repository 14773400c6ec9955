// A NodeClaim whose status names a VM that is not its own: it is kept, and says so until it is corrected or given up.
import { nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { claimsPath, isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const foreignId = 'Provider:///AZ/i-01234567890123456'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass())
  for (const name of ['mine', 'odd', 'gone']) await world.apply(standaloneClaim(name))
  await world.until('all are ready', async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === 3 && claims.every((claim) => isTrue(claim, 'Ready'))
  })
})

afterAll(async () => {
  await world?.stop()
})

const claimOf = async (name: string) => (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === name)
const conditionOf = (claim: Seen | undefined, type: string) =>
  claim?.status?.conditions?.find((condition) => condition.type === type)

const setProviderId = (name: string, providerID: string) =>
  world.operator.api('PATCH', `${claimsPath}/${name}/status`, { status: { providerID } })

const pass = () => maintained(world)

/** What was said of a NodeClaim: events of the reason, and lines of the log. */
async function said(name: string): Promise<readonly [number, number]> {
  const events = (await world.list('events')).filter(
    ({ reason, involvedObject }) => reason === 'InstanceNotOwned' && involvedObject?.name === name,
  )
  const lines = (await world.cluster.supervisor.tail('joiner', 100_000)).split('\n')
  const own = lines.filter((line) => line.includes('VM of nodeclaim is not its own') && line.includes(`"${name}"`))
  return [events.length, own.length]
}

test('it is said within a pass, once, with the remedy; the remedy helps', async () => {
  const { status: before } = await world.operator.api<{ status: { providerID: string } }>('GET', `${claimsPath}/odd`)
  const own = before.providerID
  await setProviderId('odd', foreignId)
  await pass()
  const unowned = conditionOf(await claimOf('odd'), 'InstanceOwned')
  expect(unowned).toMatchObject({ status: 'False', reason: 'InstanceNotOwned' })
  expect(unowned?.message).toContain(`status.providerID "${foreignId}" names another VM than ${own}`)
  expect(conditionOf(await claimOf('odd'), 'Ready')).toMatchObject({ status: 'False', message: unowned?.message })
  await world.until('an event says so', async () => (await said('odd'))[0] === 1)
  for (let passes = 0; passes < 3; passes++) await pass()
  expect(await said('odd')).toEqual([1, 1])
  const why = await world.joiner('why', 'node', 'odd')
  expect(why).toContain(`its VM is not its own: ${unowned?.message}`)
  expect(why).toContain('made by hand, without a NodePool')

  await setProviderId('odd', own)
  await pass()
  await world.until('it is Ready again', async () => isTrue((await claimOf('odd')) as Seen, 'Ready'))
  expect(conditionOf(await claimOf('odd'), 'InstanceOwned')).toBeUndefined()
  for (const name of ['mine', 'gone']) expect(await said(name)).toEqual([0, 0])
})

test('without its Node it is kept all the same, and a person can give it up', async () => {
  for (const name of ['gone', 'mine']) {
    const node = `aks-${name}`
    await world.operator.simulator('POST', `/vms/${node}/stop`)
    await world.untilSilent(node)
    await world.operator.kubectl(['patch', 'node', node, '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
    await world.operator.kubectl(['delete', 'node', node])
    await world.until('its Node is gone', async () => conditionOf(await claimOf(name), 'NodeGone') !== undefined)
  }
  await setProviderId('gone', foreignId)
  await pass()
  const isWithheld = ({ reason, message }: Seen) =>
    reason === 'NodeGoneWithheld' && message?.includes('the NodeClaim is kept: status.providerID')
  // NodeClaims without their Node end after two minutes.
  await world.until('its end is withheld', async () => (await world.list('events')).some(isWithheld), 300_000)
  expect((await claimOf('gone'))?.metadata).not.toHaveProperty('deletionTimestamp')
  // That of the other one ends with its VM.
  expect(await endOf(world, 'mine')).toMatchObject({
    status: 'COMPLETED',
    outcome: 'node-gone',
    reason: expect.stringMatching(/^Node gone: since 20/),
  })

  const { message = '' } = conditionOf(await claimOf('gone'), 'InstanceOwned') ?? {}
  expect(message).toContain('kubectl delete nodeclaim gone --wait=false, then joiner node force-finish gone --leave-vm')
  await world.operator.kubectl(['delete', 'nodeclaim', 'gone', '--wait=false'])
  await world.until(
    'its termination says the same',
    async () => conditionOf(await claimOf('gone'), 'InstanceTerminating')?.message === message,
  )
  await world.joiner('node', 'force-finish', 'gone', '--leave-vm', '--reason', 'its VM is unknown', '--yes')
  await world.until('it is gone', async () => (await claimOf('gone')) === undefined)
  await world.until('its own VM is gone', async () =>
    (await world.azure()).virtualMachines.every(({ name }) => name !== 'aks-gone'),
  )
})
