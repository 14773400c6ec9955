// Azure deletes and restarts VMs slowly, late or not at all: no pod waits for it or ends by it, and no VM is left.
import { timeText } from '../../../core/values/time.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { addMachinesPool, makingMachines } from '../../arm/machines-mode.ts'
import { World } from '../../world.ts'
import { afterEach, beforeEach, expect, fastTest } from '../scenario.ts'

let world: World

const common = { conditionType: 'Hung', conditionStatus: 'True', tolerationDuration: '1s' }
const policies = [common, { ...common, reasonRegex: '^Kernel', action: 'RebootNode' }]
const settings = { FEATURE_GATES: 'NodeRepair=true', JOINER_REPAIR_POLICIES: JSON.stringify(policies) }

beforeEach(async () => {
  world = await World.start({ cloud: 'instant' })
  world.startJoiner('joiner', settings)
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterEach(() => world?.stop())

const vms = async () => (await world.azure()).virtualMachines.map(({ name }) => name)
const claims = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
const minute = 60_000

fastTest('a pod waits no longer than the launch limit for a failed VM that Azure does not get rid of', async () => {
  await world.timing({ deleteMs: 3 * 60 * minute })
  await world.fault({ kind: 'failAsync', code: 'OSProvisioningTimedOut', message: 'no boot', count: 1 })
  await world.scale('inflate', 1)
  await world.untilRunning(1, 20 * minute)
})

fastTest('a VM that a late PUT makes while its NodeClaim waits for the end of the one before goes too', async () => {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [vm = ''] = await vms()
  const arm = await world.arm()
  const { tags = {} } = (await arm.vm(vm)) as { readonly tags?: Readonly<Record<string, string>> }
  // The list is read each five seconds by then.
  await world.timing({ deleteMs: 30_000 })
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaim', vm.replace('aks-', ''), '--wait=false'])
  await world.until('Azure deletes the VM', async () => !(await vms()).includes(vm))
  await arm.plantVm(vm, tags)
  expect(await claims()).toEqual([vm.replace('aks-', '')])
  await world.timing({ deleteMs: 500 })
  await world.until(
    'NodeClaim and VM are gone',
    async () => [...(await claims()), ...(await vms())].length === 0,
    10 * minute,
  )
  await arm.close()
})

/** A node goes whose VM Azure does not get rid of twice; its pod gets another one. */
async function givenUpTwice(): Promise<void> {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [former = ''] = await claims()
  await world.fault({ kind: 'failDelete', code: 'InternalServerError', count: 2 })
  await world.operator.kubectl(['delete', 'nodeclaims', former, '--wait=false'])
  await world.until('it is gone', async () => !(await claims()).includes(former), 20 * minute)
  await world.untilRunning(1)
  expect(await vms()).toHaveLength(1)
  expect(await world.operator.simulator('GET', '/faults/hits')).toMatchObject({ failDelete: 2 })
}

fastTest('a VM whose deletion Azure gives up is deleted again', givenUpTwice)

fastTest('so is an AKS machine', async () => {
  await world.crash()
  await addMachinesPool(world)
  world.startJoiner('joiner', { ...settings, ...makingMachines })
  await givenUpTwice()
})

async function deletedLate(meanwhile: () => Promise<void>): Promise<void> {
  await world.fault({ kind: 'failAsync', code: 'OSProvisioningTimedOut', message: 'no boot', count: 1 })
  await world.fault({
    kind: 'failSync',
    operation: 'DELETE virtualMachines',
    code: 'GatewayTimeout',
    status: 504,
    count: 1,
  })
  await world.scale('inflate', 1)
  const hits = () => world.operator.simulator<Readonly<Record<string, number>>>('GET', '/faults/hits')
  await world.until('the DELETE has no result', async () => (await hits())['failSync'] === 1)
  const lateMs = Date.now() + 20_000
  await meanwhile()
  const [vm = ''] = await vms()
  await world.until('it takes effect', () => Promise.resolve(Date.now() >= lateMs))
  // Else it ends the VM with its pod.
  expect(await world.running()).toBe(0)
  const arm = await world.arm()
  await arm.deleteVm(vm)
  await arm.close()
  await world.untilRunning(1)
  expect((await world.list('nodes')).map(({ metadata }) => metadata.name)).toEqual([vm])
}

fastTest('a DELETE that Azure answers with 504 and carries out later ends no VM that was made meanwhile', () =>
  deletedLate(() => Promise.resolve()),
)

fastTest('nor does it if Joiner is killed meanwhile', () =>
  deletedLate(async () => {
    await world.crash()
    world.startJoiner('joiner', settings)
  }),
)

fastTest('nor does one that was sent by a Joiner that is killed before the answer', async () => {
  await world.fault({ kind: 'failAsync', code: 'OSProvisioningTimedOut', message: 'no boot', count: 1 })
  await world.fault({ kind: 'latency', operation: 'DELETE virtualMachines', ms: 50_000, count: 1 })
  await world.scale('inflate', 1)
  const hits = () => world.operator.simulator<Readonly<Record<string, number>>>('GET', '/faults/hits')
  await world.until('the DELETE is on its way', async () => (await hits())['latency'] === 1)
  const lateMs = Date.now() + 60_000
  await world.crash()
  world.startJoiner('joiner', settings)
  await world.untilRunning(1, 5 * minute)
  const pods = (await world.list('pods')).map(({ metadata }) => metadata.uid)
  await world.until('it has taken effect', () => Promise.resolve(Date.now() >= lateMs))
  expect((await world.list('pods')).map(({ metadata }) => metadata.uid)).toEqual(pods)
  expect(await vms()).toEqual((await world.list('nodes')).map(({ metadata }) => metadata.name))
})

async function setHung(node: string, status: 'True' | 'False'): Promise<void> {
  const time = timeText(Date.now())
  const condition = {
    type: 'Hung',
    status,
    reason: 'KernelHung',
    message: '',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  }
  const patch = JSON.stringify({ status: { conditions: [condition] } })
  await world.operator.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

const nodeOf = async () => {
  const [{ metadata } = expect.unreachable('no Node')] = await world.list('nodes')
  return world.operator.api<{
    readonly metadata: { readonly name: string }
    readonly spec: { readonly taints?: readonly { readonly key: string }[] }
    readonly status: { readonly nodeInfo: { readonly bootID: string } }
  }>('GET', `/api/v1/nodes/${metadata.name}`)
}

async function restartedLate(meanwhile: () => Promise<void>): Promise<void> {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const { metadata, status: before } = await nodeOf()
  const begunMs = Date.now()
  await world.fault({ kind: 'latency', operation: 'POST restart', ms: 50_000, count: 1 })
  await setHung(metadata.name, 'True')
  await world.until('the reboot has begun', async () =>
    (await nodeOf()).spec.taints?.some(({ key }) => key === 'karpenter.sh/rebooting'),
  )
  await setHung(metadata.name, 'False')
  await meanwhile()
  const rebooted = await world.until('the VM has booted', async () => {
    const { status } = await nodeOf()
    return status.nodeInfo.bootID !== before.nodeInfo.bootID && status.nodeInfo.bootID
  })
  await world.untilRunning(1)
  expect((await world.list('pods')).map(({ spec }) => spec.nodeName)).toEqual([metadata.name])
  await world.until('whatever was late has come', () => Promise.resolve(Date.now() > begunMs + 120_000))
  expect((await nodeOf()).status.nodeInfo.bootID).toBe(rebooted)
  expect((await nodeOf()).metadata.name).toBe(metadata.name)
}

fastTest(
  'a restart whose answer was given up is not followed by another one, which would hit the pods that came back',
  () => restartedLate(() => Promise.resolve()),
)

fastTest('nor is one that was sent by a Joiner that is killed before the answer', () =>
  restartedLate(async () => {
    const hits = () => world.operator.simulator<Readonly<Record<string, number>>>('GET', '/faults/hits')
    await world.until('the restart is asked for', async () => (await hits())['latency'] === 1)
    await world.crash()
    world.startJoiner('joiner', settings)
  }),
)
