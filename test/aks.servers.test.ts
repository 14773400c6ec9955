// The real command line against the simulator: an identity is set up, values are written, the chart renders with them, and Joiner launches a node with what
// they mean, having exactly the shipped roles.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { osDiskName } from '../activities/azure/launch/os-disk-name.ts'
import type { ManagedClusterSettings } from '../deploy/local/azure/access/cluster-settings.ts'
import { azureIds, clusterName } from '../deploy/local/cluster.ts'
import { deployment as inflate, nodeClass, nodePool } from './applied-objects.ts'
import { ArmSession } from './arm/arm-session.ts'
import { actionsTaken, shippedActions, shippedRoles } from './arm/joiner-roles.ts'
import { StandInAz } from './arm/stand-in-az.ts'
import { configOf, deployment, ofShape, podEnvironment, renderChart } from './chart.ts'
import { type Seen, World } from './world.ts'

interface Access {
  readonly identities: readonly { readonly name: string; readonly clientId: string; readonly principalId: string }[]
  readonly federatedCredentials: readonly { readonly issuer: string; readonly subject: string }[]
  readonly roleDefinitions: readonly { readonly roleName: string; readonly actions: readonly string[] }[]
  readonly roleAssignments: readonly { readonly scope: string; readonly principalId: string }[]
}

const subscription = `/subscriptions/${azureIds.subscriptionId}`
const nodeGroup = `${subscription}/resourceGroups/${azureIds.nodeResourceGroup}`
const network = `${subscription}/resourceGroups/networks/providers/Microsoft.Network/virtualNetworks/own`
const encryptionSet = `${subscription}/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/disks`
const command = fileURLToPath(new URL('../starter/joiner.ts', import.meta.url))

let world: World
let az: StandInAz
let folder: string
let issuer: string

beforeAll(async () => {
  world = await World.start()
  az = await StandInAz.install()
  folder = await mkdtemp(join(tmpdir(), 'joiner-aks-'))
  const token = await readFile(join(world.cluster.stateDir, 'joiner.federated-token'), 'utf8')
  issuer = (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iss: string }).iss
})

afterAll(async () => {
  await az?.remove()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  await world?.stop()
})

/** A cluster in a network of the user's own, and with keys of the user's own. */
const ownCluster = (): ManagedClusterSettings => ({
  name: clusterName,
  resourceGroup: 'clusters',
  properties: {
    oidcIssuerProfile: { enabled: true, issuerUrl: issuer },
    diskEncryptionSetID: encryptionSet,
    agentPoolProfiles: [{ name: 'system', mode: 'System', vnetSubnetID: `${network}/subnets/nodes` }],
  },
})

const settings = (changes: object) => world.operator.simulator('POST', '/settings', changes)
const clusters = (...managedClusters: readonly ManagedClusterSettings[]) => settings({ managedClusters })
const access = () => world.operator.simulator<Access>('GET', '/access')

/** Somebody with these roles on the subscription logs in. */
async function logIn(...roles: readonly string[]): Promise<void> {
  await az.logIn(await world.operator.simulator('POST', '/people', { name: `${roles.join()}@example.com`, roles }))
}

beforeEach(async () => {
  const own = { name: 'own', resourceGroup: 'networks', resourceGuid: '00000000-0000-4000-8000-0000000000ee' }
  const made = { name: 'aks-vnet-12345678', subnets: [{ name: 'aks-subnet', prefix: '10.224.0.0/16' }] }
  await settings({
    network: { virtualNetworks: [{ ...own, subnets: [{ name: 'nodes', prefix: '10.1.0.0/20' }] }, made] },
    diskEncryptionSets: [encryptionSet],
  })
  await clusters(ownCluster())
  await logIn('Owner')
})

/** Runs `joiner aks` as a person does, with the login of the stand-in. */
async function aks(...args: readonly string[]) {
  const child = spawn(process.execPath, [command, 'aks', ...args], {
    env: {
      PATH: `${az.folder}:/usr/bin:/bin`,
      NODE_EXTRA_CA_CERTS: world.cluster.pki.caFile,
      JOINER_ARM_ENDPOINT: world.cluster.azureEndpoint,
    },
  })
  const ended = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number]
  return { code, stdout, stderr }
}

const here = ['--cluster', clusterName, '--resource-group', 'clusters'] as const

/** Paths of PUTs that ARM has answered since the last clearing. */
async function puts(): Promise<readonly string[]> {
  const calls = await world.operator.simulator<Readonly<Record<string, number>>>('GET', '/calls')
  return Object.keys(calls).filter((call) => call.startsWith('PUT '))
}

describe('an identity', () => {
  test('is printed as commands that can be pasted, and nothing is made', async () => {
    const { code, stdout } = await aks('setup', ...here)
    expect(code).toBe(0)
    const commands = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(commands.map((line) => /^(?:PRINCIPAL_ID=\$\()?az ([a-z -]+?) --/.exec(line)?.[1])).toEqual([
      'identity create',
      'identity federated-credential create',
      'role definition create',
      'role definition create',
      'identity show',
      'role assignment create',
      'role assignment create',
      'role assignment create',
      'role assignment create',
    ])
    expect(stdout).toContain(`--issuer ${issuer} --subject system:serviceaccount:joiner:joiner-azure`)
    expect((await access()).identities).toEqual([])
  })

  test('without the right to assign roles is made as far as possible, and it is said whom to ask for what', async () => {
    await logIn('Contributor')
    const { code, stdout, stderr } = await aks('setup', ...here, '--apply')
    expect(code).toBe(1)
    expect(stdout).toContain(`made: managed identity joiner-${clusterName} in resource group clusters`)
    expect(stdout).toContain('made: federated credential for ServiceAccount joiner/joiner-azure')
    expect(stderr).toMatch(/role "Joiner nodes" on the node resource group: .*AuthorizationFailed/)
    expect(stderr).toContain(
      `ask an Owner, User Access Administrator or Role Based Access Control Administrator of ${nodeGroup} to run:\nPRINCIPAL_ID=$(az identity show`,
    )
    expect(stderr).toContain('6 of 8 steps are left')
    expect((await access()).roleAssignments).toEqual([])
  })

  test('that is half done is completed, and not begun again', async () => {
    // What Azure says of a role that it has only just made.
    const notYet = { kind: 'failSync', operation: 'PUT roleAssignments', code: 'RoleDefinitionDoesNotExist' } as const
    await world.operator.simulator('POST', '/faults', { ...notYet, status: 404, count: 1 })
    await world.operator.simulator('DELETE', '/calls')
    const [before] = (await access()).identities
    const { code, stdout, stderr } = await aks('setup', ...here, '--apply')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`there: managed identity joiner-${clusterName}`)
    expect((await puts()).toSorted()).toEqual(['PUT roleAssignments', 'PUT roleDefinitions'])
    const made = await access()
    expect(made.identities).toEqual([before])
    expect(made.federatedCredentials).toMatchObject([{ issuer, subject: 'system:serviceaccount:joiner:joiner-azure' }])
    expect(made.roleDefinitions.map(({ actions }) => actions)).toEqual(shippedRoles.map(({ actions }) => actions))
    expect(made.roleAssignments.map(({ scope }) => scope)).toEqual([nodeGroup, network, encryptionSet, subscription])
    expect(new Set(made.roleAssignments.map(({ principalId }) => principalId))).toEqual(new Set([before?.principalId]))
  })

  test('that is whole is left as it is', async () => {
    await world.operator.simulator('DELETE', '/calls')
    const { code, stdout } = await aks('setup', ...here, '--apply')
    expect([code, await puts()]).toEqual([0, []])
    expect(stdout.match(/^# there: /gm)).toHaveLength(8)
    expect((await aks('setup', ...here)).stdout).toContain('# nothing is missing')
  })
})

/** Actions of the shipped roles that the run below does not take, and why they are there. */
const untaken: Readonly<Record<string, string>> = {
  'Microsoft.ContainerService/locations/nodeImageVersions/read': 'shared galleries',
  'Microsoft.Compute/virtualMachines/restart/action': 'a repair policy with RebootNode',
  'Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action': 'five minutes after a VM did not join',
  'Microsoft.Compute/disks/write': 'not a request: Azure asks for it when a VM is created with its disk',
  'Microsoft.Network/networkInterfaces/join/action':
    'not a request: Azure asks for it when a VM is created with its NIC',
  'Microsoft.Network/virtualNetworks/read': 'the values hold the GUID; without it Joiner reads the network',
}

describe('values', () => {
  let identity: Access['identities'][number]
  let environment: Readonly<Record<string, string>>

  test('are written with their sources, and the chart renders with them', async () => {
    const file = join(folder, 'values.yaml')
    const { code, stdout, stderr } = await aks('values', ...here, '--output-file', file)
    expect([code, stdout, stderr]).toEqual([0, '', ''])
    const written = await readFile(file, 'utf8')
    for (const line of written.split('\n').filter((one) => /^ +\w+: \S/.test(one))) expect(line).toMatch(/ # \S/)
    expect(written).toContain('sshPublicKey: ssh-rsa')
    expect(written).toContain('# managedCluster properties.linuxProfile.ssh.publicKeys[0].keyData')
    expect(written).not.toContain('a-secret-of-the-user')
    ;[identity] = (await access()).identities as [typeof identity]
    const values = parse(written) as { readonly azure: object }
    expect(values).toMatchObject({
      serviceAccount: { name: 'joiner-azure' },
      workloadIdentity: { clientId: identity.clientId, tenantId: azureIds.tenantId },
      cluster: { name: clusterName, endpoint: world.cluster.server },
      azure: {
        clusterResourceGroup: 'clusters',
        nodeResourceGroup: azureIds.nodeResourceGroup,
        subnetId: `${network}/subnets/nodes`,
        vnetGuid: '00000000-0000-4000-8000-0000000000ee',
        dnsServiceIp: '10.0.0.10',
        diskEncryptionSetId: encryptionSet,
      },
    })
    const image = { repository: 'registry.example/joiner' }
    const manifests = await renderChart({ ...values, image, azure: { ...values.azure, billingExtension: true } })
    const azure = ofShape(manifests, ['Deployment'], deployment).find(
      ({ metadata }) => metadata.name === 'joiner-azure',
    )
    if (azure === undefined) throw new Error('the chart has no Deployment joiner-azure')
    expect(configOf(manifests, azure).CLUSTER_CA_BUNDLE).toBeDefined()
    environment = podEnvironment(manifests, azure)
    const account = manifests.find(
      ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'joiner-azure',
    )
    expect(account?.metadata.annotations).toMatchObject({ 'azure.workload.identity/client-id': identity.clientId })
  })

  test('mean settings with which Joiner launches and deletes a node, having exactly the shipped roles', async () => {
    // What the chart says about Azure; where servers are is said by the local cluster.
    const about =
      /^(CLUSTER|ARM|AZURE|VNET|NODE|NETWORK|KUBELET|DNS|SSH|LINUX|LOCATION|JOINER_(BILLING|IMAGE|AZURE_API))/
    const chosen = Object.fromEntries(Object.entries(environment).filter(([name]) => about.test(name)))
    // AKS' webhook sets it from the annotation of the ServiceAccount.
    const given = { ...chosen, AZURE_CLIENT_ID: identity.clientId }
    await world.operator.simulator('DELETE', '/calls')
    world.startJoiner('joiner', given)
    await world.apply(nodeClass(), nodePool({ consolidateAfter: 'Never' }), inflate({ replicas: 1 }))
    await world.untilRunning(1)
    await collectLeaks()
    await world.operator.api('PATCH', '/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default', {
      spec: { tags: { team: 'blue' } },
    })
    await world.until('NIC and VM have the new tag', async () => {
      await world.trigger('inPlaceUpdates')
      const taken = await actionsTaken(world, identity.principalId)
      const nics = await world.operator.simulator<Readonly<Record<string, { tags: object }>>>('GET', '/nics')
      const isTagged = Object.values(nics).every(({ tags }) => 'team' in tags)
      return isTagged && taken.includes('Microsoft.Compute/virtualMachines/extensions/write')
    })
    expect(await examine(given)).toEqual(['identity', 'azure reads', 'azure roles', 'subnet', 'quota', 'images'])
    await world.operator.kubectl(['delete', 'nodepool', 'general', '--wait=false'])
    await world.scale('inflate', 0)
    await world.untilNothingLeft()

    const taken = await actionsTaken(world, identity.principalId)
    const allowed = new Set(shippedActions.map((action) => action.toLowerCase()))
    expect(taken.filter((action) => !allowed.has(action.toLowerCase()))).toEqual([])
    const seen = new Set(taken.map((action) => action.toLowerCase()))
    const never = shippedActions.filter((action) => !seen.has(action.toLowerCase()))
    expect(never.toSorted()).toEqual(Object.keys(untaken).toSorted())
    expect(await world.cluster.supervisor.tail('joiner', 100_000)).not.toContain('AuthorizationFailed')
  })
})

/** A VM that nobody owns, with NIC and disk: garbage collection deletes all three. */
async function collectLeaks(): Promise<void> {
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
    await world.trigger('garbageCollection')
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const names = [...virtualMachines.map(({ name }) => name), ...networkInterfaces, ...disks]
    return !names.some((name) => name === disk || name.startsWith('aks-orphan'))
  })
}

/** Checks of `joiner doctor` about Azure that are ok for the identity. */
async function examine(given: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const spec = world.installation.commandSpec(['doctor', '--output', 'json'], {
    ...given,
    KUBECONFIG: world.cluster.adminKubeconfig,
  })
  const child = spawn(spec.command, spec.args, { cwd: spec.cwd, env: { PATH: process.env['PATH'], ...spec.env } })
  const report = JSON.parse(await text(child.stdout)) as {
    readonly checks: readonly { readonly name: string; readonly status: string }[]
  }
  const ofAzure = ['identity', 'azure reads', 'azure roles', 'subnet', 'quota', 'images']
  const isOk = (wanted: string) => report.checks.some(({ name, status }) => name === wanted && status === 'ok')
  return ofAzure.filter(isOk)
}

describe('it is said what is wrong', () => {
  test('with a login that has expired', async () => {
    await az.expire()
    const { code, stderr } = await aks('values', ...here)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^credential "Azure CLI" .*: Please run 'az login' .*; run: az login\n$/)
    expect(await az.calls()).toContain('account get-access-token --output json --resource https://management.azure.com')
  })

  test('with two clusters of one name', async () => {
    await clusters(ownCluster(), { ...ownCluster(), resourceGroup: 'others' })
    const { code, stderr } = await aks('setup', '--cluster', clusterName)
    expect([code, stderr]).toEqual([
      1,
      `AKS cluster "${clusterName}": subscription ${azureIds.subscriptionId} has 2 of this name; add --resource-group clusters or --resource-group others\n`,
    ])
    expect((await aks('values', '--cluster', clusterName, '--resource-group', 'others')).stdout).toContain(
      'clusterResourceGroup: others',
    )
    await clusters(ownCluster())
    expect((await aks('values', '--cluster', clusterName)).stdout).toContain('clusterResourceGroup: clusters')
  })

  test('with a cluster, a group or a subscription that is not there', async () => {
    const look = `look at: az aks list --subscription ${azureIds.subscriptionId} --output table\n`
    const missing = async (...args: readonly string[]) => (await aks('values', ...args)).stderr
    expect(await missing('--cluster', 'nobodys', '--resource-group', 'clusters')).toBe(
      `AKS cluster "nobodys": not found in resource group "clusters" of subscription ${azureIds.subscriptionId} (ResourceNotFound); ${look}`,
    )
    expect(await missing('--cluster', clusterName, '--resource-group', 'gone')).toContain('(ResourceGroupNotFound)')
    expect(await missing('--cluster', 'nobodys')).toContain(`not found in subscription`)
    expect(await missing(...here, '--subscription', azureIds.tenantId)).toContain('SubscriptionNotFound')
  })

  test('with a cluster without OIDC issuer and workload identity: the rest is made', async () => {
    const off = { ...ownCluster().properties, oidcIssuerProfile: { enabled: false }, securityProfile: {} }
    await clusters({ ...ownCluster(), name: 'plain', properties: off })
    const { code, stdout, stderr } = await aks('setup', '--cluster', 'plain', '--apply')
    expect(code).toBe(1)
    expect(stdout).toContain('made: managed identity joiner-plain')
    expect(stderr).toContain('1 of 8 steps are left')
    expect(stderr).toContain(
      `its OIDC issuer and workload identity must be turned on: az aks update --name plain --resource-group clusters --subscription ${azureIds.subscriptionId} --enable-oidc-issuer --enable-workload-identity`,
    )
    await clusters({ ...ownCluster(), name: 'plain' })
    expect((await aks('setup', '--cluster', 'plain', '--apply')).stdout).toMatch(
      /# made: federated credential .*\n# all is set up; next: joiner aks values --cluster plain/,
    )
  })

  test('with node auto-provisioning', async () => {
    const nodeProvisioningProfile = { mode: 'Auto', defaultNodePools: 'Auto' }
    await clusters({ ...ownCluster(), properties: { ...ownCluster().properties, nodeProvisioningProfile } })
    const { code, stderr } = await aks('setup', ...here, '--apply')
    expect(code).toBe(1)
    expect(stderr).toContain('properties.nodeProvisioningProfile.mode "Auto"')
    expect(stderr).toContain(`az aks update --name ${clusterName} --resource-group clusters`)
    expect(stderr).toContain('--node-provisioning-mode Manual')
  })

  test('with values that cannot be found out', async () => {
    const { linuxProfile: _key, ...properties } = { linuxProfile: null, ...ownCluster().properties }
    await clusters({ ...ownCluster(), properties: { ...properties, linuxProfile: null } })
    await logIn('Reader')
    const { code, stdout, stderr } = await aks('values', ...here)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^azure\.sshPublicKey: .*ssh-keygen -t ed25519/)
    expect(parse(stdout)).toMatchObject({ cluster: { caBundle: '' }, azure: { sshPublicKey: '' } })
    expect(stdout).toMatch(/endpoint: https:\/\/\S+\.hcp\.westus2\.azmk8s\.io:443 # managedCluster properties\.fqdn/)
    expect(stdout).toMatch(/caBundle: "" # nodes are given the CA that pods trust; .*AuthorizationFailed/)
  })
})
