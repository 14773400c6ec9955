// Machines that Joiner knows nothing about: nothing is adopted, deleted or drained without proof, whatever NodeClaims and settings say.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { osDiskName } from '../activities/azure/launch/os-disk-name.ts'
import { nothingReported } from '../core/node-claim/drain-waits.ts'
import { type TaskQueueRole, taskQueue } from '../core/task-queues.ts'
import { azureIds, clusterName } from '../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { ArmSession } from './arm/arm-session.ts'
import { type Seen, World } from './world.ts'

const otherGroup = 'MC_other'
const groupId = (name: string) => `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${name}`
const vmPath = 'providers/Microsoft.Compute/virtualMachines'

let world: World
let arm: ArmSession
let clusterUid: string

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  arm = await ArmSession.open(world.cluster)
  const { metadata } = await world.operator.api<Seen>('GET', '/api/v1/namespaces/kube-system')
  clusterUid = metadata.uid
  await world.operator.simulator('POST', '/settings', {
    diskEncryptionSets: [`${groupId(otherGroup)}/providers/Microsoft.Compute/diskEncryptionSets/any`],
  })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 3, apart: true }))
  await world.untilRunning(3)
})

afterAll(async () => {
  await arm?.close()
  await world?.stop()
})

let journalled = 0
beforeEach(async () => {
  journalled = (await world.journal()).length
})
afterEach(() => world.operator.simulator('DELETE', '/faults'))

/** What was asked of Azure in this test besides reads, as `METHOD name`. */
const asked = async () => (await world.journal()).slice(journalled).map(({ method, name }) => `${method} ${name}`)

/** Tags of a VM that Joiner made for a claim that is gone; `changes` of undefined take a tag away. */
function tags(changes: Readonly<Record<string, string | undefined>> = {}): Record<string, string> {
  const all = {
    'karpenter.azure.com_cluster': clusterName,
    'joiner.sh_cluster-uid': clusterUid,
    'karpenter.sh_nodepool': 'general',
    'joiner.sh_nodeclaim-uid': randomUUID(),
    ...changes,
  }
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name)
const claims = () => world.list('nodeclaims')
const claimOf = async (name: string) => (await claims()).find(({ metadata }) => metadata.name === name)
const conditionOf = (object: Seen | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)
const eventTexts = async (reason: string) =>
  (await world.list('events')).filter((event) => event.reason === reason).map(({ message = '' }) => message)

/** Runs a pass of garbage collection and waits for its end, however it ends. */
async function pass(): Promise<void> {
  const ended = async () => {
    const query = "WorkflowType = 'garbageCollection' AND ExecutionStatus != 'Running'"
    return (await world.temporal.workflow.count(query)).count
  }
  const before = await ended()
  await world.trigger('garbageCollection')
  await world.until('a pass of garbage collection ended', async () => (await ended()) > before)
}

const logged = async (text: string) => (await world.cluster.supervisor.tail('joiner', 100_000)).split(text).length - 1

/** Starts Joiner again with other settings. */
async function restart(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  const starts = await logged('"started workers"')
  await world.cluster.supervisor.stop('joiner')
  world.startJoiner('joiner', settings)
  await world.until('Joiner works', async () => (await logged('"started workers"')) > starts)
}

describe('a VM of the name of a NodeClaim that is not proven to be Joiner’s', () => {
  test.each<[string, () => Record<string, string>, string]>([
    ['without tags, as of an AKS node pool', () => ({}), 'has no tag karpenter.azure.com_cluster'],
    ['of another cluster', () => tags({ 'karpenter.azure.com_cluster': 'other' }), 'of cluster "other"'],
    [
      'of another cluster of the name',
      () => tags({ 'joiner.sh_cluster-uid': 'x' }),
      'of another cluster that is called',
    ],
    ['of AKS', () => tags({ 'karpenter.azure.com_aksmachine_nodeclaim': 'm' }), 'is a machine of AKS'],
  ])('%s is neither adopted nor deleted; the NodeClaim reports it and ends without it', async (_, own, why) => {
    const name = `nodes-32301838-vms${journalled}`
    await arm.plantVm(`aks-${name}`, own())
    journalled = (await world.journal()).length
    await world.apply(standaloneClaim(name))
    const launched = await world.until('the claim reports it', async () => {
      const condition = conditionOf(await claimOf(name), 'Launched')
      return condition?.message.includes(why) && condition
    })
    expect(launched.message).toContain(`VM aks-${name} exists already and `)
    expect((await claimOf(name))?.status).not.toHaveProperty('providerID')
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--timeout=30s'])
    await pass()
    expect(await vmNames()).toContain(`aks-${name}`)
    expect(await asked()).toEqual([])
  })

  test('keeps its Node as it is, when a NodeClaim of its name is deleted', async () => {
    const name = 'nodes-32301838-vms77'
    const vm = `aks-${name}`
    await arm.plantVm(vm, {})
    const id = `azure://${groupId(azureIds.nodeResourceGroup.toLowerCase())}/${vmPath}/${vm}`
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: vm, labels: { 'kubernetes.azure.com/agentpool': 'nodes' } },
      spec: { providerID: id },
    }
    await world.apply(node, standaloneClaim(name))
    const isBlocked = async () => conditionOf(await claimOf(name), 'Launched')?.message.includes('has no tag')
    await world.until('the claim reports it', isBlocked)
    const before = (await world.list('nodes')).find(({ metadata }) => metadata.name === vm)
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--timeout=30s'])
    const after = (await world.list('nodes')).find(({ metadata }) => metadata.name === vm)
    expect(after?.metadata.uid).toBe(before?.metadata.uid)
    expect(after?.metadata).not.toHaveProperty('deletionTimestamp')
    expect(after?.metadata.finalizers ?? []).toEqual([])
    expect(after?.metadata.labels).toEqual(before?.metadata.labels)
    // The API server and kwok taint what they do not know; Karpenter's taints are none of theirs.
    expect((after?.spec.taints ?? []).filter(({ key }) => key.startsWith('karpenter.sh/'))).toEqual([])
    await world.operator.kubectl(['delete', 'node', vm])
  })
})

test('a NodeClaim whose status names a VM elsewhere keeps its finalizer, touches no Node, and is ended by force', async () => {
  const name = 'claims-much'
  const [victim] = await claims()
  const victimNode = `aks-${victim?.metadata.name}`
  await world.operator.simulator('POST', '/faults', { kind: 'neverJoins' })
  await world.apply(standaloneClaim(name))
  await world.until('it has a VM', async () => (await vmNames()).includes(`aks-${name}`))
  await world.until('it is launched', async () => conditionOf(await claimOf(name), 'Launched')?.status === 'True')
  const providerID = `azure://${groupId(azureIds.nodeResourceGroup.toLowerCase())}/${vmPath}/${victimNode}`
  await world.operator.kubectl([
    'patch',
    'nodeclaim',
    name,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status: { providerID } }),
  ])
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
  await world.until('it says why it stays', async () => {
    const condition = conditionOf(await claimOf(name), 'InstanceTerminating')
    return condition?.reason === 'InstanceNotOwned' && condition.message.includes(victimNode)
  })
  expect(await vmNames()).not.toContain(`aks-${name}`)
  expect(await asked()).toEqual([`PUT aks-${name}`, `DELETE aks-${name}`])
  const node = (await world.list('nodes')).find(({ metadata }) => metadata.name === victimNode)
  expect(node?.metadata).not.toHaveProperty('deletionTimestamp')
  expect(node?.spec.taints ?? []).toEqual([])
  await expect(world.joiner('node', 'force-finish', name, '--reason', 'forged', '--yes')).rejects.toMatchObject({
    stderr: expect.stringContaining(`names another VM than`) as string,
  })
  await world.joiner('node', 'force-finish', name, '--reason', 'forged', '--leave-vm', '--yes')
  await world.until('it is gone', async () => (await claimOf(name)) === undefined)
  expect(await asked()).toEqual([`PUT aks-${name}`, `DELETE aks-${name}`])
})

test('garbage collection takes what is proven to be ours and nothing else', async () => {
  const disk = (claim: string, uid = clusterUid) => osDiskName(uid, claim, 1)
  await arm.plantVm('aks-own', tags(), disk('own'))
  await arm.plantVm(
    'aks-karpenters',
    tags({ 'joiner.sh_cluster-uid': undefined, 'joiner.sh_nodeclaim-uid': undefined }),
  )
  await arm.plantVm('aks-tagless', {}, disk('tagless', 'another cluster'))
  await arm.plantVm('aks-foreign', tags({ 'karpenter.azure.com_cluster': 'other' }))
  await arm.plantVm('aks-twin', tags({ 'joiner.sh_cluster-uid': 'x' }))
  await arm.plantVm('aks-machine', tags({ 'karpenter.azure.com_aksmachine_nodeclaim': 'm' }))
  await arm.plantVm('aks-half', { 'karpenter.azure.com_cluster': clusterName, 'joiner.sh_abandoned': 'yes' })
  await arm.plantVm('renamed', tags())
  for (const vm of ['aks-tagless', 'aks-foreign']) await arm.deleteVm(vm)
  const before = await world.azure()
  journalled = (await world.journal()).length
  await world.until('ours is gone with its NIC and disk', async () => {
    await pass()
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const names = [...virtualMachines.map(({ name }) => name), ...networkInterfaces, ...disks]
    return ['aks-own', 'aks-own-1', disk('own')].every((name) => !names.includes(name))
  })
  expect(await asked()).toEqual(['DELETE aks-own'])
  const after = await world.azure()
  const without = (names: readonly string[]) => names.filter((name) => !name.startsWith('aks-own'))
  expect(after.virtualMachines.map(({ name }) => name)).toEqual(without(before.virtualMachines.map(({ name }) => name)))
  expect(after.networkInterfaces).toEqual(without(before.networkInterfaces))
  expect(after.disks).toEqual(without(before.disks))
  await world.until('the disk of another cluster is reported', async () =>
    (await eventTexts('GarbageLeft')).some((text) => text.startsWith(`Disk ${disk('tagless', 'another cluster')} `)),
  )
})

describe('when most NodeClaims look lost, nothing is deleted and the reason is shown', () => {
  /** Joiner's doctor with other settings; what it says about instances. */
  async function doctor(settings: Readonly<Record<string, string>>) {
    const { command, args, cwd, env } = world.installation.commandSpec(['doctor', '--output', 'json'], settings)
    const { execFile } = await import('node:child_process')
    const stdout = await new Promise<string>((resolve) => {
      execFile(command, args, { cwd, env: { PATH: process.env['PATH'], ...env } }, (_, out) => resolve(out))
    })
    const { checks } = JSON.parse(stdout) as {
      readonly checks: readonly {
        readonly name: string
        readonly status: string
        readonly summary: string
        readonly remedies: readonly string[]
      }[]
    }
    return checks.find(({ name }) => name === 'instances')
  }

  const nodeClassCondition = async () => conditionOf((await world.list('aksnodeclasses'))[0], 'InstancesFound')

  /** The claims and Nodes of the cluster, none of which may go. */
  const living = async () =>
    [...(await claims()), ...(await world.list('nodes'))].map(
      ({ metadata }) => `${metadata.name} ${metadata.deletionTimestamp ?? ''}`,
    )

  async function withheld(why: string): Promise<void> {
    const before = await living()
    await pass()
    await world.until('the condition says so', async () => (await nodeClassCondition())?.message.includes(why))
    expect(await nodeClassCondition()).toMatchObject({ status: 'False', reason: 'InstancesMissing' })
    await world.until('an event says so', async () =>
      (await eventTexts('GarbageWithheld')).some((text) => text.includes(why)),
    )
    await pass()
    expect(await asked()).toEqual([])
    expect(await living()).toEqual(before)
  }

  test('for an empty list', async () => {
    await arm.plantVm('aks-orphan', tags())
    journalled = (await world.journal()).length
    await world.fault({ kind: 'emptyList', operation: 'GET virtualMachines', count: 1000 })
    await withheld('3 with no VM of that name')
    await world.operator.simulator('DELETE', '/faults')
    await pass()
    await world.until('the doubt is over, and the orphan goes', async () => (await nodeClassCondition()) === undefined)
    expect(await asked()).toEqual(['DELETE aks-orphan'])
  })

  test('for a resource group that exists and is not the right one', async () => {
    const settings = { AZURE_NODE_RESOURCE_GROUP: otherGroup }
    await restart(settings)
    await withheld('3 whose status.providerID names another resource group')
    expect(await doctor(settings)).toMatchObject({
      status: 'fail',
      summary: expect.stringContaining('garbage collection is withheld') as string,
      remedies: [
        `if the nodes are in ${azureIds.nodeResourceGroup.toLowerCase()}, set azure.nodeResourceGroup (AZURE_NODE_RESOURCE_GROUP) to it`,
      ],
    })
  })

  test('for the name of another cluster', async () => {
    const settings = { CLUSTER_NAME: 'other' }
    await restart(settings)
    await world.temporal.schedule.getHandle('garbageCollection/other').trigger()
    await world.until('the condition says so', async () =>
      (await nodeClassCondition())?.message.includes('3 with a VM without the tags of this cluster'),
    )
    expect(await asked()).toEqual([])
    expect(await doctor(settings)).toMatchObject({
      status: 'fail',
      remedies: [`if this cluster is "${clusterName}", set cluster.name (CLUSTER_NAME) to it`],
    })
  })

  test('for a resource group that does not exist: a NodeClaim that is deleted keeps its finalizer until the VM is found', async () => {
    await restart({ AZURE_NODE_RESOURCE_GROUP: 'MC_none' })
    const [
      {
        metadata: { name },
      } = { metadata: { name: '' } },
    ] = await claims()
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
    await world.until(
      'the deletion was tried',
      async () =>
        (
          await world.lifecycles(
            `WorkflowId STARTS_WITH 'nodeclaim/${clusterName}/${name}/' AND NodePhase = 'Terminating'`,
          )
        ).length > 0,
    )
    await world.trigger('garbageCollection')
    await world.until('Azure was asked', async () => (await logged('ResourceGroupNotFound')) > 2)
    expect((await claimOf(name))?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
    expect(await asked()).toEqual([])
    expect(await vmNames()).toContain(`aks-${name}`)
    await restart()
    // It shortens a wait of a minute; a lifecycle that has just ended by itself has nothing to retry.
    await world.joiner('node', 'retry', name, '--cluster', clusterName).catch(() => {})
    await world.until('claim and VM are gone', async () => {
      return (await claimOf(name)) === undefined && !(await vmNames()).includes(`aks-${name}`)
    })
    await world.untilRunning(3)
  })
})

/** Schedules an activity as any client of the Temporal namespace can. Waits for its end; whether it failed is of no interest. */
async function scheduled(type: string, role: TaskQueueRole, input: unknown): Promise<void> {
  const options = { taskQueue: taskQueue(role, clusterName), args: [input], retry: { maximumAttempts: 1 } }
  await world.temporal.activity
    .execute(type, { ...options, id: `forged-${type}`, startToCloseTimeout: '30s', heartbeatTimeout: '10s' })
    .catch(() => {})
  const { status } = await world.temporal.activity.getHandle(`forged-${type}`).describe()
  expect(['COMPLETED', 'FAILED']).toContain(status)
}

test('an activity that somebody schedules over Temporal destroys nothing that the cluster keeps', async () => {
  const [claim] = await claims()
  const { name = '', uid = '' } = claim?.metadata ?? {}
  const ref = { claim: { name, uid } }
  const attempts = [
    ['drain', 'wait', { ...ref, reported: nothingReported }],
    ['deleteInstance', 'azure', { ...ref, finalize: true }],
    ['finalize', 'core', { ...ref, isVmGone: true }],
    ['giveUp', 'core', { ...ref, reason: 'registration_timeout', message: 'forged' }],
    ['launch', 'azure', { ...ref, attempt: 1 }],
  ] as const
  for (const [type, role, input] of attempts) await scheduled(type, role, input)
  const after = await claimOf(name)
  expect(after?.metadata.uid).toBe(uid)
  expect(after?.metadata).not.toHaveProperty('deletionTimestamp')
  expect(after?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
  expect(await asked()).toEqual([])
  await world.untilRunning(3)
})
