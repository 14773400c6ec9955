// Which Node is a NodeClaim's: one that poses as another with true credentials, and one that is gone while its VM runs on.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { azureIds } from '../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { claimsPath, type Seen, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  // The kubelets of these VMs leave their provider ids to cloud-node-manager, which the policy has to let pass.
  await world.operator.simulator('POST', '/settings', { providerIdMs: 500 })
  const { apiVersion, kind, spec } = await world.operator.api<Record<string, unknown>>('GET', bindingPath)
  binding = { apiVersion, kind, metadata: { name: 'joiner-node-identity' }, spec }
  world.startJoiner()
  await world.apply(nodePool(), nodeClass(), deployment({ replicas: 2, apart: true }))
  await world.untilRunning(2)
  await world.operator.simulator('POST', '/settings', { providerIdMs: 0 })
})

afterAll(async () => {
  if (binding !== undefined) await world.apply(binding)
  await world?.stop()
})

const bindingPath = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/joiner-node-identity'
/** The policy's binding, which later suites of the cluster have again. */
let binding: unknown

const group = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup.toLowerCase()}`
const idOf = (vm: string) => `azure://${group}/providers/Microsoft.Compute/virtualMachines/${vm}`
const node = (name: string, providerID?: string, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels, annotations: { 'kwok.x-k8s.io/node': 'fake' } },
  spec: { ...(providerID === undefined ? {} : { providerID }), taints: [{ key: 'posing', effect: 'NoSchedule' }] },
})

/** Runs kubectl as the kubelet of a node, whose rights the Node authorizer and NodeRestriction decide. */
const asNode = (name: string, args: readonly string[], input?: unknown) =>
  world.operator.kubectl(
    [...args, `--as=system:node:${name}`, '--as-group=system:nodes', '--as-group=system:authenticated'],
    input === undefined ? undefined : stringify(input),
  )

const claims = () => world.list('nodeclaims')
const claimOf = async (name: string) => (await claims()).find(({ metadata }) => metadata.name === name)
const conditionOf = (object: Seen | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)
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
    asNode(object.metadata.name, ['create', '--dry-run=server', '-f', '-'], object)
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
      `azure://${group}/providers/Microsoft.Compute/virtualMachineScaleSets/aks-general-vmss/virtualMachines/1`,
    ),
    node('akswin000000', idOf('win-vm-of-another-name'), windows),
    node('virtual-node', 'azure://virtual-node'),
  ])
    await create(passing)
  await asNode('aks-evil', ['create', '-f', '-'], node('aks-evil'))
  const patch = ['patch', 'node', 'aks-evil', '--dry-run=server', '-p']
  const spec = (providerID: string) => JSON.stringify({ spec: { providerID } })
  await expect(asNode('aks-evil', [...patch, spec(idOf(victim))])).rejects.toThrow('has the name of its own VM')
  await asNode('aks-evil', [...patch, spec(idOf('aks-evil'))])
  await asNode('aks-evil', ['label', 'node', 'aks-evil', '--dry-run=server', 'example.com/any=label'])
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
  await world.until('the Node is accepted', () => asNode('aks-evil', ['create', '-f', '-'], rogue))
  await world.until('it is reported on both', async () => {
    const about = (await events('ForeignProviderId')).map(({ involvedObject }) => involvedObject?.name)
    return about.includes('aks-evil') && about.includes(victim?.metadata.name)
  })
  await nodeComesAndGoes()
  await nodeComesAndGoes()
  const after = await claims()
  expect(after.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
    before.map(({ metadata }) => metadata.uid).toSorted(),
  )
  expect(after.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  expect(await world.running()).toBe(2)
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
  await world.untilRunning(2)
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
  const told = (await events('NodeGone')).filter(({ involvedObject }) => involvedObject?.name === name)
  expect(told.map(({ message }) => message).join('\n')).toContain('No drain was possible')
  expect(await world.running()).toBe(2)
})
