// `joiner admin aks` against the simulator: an identity is set up, values are written, and the chart renders with them. That Joiner then runs with them is shown
// by the suite of readers.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { azureIds, clusterName, subnetId } from '../deploy/local/cluster.ts'
import { AksOwner, encryptionSet, here, network } from './arm/aks-owner.ts'
import { shippedRoles } from './arm/joiner-roles.ts'
import { configOf, deployment, ofShape, podEnvironment, renderChart } from './chart.ts'
import { SimulatorProcess } from './simulator/simulator-process.ts'

const subscription = `/subscriptions/${azureIds.subscriptionId}`
const nodeGroup = `${subscription}/resourceGroups/${azureIds.nodeResourceGroup}`
const issuer = 'https://oidc.example/issuer/'
/** The API server, which nothing asks here. */
const server = 'https://127.0.0.1:6443'

let simulator: SimulatorProcess
let owner: AksOwner
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-aks-'))
  const caFile = join(folder, 'ca.crt')
  await writeFile(caFile, rootCertificates[0] ?? '')
  const names = { nodeResourceGroup: azureIds.nodeResourceGroup, subnetId, clusterName }
  simulator = await SimulatorProcess.start({ ...names, kubernetes: { server, caFile } })
  owner = await AksOwner.arrive({
    endpoint: simulator.url,
    issuer,
    admin: (method, path, body) => simulator.admin(method, path, body),
  })
})

afterAll(async () => {
  await owner?.leave()
  await simulator?.stop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => owner.begin())

/** Paths of PUTs that ARM has answered since the last clearing. */
async function puts(): Promise<readonly string[]> {
  return Object.keys(await simulator.calls()).filter((call) => call.startsWith('PUT '))
}

describe('an identity', () => {
  test('is printed as commands that can be pasted, and nothing is made', async () => {
    const { code, stdout } = await owner.aks('setup', ...here, '--dry-run')
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
    expect((await owner.access()).identities).toEqual([])
  })

  test('without the right to assign roles is made as far as possible, and it is said whom to ask for what', async () => {
    await owner.logIn('Contributor')
    const { code, stdout, stderr } = await owner.aks('setup', ...here, '--yes')
    expect(code).toBe(1)
    expect(stdout).toContain(`made: managed identity joiner-${clusterName} in resource group clusters`)
    expect(stdout).toContain('made: federated credential for ServiceAccount joiner/joiner-azure')
    expect(stderr).toMatch(/role "Joiner nodes" on the node resource group: .*AuthorizationFailed/)
    expect(stderr).toContain(
      `ask an Owner, User Access Administrator or Role Based Access Control Administrator of ${nodeGroup} to run:\nPRINCIPAL_ID=$(az identity show`,
    )
    expect(stderr).toContain('6 of 8 steps are left')
    expect((await owner.access()).roleAssignments).toEqual([])
  })

  test('that is half done is completed, and not begun again', async () => {
    // What Azure says of a role that it has only just made.
    const notYet = { kind: 'failSync', operation: 'PUT roleAssignments', code: 'RoleDefinitionDoesNotExist' } as const
    await simulator.admin('POST', '/faults', { ...notYet, status: 404, count: 1 })
    await simulator.admin('DELETE', '/calls')
    const [before] = (await owner.access()).identities
    const { code, stdout, stderr } = await owner.aks('setup', ...here, '--yes')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`there: managed identity joiner-${clusterName}`)
    expect((await puts()).toSorted()).toEqual(['PUT roleAssignments', 'PUT roleDefinitions'])
    const made = await owner.access()
    expect(made.identities).toEqual([before])
    expect(made.federatedCredentials).toMatchObject([{ issuer, subject: 'system:serviceaccount:joiner:joiner-azure' }])
    expect(made.roleDefinitions.map(({ actions }) => actions)).toEqual(shippedRoles.map(({ actions }) => actions))
    expect(made.roleAssignments.map(({ scope }) => scope)).toEqual([nodeGroup, network, encryptionSet, subscription])
    expect(new Set(made.roleAssignments.map(({ principalId }) => principalId))).toEqual(new Set([before?.principalId]))
  })

  test('that is whole is left as it is', async () => {
    await simulator.admin('DELETE', '/calls')
    const { code, stdout } = await owner.aks('setup', ...here, '--yes')
    expect([code, await puts()]).toEqual([0, []])
    expect(stdout.match(/^# there: /gm)).toHaveLength(8)
    expect((await owner.aks('setup', ...here, '--dry-run')).stdout).toContain('# nothing is missing')
  })
})

describe('values', () => {
  test('are written with their sources, and the chart renders with them', async () => {
    const file = join(folder, 'values.yaml')
    const image = 'registry.example/joiner:0.2.0'
    const { code, stdout, stderr } = await owner.aks('values', ...here, '--image', image, '--output-file', file)
    expect([code, stdout, stderr]).toEqual([0, '', ''])
    const written = await readFile(file, 'utf8')
    for (const line of written.split('\n').filter((one) => /^ +\w+: \S/.test(one))) expect(line).toMatch(/ # \S/)
    expect(written).toContain('sshPublicKey: ssh-rsa')
    expect(written).toContain('# managedCluster properties.linuxProfile.ssh.publicKeys[0].keyData')
    expect(written).not.toContain('a-secret-of-the-user')
    const [identity] = (await owner.access()).identities
    const values = parse(written) as { readonly azure: object }
    expect(values).toMatchObject({
      image: { repository: 'registry.example/joiner', tag: '0.2.0' },
      serviceAccount: { name: 'joiner-azure' },
      workloadIdentity: { clientId: identity?.clientId, tenantId: azureIds.tenantId },
      cluster: { name: clusterName, endpoint: server },
      azure: {
        clusterResourceGroup: 'clusters',
        nodeResourceGroup: azureIds.nodeResourceGroup,
        subnetId: `${network}/subnets/nodes`,
        vnetGuid: '00000000-0000-4000-8000-0000000000ee',
        dnsServiceIp: '10.0.0.10',
        diskEncryptionSetId: encryptionSet,
      },
    })
    const manifests = await renderChart({ ...values, azure: { ...values.azure, billingExtension: true } })
    const azure = ofShape(manifests, ['Deployment'], deployment).find(
      ({ metadata }) => metadata.name === 'joiner-azure',
    )
    if (azure === undefined) throw new Error('the chart has no Deployment joiner-azure')
    expect(configOf(manifests, azure).CLUSTER_CA_BUNDLE).toBeDefined()
    expect(podEnvironment(manifests, azure)).toMatchObject({ CLUSTER_NAME: clusterName, CLUSTER_ENDPOINT: server })
    const account = manifests.find(
      ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'joiner-azure',
    )
    expect(account?.metadata.annotations).toMatchObject({ 'azure.workload.identity/client-id': identity?.clientId })
  })
})

describe('it is said what is wrong', () => {
  test('with a login that has expired', async () => {
    await owner.az.expire()
    const { code, stderr } = await owner.aks('values', ...here)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^credential "Azure CLI" .*: Please run 'az login' .*; run: az login\n$/)
    expect(await owner.az.calls()).toContain(
      'account get-access-token --output json --resource https://management.azure.com',
    )
  })

  test('with two clusters of one name', async () => {
    await owner.clusters(owner.cluster(), { ...owner.cluster(), resourceGroup: 'others' })
    const { code, stderr } = await owner.aks('setup', '--cluster-name', clusterName)
    expect([code, stderr]).toEqual([
      1,
      `AKS cluster "${clusterName}": subscription ${azureIds.subscriptionId} has 2 of this name; add --resource-group clusters or --resource-group others\n`,
    ])
    expect((await owner.aks('values', '--cluster-name', clusterName, '--resource-group', 'others')).stdout).toContain(
      'clusterResourceGroup: others',
    )
    await owner.clusters(owner.cluster())
    expect((await owner.aks('values', '--cluster-name', clusterName)).stdout).toContain(
      'clusterResourceGroup: clusters',
    )
  })

  test('with a cluster, a group or a subscription that is not there', async () => {
    const look = `look at: az aks list --subscription ${azureIds.subscriptionId} --output table\n`
    const missing = async (...args: readonly string[]) => (await owner.aks('values', ...args)).stderr
    expect(await missing('--cluster-name', 'nobodys', '--resource-group', 'clusters')).toBe(
      `AKS cluster "nobodys": not found in resource group "clusters" of subscription ${azureIds.subscriptionId} (ResourceNotFound); ${look}`,
    )
    expect(await missing('--cluster-name', clusterName, '--resource-group', 'gone')).toContain(
      '(ResourceGroupNotFound)',
    )
    expect(await missing('--cluster-name', 'nobodys')).toContain(`not found in subscription`)
    expect(await missing(...here, '--subscription', azureIds.tenantId)).toContain('SubscriptionNotFound')
  })

  test('with a cluster without OIDC issuer and workload identity: the rest is made', async () => {
    const off = { ...owner.cluster().properties, oidcIssuerProfile: { enabled: false }, securityProfile: {} }
    await owner.clusters({ ...owner.cluster(), name: 'plain', properties: off })
    const { code, stdout, stderr } = await owner.aks('setup', '--cluster-name', 'plain', '--yes')
    expect(code).toBe(1)
    expect(stdout).toContain('made: managed identity joiner-plain')
    expect(stderr).toContain('1 of 8 steps are left')
    expect(stderr).toContain(
      `its OIDC issuer and workload identity must be turned on: az aks update --name plain --resource-group clusters --subscription ${azureIds.subscriptionId} --enable-oidc-issuer --enable-workload-identity`,
    )
    await owner.clusters({ ...owner.cluster(), name: 'plain' })
    expect((await owner.aks('setup', '--cluster-name', 'plain', '--yes')).stdout).toMatch(
      /# made: federated credential .*\n# all is set up; next: joiner admin aks values --cluster-name plain/,
    )
  })

  test('with node auto-provisioning', async () => {
    const nodeProvisioningProfile = { mode: 'Auto', defaultNodePools: 'Auto' }
    await owner.clusters({ ...owner.cluster(), properties: { ...owner.cluster().properties, nodeProvisioningProfile } })
    const { code, stderr } = await owner.aks('setup', ...here, '--yes')
    expect(code).toBe(1)
    expect(stderr).toContain('properties.nodeProvisioningProfile.mode "Auto"')
    expect(stderr).toContain(`az aks update --name ${clusterName} --resource-group clusters`)
    expect(stderr).toContain('--node-provisioning-mode Manual')
  })

  test('with values that cannot be found out', async () => {
    const { linuxProfile: _key, ...properties } = { linuxProfile: null, ...owner.cluster().properties }
    await owner.clusters({ ...owner.cluster(), properties: { ...properties, linuxProfile: null } })
    await owner.logIn('Reader')
    const { code, stdout, stderr } = await owner.aks('values', ...here)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^image\.repository: .*--image REGISTRY\/joiner:TAG\nazure\.sshPublicKey: .*ssh-keygen -t ed25519/,
    )
    expect(parse(stdout)).toMatchObject({
      image: { repository: '' },
      cluster: { caBundle: '' },
      azure: { sshPublicKey: '' },
    })
    expect(stdout).toMatch(/endpoint: https:\/\/\S+\.hcp\.westus2\.azmk8s\.io:443 # managedCluster properties\.fqdn/)
    expect(stdout).toMatch(/caBundle: "" # nodes are given the CA that pods trust; .*AuthorizationFailed/)
  })
})
