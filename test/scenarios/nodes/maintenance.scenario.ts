// What keeps up a cluster beside its lifecycles: told by a watch without Temporal, by one process at a time, and all of it by one Schedule.
import { maintenanceScheduleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { isTrue, World } from '../../world.ts'
import { afterAll, beforeAll, expect, keepsTime, test } from '../scenario.ts'

const replicas = ['joiner', 'second'] as const
const names = ['x', 'y', 'z']
/** Garbage collection begins 20 s after what a watch tells. By its clock it would take 2 minutes, by the Schedule 10. */
const collectedMs = 40_000

let world: World

beforeAll(async () => {
  world = await World.start()
  for (const name of replicas) world.startJoiner(name)
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), ...names.map((name) => standaloneClaim(name)))
  await world.untilReady('general')
  await world.until('all are ready', async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === names.length && claims.every((claim) => isTrue(claim, 'Ready'))
  })
})

afterAll(() => world?.stop())

const schedule = () => world.temporal.schedule.getHandle(maintenanceScheduleId(clusterName))
const runs = async () => (await world.temporal.workflow.count("WorkflowType = 'maintenance'")).count
const claimNames = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name)

const holder = async () => {
  const path = '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-maintenance'
  return (await world.operator.api<{ spec: { holderIdentity: string } }>('GET', path)).spec.holderIdentity
}

/** Real servers beside other suites have no such times. */
const expectWithin = (ms: number, sinceMs: number) => expect(keepsTime ? Date.now() - sinceMs : 0).toBeLessThan(ms)

async function retagged(team: string): Promise<void> {
  await world.apply({ ...nodeClass(), spec: { tags: { team } } })
  await world.until('the VMs have the tag', async () => {
    const { virtualMachines } = await world.operator.simulator<{
      readonly virtualMachines: readonly { readonly tags: Readonly<Record<string, string>> }[]
    }>('GET', '/state')
    return virtualMachines.every(({ tags }) => tags['team'] === team)
  })
}

test('the Schedule is there', async () => {
  expect((await schedule().describe()).spec.intervals?.[0]?.every).toBe(600_000)
  await schedule().pause('what follows is done without it')
})

test('a changed class is taken up at once, and nothing is started in Temporal for it', async () => {
  const [before, startedMs] = [await runs(), Date.now()]
  await retagged('a')
  expectWithin(15_000, startedMs)
  expect(await runs()).toBe(before)
})

test('a NodeClaim whose Node and VM are gone, and a VM whose NodeClaim is gone, are found likewise', async () => {
  const before = await runs()
  for (const name of ['x', 'y']) {
    await world.operator.simulator('POST', `/vms/aks-${name}/${name === 'x' ? 'delete' : 'stop'}`)
    await world.untilSilent(`aks-${name}`)
  }
  await world.operator.kubectl(['patch', 'node', 'aks-x', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
  await world.operator.kubectl(['delete', 'node', 'aks-x'])
  await world.operator.kubectl(['patch', 'nodeclaim', 'y', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
  await world.operator.kubectl(['delete', 'nodeclaim', 'y', '--cascade=orphan'])
  const lostMs = Date.now()
  await world.until('claim and VM are gone', async () => {
    return !(await claimNames()).includes('x') && !(await vmNames()).includes('aks-y')
  })
  expectWithin(collectedMs, lostMs)
  expect([await runs(), await claimNames(), await vmNames()]).toEqual([before, ['z'], ['aks-z']])
})

test('the process that stands by goes on when the other is killed', async () => {
  const before = await holder()
  const [killed = '', other = ''] = replicas.toSorted((name) => (before.includes(name) ? -1 : 1))
  await world.crash(killed)
  await retagged('b')
  expect(await holder()).not.toBe(before)
  world.startJoiner(killed)
  await world.crash(other)
  await retagged('c')
  world.startJoiner(other)
})

test('a part that fails does not keep the others from their end, and shows as a failed run that names it', async () => {
  await schedule().unpause('done')
  await world.fault({
    kind: 'failSync',
    operation: 'GET virtualMachines',
    code: 'AuthorizationFailed',
    status: 403,
    count: 100_000,
  })
  await maintained(world)
  const action = (await schedule().describe()).info.recentActions.at(-1)?.action
  const handle = world.temporal.workflow.getHandle(
    action?.workflow.workflowId ?? '',
    action?.workflow.firstExecutionRunId,
  )
  await expect(handle.result()).rejects.toMatchObject({
    cause: { cause: { type: 'MaintenanceFailed', message: expect.stringMatching(/^garbage: /) } },
  })
  await world.operator.simulator('DELETE', '/faults')
  await maintained(world)
  const query = "WorkflowType = 'maintenance' AND ExecutionStatus = 'Completed'"
  expect((await world.temporal.workflow.count(query)).count).toBeGreaterThan(0)
})
