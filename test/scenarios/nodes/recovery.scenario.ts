// A cluster that Karpenter left behind, lifecycles and loops that somebody terminated, and a Temporal that forgot everything: every node stays.
import { clusterName } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import type { ArmSession } from '../../arm/arm-session.ts'
import { KarpenterRemains, karpentersVm, type RawObject } from '../../karpenter-remains.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { claimsPath, isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const left = ['general-k1', 'general-k2', 'general-k3', 'general-k4', 'general-k5'] as const
/** Karpenter ended between the PUT of this one's VM and the write of its status. */
const halfLaunched = 'general-k5'

let world: World
let arm: ArmSession

const startJoiner = () => world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '3s' })

beforeAll(async () => {
  world = await World.start()
  startJoiner()
  arm = await world.arm()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(async () => {
  await arm?.close()
  await world?.stop()
})

const claimNames = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name).sort()
const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name).sort()
const running = async () => (await world.lifecycles("ExecutionStatus = 'Running'")).length

/** What the Temporal UI shows of a lifecycle, without the escapes of Markdown. */
async function details(workflowId: string): Promise<string> {
  const handle = world.temporal.workflow.getHandle(workflowId)
  const { currentDetails } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')
  return (currentDetails ?? '').replaceAll(/\\([^\w\s])/g, '$1').replaceAll('\\_', '_')
}

/** Deletes a NodeClaim and waits until nothing of it is left. */
async function deleteWhole(name: string): Promise<void> {
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
  await world.until(`nothing of ${name} is left`, async () => {
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const nodes = await world.list('nodes')
    const names = [
      ...(await claimNames()),
      ...nodes.map(({ metadata }) => metadata.name),
      ...virtualMachines.map((vm) => vm.name),
      ...networkInterfaces,
      ...disks,
    ]
    // Another NodeClaim's name may begin with this one's.
    const isOf = new RegExp(`^(aks-)?${name}(?![a-z0-9])`)
    return !names.some((each) => isOf.test(each))
  })
}

test('a cluster that Karpenter left behind keeps every node, and what is deleted later goes whole', async () => {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [example = ''] = await world.until(
    'the example is ready',
    async () => (await world.list('nodeclaims')).some((claim) => isTrue(claim, 'Initialized')) && claimNames(),
  )
  await world.crash()
  const claim = await world.operator.api<RawObject>('GET', `${claimsPath}/${example}`)
  const node = await world.operator.api<RawObject>('GET', `/api/v1/nodes/aks-${example}`)
  const karpenter = new KarpenterRemains(world, arm)
  await Promise.all(left.map((name) => karpenter.leave({ name, claim, node, isWhole: name !== halfLaunched })))
  const size = claim.metadata.labels['node.kubernetes.io/instance-type'] ?? ''
  await arm.putVm('aks-general-lost', karpentersVm('aks-general-lost', size, true))
  await arm.deleteVm('aks-general-lost')
  await world.scale('inflate', 5)
  await world.untilRunning(5)
  const before = { claims: await world.list('nodeclaims'), vms: await vmNames() }
  expect(before.vms).toHaveLength(6)
  startJoiner()
  await world.until('all have lifecycles', async () => (await running()) === 6)
  await world.scale('inflate', 6)
  await world.untilRunning(6)
  await world.until('all are nodes', async () =>
    (await world.list('nodeclaims')).every((each) => isTrue(each, 'Initialized')),
  )
  await world.until('the lost NIC is gone', async () => {
    await maintained(world)
    return !(await world.azure()).networkInterfaces.includes('aks-general-lost')
  })
  const after = await world.list('nodeclaims')
  const identities = (claims: readonly Seen[]) => claims.map(({ metadata: { name, uid } }) => `${name} ${uid}`).sort()
  expect(identities(after)).toEqual(identities(before.claims))
  expect(after.filter((each) => each.metadata.deletionTimestamp !== undefined || isTrue(each, 'Drifted'))).toEqual([])
  expect(await vmNames()).toEqual(before.vms)
  await deleteWhole('general-k1')
  await deleteWhole(halfLaunched)
  await world.untilRunning(6)
})

test('lifecycles and loops that somebody terminated run again, and what a terminated command left is freed', async () => {
  const claims = await claimNames()
  const [stamped = ''] = claims
  await world.operator.kubectl(['annotate', 'nodeclaim', stamped, 'joiner.sh/disruption-command=terminated'])
  await world.operator.kubectl(['taint', 'node', `aks-${stamped}`, 'karpenter.sh/disrupted:NoSchedule'])
  await world.until('lists know which have ended', async () => (await running()) === claims.length)
  const lost = await world.lifecycles("ExecutionStatus = 'Running'")
  for (const id of [...lost.map((one) => one.id), `provisioning/${clusterName}`, `disruption/${clusterName}`])
    await world.temporal.workflow.getHandle(id).terminate('lost on purpose')
  await world.until('all run again', async () => (await running()) === claims.length)
  await world.scale('inflate', 7)
  await world.untilRunning(7)
  await world.until('the node is free again', async () => {
    const claim = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === stamped)
    const node = (await world.list('nodes')).find(({ metadata }) => metadata.name === `aks-${stamped}`)
    return !claim?.metadata.annotations?.['joiner.sh/disruption-command'] && (node?.spec.taints ?? []).length === 0
  })
  const own = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === stamped)
  const since = (type: string) =>
    own?.status?.conditions?.find((condition) => condition.type === type)?.lastTransitionTime ?? ''
  const shown = await world.until('its lifecycle knows what happened before', async () => {
    const text = await details(lost.find(({ nodeClaim }) => nodeClaim === stamped)?.id ?? '')
    return text.includes('VM accepted') && text
  })
  expect(shown).toMatch(new RegExp(`^\\*\\*Ready since ${since('Initialized')}\\*\\*`))
  expect(shown).toContain(`- ${own?.metadata.creationTimestamp} NodeClaim ${stamped} created`)
  expect(shown).toContain(`- ${since('Launched')} VM accepted: Standard_`)
  expect(shown).toContain(`- ${since('Registered')} Node aks-${stamped} registered`)
  expect(shown).toContain(`- ${since('Initialized')} Node ready`)
  expect(await claimNames()).toEqual(expect.arrayContaining(claims))
  await deleteWhole(stamped)
  await world.untilRunning(7)
})

test('of a lifecycle that has ended and is reset the history says what it said before', async () => {
  const before = await claimNames()
  await world.scale('inflate', 8)
  await world.untilRunning(8)
  const [name = ''] = (await claimNames()).filter((one) => !before.includes(one))
  const id = (await world.lifecycles()).find(({ nodeClaim }) => nodeClaim === name)?.id ?? ''
  await world.scale('inflate', 7)
  await deleteWhole(name)
  const history = async () => {
    const told = JSON.parse(await world.joiner('history', 'node', name, '-o', 'json')) as {
      readonly lives: readonly { readonly isRunning: boolean }[]
    }
    return told.lives
  }
  const end = await endOf(world, name)
  const told = await world.until('its end is listed', async () => {
    const lives = await history()
    return lives[0]?.isRunning === false && lives
  })
  expect(told).toMatchObject([{ went: { kind: 'deleted' }, draining: expect.any(String), ended: expect.any(String) }])
  const { events } = await world.temporal.workflow.getHandle(id).fetchHistory()
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes != null)
  await world.temporal.workflowService.resetWorkflowExecution({
    namespace: world.temporal.options.namespace,
    workflowExecution: { workflowId: id },
    workflowTaskFinishEventId: first?.eventId as never,
    requestId: 'reset',
    reason: 'the blue button of a run that has ended',
  })
  expect(await endOf(world, name)).toEqual({
    status: 'COMPLETED',
    outcome: 'gone',
    reason: 'the NodeClaim was gone when this run began',
  })
  expect(end).toMatchObject({ status: 'COMPLETED', outcome: 'deleted' })
  expect((await world.temporal.workflow.getHandle(id).describe()).memo?.['facts']).not.toHaveProperty('endedMs')
  await world.until(
    'both runs are listed as ended',
    async () => (await world.lifecycles("ExecutionStatus = 'Completed'")).filter((one) => one.id === id).length === 2,
  )
  expect(await history()).toEqual(told)
})

// What temporal.bundled of the chart may lose: its one volume.
test('a Temporal whose volume is lost in the midst of launches and of an end costs time, and no node', async () => {
  const before = { claims: await claimNames(), vms: await vmNames() }
  const [ending = ''] = before.claims
  await world.timing({ bootMs: 5000 })
  await world.scale('inflate', 9)
  await world.until('two VMs boot', async () => (await vmNames()).length === before.vms.length + 2)
  const launching = (await claimNames()).filter((name) => !before.claims.includes(name))
  const launched = (await vmNames()).filter((name) => !before.vms.includes(name))
  expect(launching).toHaveLength(2)
  const nodes = (await world.list('nodes')).map(({ metadata }) => metadata.name)
  expect(launching.filter((name) => nodes.includes(`aks-${name}`))).toEqual([])
  const ended = deleteWhole(ending)
  await world.until('the node ends', async () =>
    (await world.list('nodes')).some(
      ({ metadata, spec }) =>
        metadata.name === `aks-${ending}` && (spec.taints ?? []).some(({ key }) => key === 'karpenter.sh/disrupted'),
    ),
  )
  await world.servers.loseTemporal()
  await ended
  await world.untilRunning(9)
  await world.timing({ bootMs: 0 })
  await world.until('all are nodes with lifecycles', async () => {
    const claims = await world.list('nodeclaims')
    return claims.every((each) => isTrue(each, 'Initialized')) && (await running()) === claims.length
  })
  const stay = [...before.claims.filter((name) => name !== ending), ...launching]
  expect(await claimNames()).toEqual(expect.arrayContaining(stay))
  expect(await vmNames()).toEqual(
    expect.arrayContaining([...before.vms.filter((name) => name !== `aks-${ending}`), ...launched]),
  )
  // One VM for each NodeClaim: none was launched twice.
  expect(await vmNames()).toHaveLength((await claimNames()).length)
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})
