// A cluster is set up with `joiner admin aks` and left with `joiner admin uninstall --nodes remove`; in between Joiner has exactly the shipped roles.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { osDiskName } from '../../activities/azure/launch/os-disk-name.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { deployment, nodeClass } from '../applied-objects.ts'
import { type Access, AksOwner, here } from '../arm/aks-owner.ts'
import { ArmSession } from '../arm/arm-session.ts'
import { actionsTaken, shippedActions } from '../arm/joiner-roles.ts'
import { deployment as deploymentShape, ofShape, podEnvironment, renderChart } from '../chart.ts'
import type { Seen, World } from '../world.ts'
import type { Environment } from './command-line.ts'
import { Doctor } from './doctor.ts'
import { type Prepared, pool } from './prepared.ts'
import { Uninstalling } from './uninstalling.ts'

/** Actions of the shipped roles that are not taken here, and why they are there. */
const untaken: Readonly<Record<string, string>> = {
  'Microsoft.ContainerService/locations/nodeImageVersions/read': 'shared galleries',
  'Microsoft.Compute/virtualMachines/restart/action': 'a repair policy with RebootNode',
  'Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action': 'five minutes after a VM did not join',
  'Microsoft.Compute/disks/write': 'not a request: Azure asks for it when a VM is created with its disk',
  'Microsoft.Network/networkInterfaces/join/action':
    'not a request: Azure asks for it when a VM is created with its NIC',
  'Microsoft.Network/virtualNetworks/read': 'the values hold the GUID; without it Joiner reads the network',
}

/** Without any node, and without Joiner. */
export function setUpCases(prepared: () => Prepared): void {
  const world = () => prepared().world
  const doctor = new Doctor(prepared)
  const leaving = new Uninstalling(prepared)
  let owner: AksOwner
  let identity: Access['identities'][number]
  let settings: Environment

  beforeAll(async () => {
    const { cluster, operator } = world()
    await clear(world())
    const token = await readFile(join(cluster.stateDir, 'joiner.federated-token'), 'utf8')
    const { iss } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iss: string }
    owner = await AksOwner.arrive({
      endpoint: cluster.azureEndpoint,
      issuer: iss,
      admin: (method, path, body) => operator.simulator(method, path, body),
    })
    await owner.begin()
  })

  afterAll(() => owner?.leave())

  test('an identity, and settings that mean the cluster', async () => {
    const setUp = await owner.aks('setup', ...here, '--yes')
    expect([setUp.code, setUp.stderr]).toEqual([0, ''])
    const file = join(prepared().folder, 'values.yaml')
    const written = await owner.aks('values', ...here, '--image', 'registry.example/joiner', '--output-file', file)
    expect([written.code, written.stderr]).toEqual([0, ''])
    ;[identity] = (await owner.access()).identities as [typeof identity]
    settings = await settingsOf(parse(await readFile(file, 'utf8')) as { readonly azure: object })
    expect(settings).toMatchObject({ CLUSTER_NAME: clusterName, CLUSTER_ENDPOINT: world().cluster.server })
    // AKS' webhook sets it from the annotation of the ServiceAccount.
    settings = { ...settings, AZURE_CLIENT_ID: identity.clientId }
  })

  test('Joiner launches, tags and looks after a node with them', async () => {
    await world().operator.simulator('DELETE', '/calls')
    world().startJoiner('joiner', settings)
    await world().apply(nodeClass(), pool(), deployment({ replicas: 1 }))
    await world().untilRunning(1)
    await collectLeaks(world())
    await world().operator.api('PATCH', '/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default', {
      spec: { tags: { team: 'blue' } },
    })
    await world().until('NIC and VM have the new tag', async () => {
      await world().maintain()
      const taken = await actionsTaken(world(), identity.principalId)
      const nics = await world().operator.simulator<Readonly<Record<string, { tags: object }>>>('GET', '/nics')
      const isTagged = Object.values(nics).every(({ tags }) => 'team' in tags)
      return isTagged && taken.includes('Microsoft.Compute/virtualMachines/extensions/write')
    })
    const { of } = await doctor.examined(settings)
    for (const name of ['identity', 'azure reads', 'azure roles', 'subnet', 'quota', 'images'])
      expect(of(name), name).toMatchObject({ status: 'ok' })
  })

  test('with --nodes remove, NodeClaims and VMs go before Joiner does', async () => {
    const ended = leaving.run('--yes', '--nodes', 'remove')
    await world().until('the NodeClaims are gone', async () => (await prepared().claims()).length === 0)
    // A person who reads what it waits for stops the process; in a cluster its Deployment is scaled.
    await world().cluster.supervisor.stop('joiner')
    const { code, stdout, stderr } = await ended
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toMatch(/delete 1 NodeClaims? with their nodes and VMs/)
    expect(await world().left()).toMatchObject({ nodeClaims: 0, nodes: 0, vms: 0, nics: 0, disks: 0, lifecycles: 0 })
    expect(await leaving.openWorkflows()).toEqual([])
    expect(await leaving.conversions()).toEqual(['None v1', 'None v1'])
  })

  test('Joiner took actions of the shipped roles alone, and all of them', async () => {
    const taken = await actionsTaken(world(), identity.principalId)
    const allowed = new Set(shippedActions.map((action) => action.toLowerCase()))
    expect(taken.filter((action) => !allowed.has(action.toLowerCase()))).toEqual([])
    const seen = new Set(taken.map((action) => action.toLowerCase()))
    const never = shippedActions.filter((action) => !seen.has(action.toLowerCase()))
    expect(never.toSorted()).toEqual(Object.keys(untaken).toSorted())
  })
}

/** Nodes, VMs and CRDs of before are gone, and Joiner is installed again. */
async function clear(world: World): Promise<void> {
  const { operator, installation } = world
  await operator.kubectl(['delete', 'deployment', '--all', '--wait=false'])
  for (const { name } of (await world.azure()).virtualMachines) await operator.simulator('POST', `/vms/${name}/delete`)
  await operator.kubectl(['delete', 'nodes', '--all'])
  await operator.kubectl(['delete', 'crd', 'nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', '--timeout=30s'])
  await installation.install()
}

/** What the chart sets about Azure; where servers are is said by the local cluster. */
async function settingsOf(values: { readonly azure: object }): Promise<Environment> {
  const manifests = await renderChart({ ...values, azure: { ...values.azure, billingExtension: true } })
  const [azure] = ofShape(manifests, ['Deployment'], deploymentShape).filter(
    ({ metadata }) => metadata.name === 'joiner-azure',
  )
  if (azure === undefined) throw new Error('the chart has no Deployment joiner-azure')
  const about = /^(CLUSTER|ARM|AZURE|VNET|NODE|NETWORK|KUBELET|DNS|SSH|LINUX|LOCATION|JOINER_(BILLING|IMAGE|AZURE_API))/
  return Object.fromEntries(Object.entries(podEnvironment(manifests, azure)).filter(([name]) => about.test(name)))
}

/** A VM that nobody owns, with NIC and disk: garbage collection deletes all three. */
async function collectLeaks(world: World): Promise<void> {
  const arm = await ArmSession.open(world.cluster)
  const { uid } = (await world.operator.api<Seen>('GET', '/api/v1/namespaces/kube-system')).metadata
  const disk = osDiskName(uid, 'orphan', 1)
  const tags = {
    'karpenter.azure.com_cluster': clusterName,
    'karpenter.sh_nodepool': 'general',
    'joiner.sh_nodeclaim-uid': '00000000-0000-4000-8000-0000000000ff',
  }
  await arm.plantVm('aks-orphan', tags, disk)
  await arm.close()
  await world.until('VM, NIC and disk of the orphan are gone', async () => {
    await world.maintain()
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const names = [...virtualMachines.map(({ name }) => name), ...networkInterfaces, ...disks]
    return !names.some((name) => name === disk || name.startsWith('aks-orphan'))
  })
}
