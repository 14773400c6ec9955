// Machines and Nodes that are not proven to be Joiner's: nothing is adopted, deleted or drained, whatever NodeClaims, Nodes and settings say.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { osDiskName } from '../activities/azure/launch/os-disk-name.ts'
import { nothingReported } from '../core/node-claim/drain-waits.ts'
import { lifecycleId } from '../core/task-queues.ts'
import { azureIds, clusterName } from '../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { ArmSession } from './arm/arm-session.ts'
import { maintained } from './observed/maintenance-passes.ts'
import {
  asNode,
  conditionOf,
  groupId,
  idOf,
  instancesCheck,
  node,
  ownGroup,
  refusals,
  scheduleActivity,
  tags as tagsFor,
} from './ownership/foreign.ts'
import { claimsPath, World } from './world.ts'

const otherGroup = 'MC_other'

let world: World
let arm: ArmSession
let clusterUid: string

beforeAll(async () => {
  world = await World.start()
  // The kubelets of these VMs leave their provider ids to cloud-node-manager, which the policy has to let pass.
  await world.operator.simulator('POST', '/settings', { providerIdMs: 500 })
  world.startJoiner()
  arm = await ArmSession.open(world.cluster)
  clusterUid = (await world.clusterMemo()).clusterUid
  await world.operator.simulator('POST', '/settings', {
    diskEncryptionSets: [`${groupId(otherGroup)}/providers/Microsoft.Compute/diskEncryptionSets/any`],
  })
  await world.apply(nodePool(), nodeClass(), deployment({ replicas: 3, apart: true }))
  await world.untilRunning(3)
  await world.operator.simulator('POST', '/settings', { providerIdMs: 0 })
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

/** Tags of a VM that Joiner made for a claim that is gone. */
const tags = (changes: Readonly<Record<string, string | undefined>> = {}) => tagsFor(clusterUid, changes)

const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name)
const claims = () => world.list('nodeclaims')
const claimOf = async (name: string) => (await claims()).find(({ metadata }) => metadata.name === name)
const eventTexts = async (reason: string) => (await events(reason)).map(({ message = '' }) => message)

const pass = () => maintained(world)

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
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: vm, labels: { 'kubernetes.azure.com/agentpool': 'nodes' } },
      spec: { providerID: idOf(vm) },
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
  const providerID = idOf(victimNode)
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
  const nodeClassCondition = async () => conditionOf((await world.list('aksnodeclasses'))[0], 'InstancesFound')

  /** The claims and Nodes of the cluster, none of which may go. */
  const living = async () =>
    [...(await claims()), ...(await world.list('nodes'))].map(
      ({ metadata }) => `${metadata.name} ${metadata.deletionTimestamp ?? ''}`,
    )

  test('for an empty list', async () => {
    await arm.plantVm('aks-orphan', tags())
    journalled = (await world.journal()).length
    await world.fault({ kind: 'emptyList', operation: 'GET virtualMachines', count: 1000 })
    const why = '3 with no VM of that name'
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
    await world.operator.simulator('DELETE', '/faults')
    await pass()
    await world.until('the doubt is over, and the orphan goes', async () => (await nodeClassCondition()) === undefined)
    expect(await asked()).toEqual(['DELETE aks-orphan'])
  })

  test.each([
    [
      'resource group',
      { AZURE_NODE_RESOURCE_GROUP: otherGroup },
      `if the nodes are in ${azureIds.nodeResourceGroup.toLowerCase()}, set azure.nodeResourceGroup (AZURE_NODE_RESOURCE_GROUP) to it`,
    ],
    [
      'cluster',
      { CLUSTER_NAME: 'other' },
      `if this cluster is "${clusterName}", set cluster.name (CLUSTER_NAME) to it`,
    ],
  ])('and the doctor names the setting that names another %s', async (_, settings, remedy) => {
    expect(await instancesCheck(world, settings)).toMatchObject({
      status: 'fail',
      summary: expect.stringContaining('garbage collection is withheld') as string,
      remedies: [remedy],
    })
  })

  test('for a resource group that is not there: a NodeClaim that is deleted keeps its finalizer until the VM is found', async () => {
    const name = 'unfound'
    await world.apply(standaloneClaim(name))
    await world.until('it has its node', async () => conditionOf(await claimOf(name), 'Ready')?.status === 'True')
    journalled = (await world.journal()).length
    const before = await refusals(world)
    const code = 'ResourceGroupNotFound'
    await world.fault({ kind: 'failSync', operation: 'GET virtualMachines', code, status: 404, count: 1000 })
    await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
    const id = lifecycleId(clusterName, (await claimOf(name))?.metadata ?? { name, uid: '' })
    await world.until('the lifecycle terminates', async () => {
      const found = await world.lifecycles(`WorkflowId = '${id}' AND NodePhase = 'Draining'`)
      return found.length > 0
    })
    await world.until('Azure refuses', async () => (await refusals(world)) > before)
    // It asks again now, in place of a minute later.
    const first = await refusals(world)
    await world.joiner('node', 'retry', name, '--cluster-name', clusterName)
    await world.until('Azure was asked again', async () => (await refusals(world)) > first)
    expect((await claimOf(name))?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
    expect(await asked()).toEqual([])
    expect(await vmNames()).toContain(`aks-${name}`)
    await world.operator.simulator('DELETE', '/faults')
    // It shortens a wait of a minute; a lifecycle that has just ended by itself has nothing to retry.
    await world.joiner('node', 'retry', name, '--cluster-name', clusterName).catch(() => {})
    await world.until('claim and VM are gone', async () => {
      return (await claimOf(name)) === undefined && !(await vmNames()).includes(`aks-${name}`)
    })
  })
})

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
  for (const attempt of attempts) await scheduleActivity(world, attempt)
  const after = await claimOf(name)
  expect(after?.metadata.uid).toBe(uid)
  expect(after?.metadata).not.toHaveProperty('deletionTimestamp')
  expect(after?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
  expect(await asked()).toEqual([])
  await world.untilRunning(3)
})

const bindingPath = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/joiner-node-identity'
const ofNode = (name: string) => asNode(world, name)

const events = async (reason: string) => (await world.list('events')).filter((event) => event.reason === reason)

/** Has a node of its own emptied and taken away by disruption, which therefore looked at all others too. */
async function nodeComesAndGoes(): Promise<void> {
  const before = new Set((await claims()).map(({ metadata }) => metadata.name))
  await world.apply(deployment({ name: 'spare', replicas: 1, apart: true, cpu: '3' }))
  await world.until('the spare pod runs', async () => (await world.running('spare')) === 1)
  await world.scale('spare', 0)
  await world.until('its node is gone', async () => (await claims()).every(({ metadata }) => before.has(metadata.name)))
}

test('the policy refuses a provider id of another VM, and nothing else that nodes do', async () => {
  const victim = `aks-${(await claims())[0]?.metadata.name}`
  const create = (object: ReturnType<typeof node>) =>
    ofNode(object.metadata.name)(['create', '--dry-run=server', '-f', '-'], object)
  await world.until('the policy is in force', () =>
    create(node('aks-evil', idOf(victim))).then(
      () => false,
      (error: unknown) => String(error).includes('has the name of its own VM'),
    ),
  )
  for (const id of [idOf(victim).toUpperCase().replace('AZURE', 'azure'), `${idOf(victim)}/`])
    await expect(create(node('aks-evil', id))).rejects.toThrow('has the name of its own VM')
  const windows = { 'kubernetes.io/os': 'windows' }
  await expect(create(node('aks-evil', idOf(victim), windows))).rejects.toThrow('has the name of its own VM')
  for (const passing of [
    node('aks-evil'),
    node('aks-own', idOf('AKS-OWN')),
    node(
      'aks-general-vmss000001',
      `azure://${ownGroup}/providers/Microsoft.Compute/virtualMachineScaleSets/aks-general-vmss/virtualMachines/1`,
    ),
    node('akswin000000', idOf('win-vm-of-another-name'), windows),
    node('virtual-node', 'azure://virtual-node'),
  ])
    await create(passing)
  const evil = ofNode('aks-evil')
  await evil(['create', '-f', '-'], node('aks-evil'))
  const patch = ['patch', 'node', 'aks-evil', '--dry-run=server', '-p']
  const spec = (providerID: string) => JSON.stringify({ spec: { providerID } })
  await expect(evil([...patch, spec(idOf(victim))])).rejects.toThrow('has the name of its own VM')
  await evil([...patch, spec(idOf('aks-evil'))])
  await evil(['label', 'node', 'aks-evil', '--dry-run=server', 'example.com/any=label'])
  await world.operator.kubectl(['delete', 'node', 'aks-evil'])
})

test('without the policy such a Node is reported, and takes nothing from the node that it poses as', async () => {
  const before = await claims()
  const victim = before[0]
  const name = `aks-${victim?.metadata.name}`
  await world.operator.api('DELETE', bindingPath)
  const rogue = node('aks-evil', idOf(name), {
    ...victim?.metadata.labels,
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  })
  await world.until('the Node is accepted', () => ofNode('aks-evil')(['create', '-f', '-'], rogue))
  await world.until('it is reported on both', async () => {
    const about = (await events('ForeignProviderId')).map(({ involvedObject }) => involvedObject?.name)
    return about.includes('aks-evil') && about.includes(victim?.metadata.name)
  })
  await nodeComesAndGoes()
  const after = await claims()
  expect(after.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
    before.map(({ metadata }) => metadata.uid).toSorted(),
  )
  expect(after.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  expect(await world.running()).toBe(3)
  await world.operator.kubectl(['delete', 'node', 'aks-evil'])
})

test('a NodeClaim whose Node is gone has no room at once, and ends with its VM after a restart of Joiner too', async () => {
  const [lost] = await claims()
  const name = lost?.metadata.name ?? ''
  const pod = (await world.list('pods')).find(({ spec }) => spec.nodeName === `aks-${name}`)
  await world.operator.api('PATCH', `/api/v1/nodes/aks-${name}`, { metadata: { finalizers: null } })
  await world.operator.api('DELETE', `/api/v1/nodes/aks-${name}`)
  await world.until('the NodeClaim says so', async () => {
    const ready = conditionOf(await claimOf(name), 'Ready')
    return ready?.status === 'Unknown' && ready.reason === 'NodeGone'
  })
  await world.operator.kubectl(['delete', 'pod', pod?.metadata.name ?? '', '--force', '--grace-period=0'])
  await world.untilRunning(3)
  expect(conditionOf(await claimOf(name), 'NodeGone')?.status).toBe('True')

  await world.cluster.supervisor.stop('joiner')
  const conditions = (await claimOf(name))?.status?.conditions?.map((condition) =>
    condition.type === 'NodeGone'
      ? { ...condition, lastTransitionTime: new Date(Date.now() - 180_000).toISOString().replace(/\.\d+/, '') }
      : condition,
  )
  await world.operator.api('PATCH', `${claimsPath}/${name}/status`, { status: { conditions } })
  world.startJoiner()
  await world.until('the NodeClaim and its VM are gone', async () => {
    const { virtualMachines } = await world.azure()
    return (await claimOf(name)) === undefined && !virtualMachines.some((vm) => vm.name === `aks-${name}`)
  })
  const reported = (await events('NodeGone')).filter(({ involvedObject }) => involvedObject?.name === name)
  expect(reported.map(({ message }) => message).join('\n')).toContain('No drain was possible')
  expect(await world.running()).toBe(3)
})
