import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { objectId } from '../deploy/local/azure/access/principals.ts'
import type { HeldRole } from '../deploy/local/azure/access/roles.ts'
import { azureIds, clusterName, subnetId } from '../deploy/local/cluster.ts'
import type { Status } from '../starter/cli/doctor/check.ts'
import { nodeClass, nodePool } from './applied-objects.ts'
import { machinesRole, reservationsRole, shippedRoles } from './arm/joiner-roles.ts'
import { makingMachines } from './arm/machines-mode.ts'
import { World } from './world.ts'

interface Seen {
  readonly name: string
  readonly status: Status
  readonly summary: string
  readonly details: readonly string[]
  readonly remedies: readonly string[]
}

const group = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}`
const nodeIdentity = `${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/agentpool`
const pool = nodePool({
  requirements: [
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5', 'Standard_D4s_v5'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  ],
})
let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodeClass(), pool)
  await world.untilReady('general')
})

afterAll(() => world.stop({ tookRights: true }))

afterEach(async () => {
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.simulator('POST', '/settings', {
    roles: ['Virtual Machine Contributor', 'Network Contributor', 'Managed Identity Operator'],
    quotas: {},
    network: {},
  })
})

/** Runs the command as an administrator does, with the settings and the identity of joiner-azure. */
async function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const spec = world.installation.commandSpec(['doctor', ...args], {
    NODE_IDENTITIES: nodeIdentity,
    KUBECONFIG: world.cluster.adminKubeconfig,
    ...settings,
  })
  const child = spawn(spec.command, spec.args, {
    cwd: spec.cwd,
    env: { PATH: process.env['PATH'], ...spec.env },
  })
  const ended = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number]
  return { code, stdout, stderr }
}

async function examined(settings: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await run(['--output', 'json'], settings)
  if (!stdout.startsWith('{')) throw new Error(`no report: ${stdout}\n${stderr}`)
  const report = JSON.parse(stdout) as { readonly healthy: boolean; readonly checks: readonly Seen[] }
  const of = (name: string): Seen => {
    const found = report.checks.find((check) => check.name === name)
    if (found === undefined) throw new Error(`no check ${name} in ${stdout}`)
    return found
  }
  const bad = report.checks.filter(({ status }) => status !== 'ok').map(({ name }) => name)
  return { code, healthy: report.healthy, of, bad, stdout }
}

/** The API server refuses requests for a moment after a CRD has changed. */
function examinedOnceStored() {
  return world.until("the API server stores the CRD's objects again", async () => {
    const found = await examined()
    return found.stdout.includes('storage is (re)initializing') ? undefined : found
  })
}

describe('a cluster in which all is well', () => {
  test('every check is ok, is reported as it ends, and no secret is printed', async () => {
    const { code, stdout, stderr } = await run([])
    const marks = [...stdout.matchAll(/^(✓ ok|! warn|✗ fail) +([a-z ]+):/gm)].map(([, mark, name]) => `${mark} ${name}`)
    expect(marks.toSorted()).toEqual(
      [
        'aks machines',
        'azure reads',
        'azure roles',
        'clocks',
        'conversion webhook',
        'custom resources',
        'identity',
        'images',
        'installation',
        'instances',
        'kubernetes',
        'kubernetes rights',
        'lost nodeclaims',
        'nodes',
        'prices',
        'quota',
        'subnet',
        'temporal',
      ].map((name) => `✓ ok ${name}`),
    )
    expect(stdout).toMatch(/^18 checks: 18 ok, 0 to look at, 0 failed$/m)
    expect(stdout).not.toContain('->')
    expect(stderr).toContain('looking at identity, azure reads')
    expect(code).toBe(0)
    const files = ['joiner.token', 'joiner.federated-token'].map((name) =>
      readFile(join(world.cluster.stateDir, name), 'utf8'),
    )
    for (const secret of await Promise.all(files)) expect(stdout + stderr).not.toContain(secret)
    expect(stdout).not.toMatch(/eyJ[\w-]+\.[\w-]+\./)
  })
})

test('in a pod of joiner-azure all is well as far as its account may look', async () => {
  const { code, of, bad } = await examined({ KUBECONFIG: world.installation.kubeconfigOf('joiner-azure') })
  expect([code, bad]).toEqual([0, ['conversion webhook']])
  expect(of('kubernetes rights')).toMatchObject({
    summary: expect.stringMatching(
      /^ServiceAccount joiner\/joiner-azure may do all \d+ things that its roles do$/,
    ) as string,
    details: ['system:serviceaccount:joiner:joiner-azure cannot ask about joiner, joiner-planner, joiner-conversion'],
  })
  expect(of('conversion webhook')).toMatchObject({
    status: 'warn',
    summary: expect.stringContaining('may not create NodePools') as string,
  })
  expect(of('custom resources').details.join()).toContain('no client has written it lately')
  const united = await examined({ KUBECONFIG: world.installation.kubeconfig })
  expect(united.of('kubernetes rights').summary).toContain('may not ask about the rights of others')
})

describe('what is broken is found, and nothing else', () => {
  test('a role that is missing, by a read that ARM refuses', async () => {
    await world.fault({
      kind: 'failSync',
      operation: 'GET networkSecurityGroups',
      code: 'AuthorizationFailed',
      status: 403,
      count: 5,
    })
    const { code, of, bad } = await examined()
    expect(bad).toEqual(['azure reads'])
    expect(of('azure reads')).toMatchObject({
      status: 'fail',
      remedies: [
        `az role assignment create --assignee-object-id ${objectId} --assignee-principal-type ServicePrincipal --role "Network Contributor" --scope "${group}"`,
      ],
    })
    expect(code).toBe(1)
  })

  test('a role that is missing, by the actions that it would allow', async () => {
    await world.operator.simulator('POST', '/settings', { roles: ['Network Contributor', 'Reader'] })
    const { of, bad } = await examined()
    expect(bad).toEqual(['azure roles'])
    const { details, remedies } = of('azure roles')
    expect(details).toContain(`Microsoft.Compute/virtualMachines/write on ${group}`)
    expect(details).toContain(`Microsoft.ManagedIdentity/userAssignedIdentities/assign/action on ${nodeIdentity}`)
    expect(remedies.map((remedy) => /--role "([^"]+)" --scope "([^"]+)"/.exec(remedy)?.slice(1))).toEqual([
      ['Virtual Machine Contributor', group],
      ['Managed Identity Operator', nodeIdentity],
    ])
  })

  test('the roles that AKS machines and shared galleries need, and a capacity reservation group', async () => {
    const having = (...more: readonly HeldRole[]) =>
      world.operator.simulator('POST', '/settings', { roles: [...shippedRoles, ...more] })
    const missing = ({ remedies }: Seen) =>
      remedies.map((remedy) => /--role "([^"]+)" --scope "([^"]+)"/.exec(remedy)?.slice(1))
    const { subscriptionId } = azureIds
    const reservations = `/subscriptions/${subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.Compute/capacityReservationGroups/group`
    const { metadata, ...plain } = nodeClass()
    const annotations = { 'joiner.sh/capacity-reservation-groups': reservations }
    await world.apply({ ...plain, metadata: { ...metadata, annotations } })

    await having()
    const vms = await examined()
    expect(missing(vms.of('azure roles'))).toEqual([[`Joiner reservations (${subscriptionId})`, reservations]])
    const machines = await examined(makingMachines)
    expect(missing(machines.of('azure roles'))).toEqual([[`Joiner machines (${subscriptionId})`, machinesRole.scope]])
    expect(machines.of('azure roles').details).toContain(
      `Microsoft.ContainerService/managedClusters/agentPools/machines/write on ${machinesRole.scope}`,
    )
    expect(machines.of('azure reads').summary).toContain('nodeImageVersions')

    await having(reservationsRole(reservations), machinesRole)
    for (const settings of [{}, makingMachines]) {
      const { of } = await examined(settings)
      expect([of('azure roles'), of('azure reads')].map(({ status }) => status)).toEqual(['ok', 'ok'])
    }
    await world.operator.simulator('POST', '/settings', { roles: shippedRoles.slice(0, 1) })
    const { of } = await examined(makingMachines)
    expect(of('azure reads').summary).toMatch(/ reads fail: .*nodeImageVersions/)
    expect(missing(of('azure reads'))).toContainEqual(['Reader', `/subscriptions/${subscriptionId}`])
    const gone = { 'joiner.sh/capacity-reservation-groups': reservations.replace(`${clusterName}-group`, 'none') }
    await world.apply({ ...plain, metadata: { ...metadata, annotations: gone } })
    await world.operator.simulator('POST', '/settings', { roles: shippedRoles })
    expect((await examined()).of('azure roles').status).toBe('ok')
    await world.apply(nodeClass())
  })

  test('quota that is used up', async () => {
    await world.operator.simulator('POST', '/settings', { quotas: { standardDSv5Family: 0 } })
    const { of, bad } = await examined()
    expect(bad).toEqual(['quota'])
    expect(of('quota')).toMatchObject({
      status: 'fail',
      summary: expect.stringContaining('NodePool general') as string,
    })
    expect(of('quota').remedies[0]).toContain(
      `az quota update --resource-name standardDSv5Family --scope /subscriptions/${azureIds.subscriptionId}/providers/Microsoft.Compute/locations/${azureIds.location}`,
    )
  })

  test('a subnet that is too small', async () => {
    const [, vnet = '', name = ''] = /virtualNetworks\/([^/]+)\/subnets\/([^/]+)$/.exec(subnetId) ?? []
    const subnets = [{ name, prefix: '10.224.0.0/29' }]
    const network = { virtualNetworks: [{ name: vnet, resourceGuid: 'guid', subnets }] }
    await world.operator.simulator('POST', '/settings', { network })
    const { code, of, bad } = await examined()
    expect(bad).toEqual(['subnet'])
    expect(of('subnet').summary).toContain('has 3 of 3 addresses free, room for 3 nodes with 1 each')
    expect(of('subnet').remedies[0]).toContain(
      `az network vnet subnet update --resource-group ${azureIds.nodeResourceGroup} --vnet-name ${vnet} --name ${name}`,
    )
    expect(code).toBe(0)
  })

  test('an identity that Azure does not know: a process is not ready, and its log says what to do', async () => {
    const stranger = '00000000-0000-4000-8000-00000000000f'
    world.startJoiner('stranger', { AZURE_CLIENT_ID: stranger, JOINER_CONVERSION_PORT: '0' })
    const log = await world.until('the log says', async () => {
      const lines = await world.cluster.supervisor.tail('stranger', 50)
      return lines.includes('Azure gave no access token') ? lines : undefined
    })
    expect(log).toContain('AADSTS700016')
    expect(log).toContain(`no identity has the client id`)
    const { origin } = new URL(/"address":"([^"]+)"/.exec(log)?.[1] ?? '')
    const answer = await fetch(`${origin}/readyz`)
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain('an access token of Azure')
    await world.crash('stranger')
  })

  test('settings that name what is not there: identity, subnet, Temporal', async () => {
    const stranger = '00000000-0000-4000-8000-00000000000f'
    const { of, bad } = await examined({ AZURE_CLIENT_ID: stranger, TEMPORAL_ADDRESS: '127.0.0.1:1' })
    expect(bad).toEqual([
      'identity',
      'azure reads',
      'azure roles',
      'subnet',
      'quota',
      'images',
      'instances',
      'aks machines',
      'temporal',
      'installation',
    ])
    expect(of('identity').remedies[0]).toContain(`no identity has the client id "${stranger}"`)
    expect(of('subnet').summary).toBe('not looked at: Azure gave no token')
    expect(of('temporal').remedies[0]).toContain('check TEMPORAL_ADDRESS (chart: temporal.address)')
    const wrong = await examined({ VNET_SUBNET_ID: `${subnetId}-old` })
    expect(wrong.bad).toEqual(['subnet'])
    expect(wrong.of('subnet').remedies[0]).toContain(
      `az network vnet subnet list --resource-group ${azureIds.nodeResourceGroup}`,
    )
  })

  test('settings that are no settings end with 2, each with its remedy', async () => {
    const { code, stderr } = await run([], { NETWORK_PLUGIN: 'kubenet', CLUSTER_NAME: '' })
    expect(code).toBe(2)
    expect(stderr).toContain('NETWORK_PLUGIN "kubenet": is not supported, since kubenet needs a route for each node')
    expect(stderr).toContain('CLUSTER_NAME "": is empty')
  })

  test('v1beta1 of NodeClaims that a client wrote, and that may be stored, while it is not served', async () => {
    const path = '/apis/karpenter.sh/v1beta1/nodeclaims'
    const claim = {
      apiVersion: 'karpenter.sh/v1beta1',
      kind: 'NodeClaim',
      metadata: { name: 'foreign' },
      spec: { nodeClassRef: { apiVersion: 'example.com/v1', kind: 'OtherClass', name: 'other' }, requirements: [] },
    }
    await world.installation.applyRights({ 'conversion.nodeClaims.serveV1beta1': true })
    await world.until('it is served', () => world.operator.api('POST', `${path}?fieldManager=old-tool`, claim))
    const healthy = await examined()
    expect(healthy.bad).toEqual([])
    expect(healthy.of('conversion webhook').summary).toBe('a NodePool and a NodeClaim of v1beta1 would be stored as v1')
    expect(healthy.stdout).toContain('nodeclaims.karpenter.sh: v1, v1beta1 served')

    await world.installation.applyRights()
    await world.until('it is not served', () =>
      world.operator.api('GET', path).then(
        () => false,
        () => true,
      ),
    )
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh'
    await world.operator.api('PATCH', `${crd}/status`, { status: { storedVersions: ['v1', 'v1beta1'] } })
    const { code, of, bad } = await examinedOnceStored()
    expect([code, bad], JSON.stringify(of('custom resources'))).toEqual([0, ['custom resources']])
    const { summary, details, remedies } = of('custom resources')
    const said = [summary, ...details].join('\n')
    expect(said).toContain('nodeclaims.karpenter.sh: status.storedVersions has "v1beta1", which is not served')
    expect(said).toMatch(
      /NodeClaim foreign: metadata.managedFields has apiVersion "karpenter.sh\/v1beta1" of manager "old-tool" at 20/,
    )
    expect(remedies.join('\n')).toContain('--set conversion.nodeClaims.serveV1beta1=true')

    await world.operator.api('PATCH', `${crd}/status`, { status: { storedVersions: ['v1'] } })
    await world.operator.kubectl(['delete', 'nodeclaim', 'foreign'])
    expect((await examinedOnceStored()).bad).toEqual([])
  })

  test('CRDs of another version, rights that were taken away, and nobody who converts', async () => {
    const crd = 'nodeoverlays.karpenter.sh'
    const field = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/weight'
    await world.operator.kubectl([
      'patch',
      'crd',
      crd,
      '--type=json',
      '-p',
      JSON.stringify([{ op: 'remove', path: field }]),
    ])
    await world.operator.kubectl(['delete', 'crd', 'capacitybuffers.autoscaling.x-k8s.io'])
    await world.operator.kubectl(['delete', 'rolebinding', 'joiner-core', '--namespace', 'joiner'])
    await world.crash()
    const look = async () => {
      const found = await examined()
      // What the API server says of its schemas lags behind a changed CRD.
      const { summary, details } = found.of('custom resources')
      return `${summary} ${details.join()}`.includes('spec.weight') ? found : undefined
    }
    const { of, bad } = await world.until('the changed CRD is published', look)
    expect(bad).toEqual(['custom resources', 'kubernetes rights', 'conversion webhook'])
    const resources = of('custom resources')
    expect(`${resources.summary} ${resources.details.join()}`).toContain(
      'capacitybuffers.autoscaling.x-k8s.io is not installed',
    )
    expect(resources.remedies[0]).toContain('kubectl apply --server-side --force-conflicts -f deploy/crds')
    expect(of('kubernetes rights').details).toContain('patch configmaps joiner-pauses in joiner')
    expect(of('kubernetes rights').remedies[0]).toContain('helm upgrade --install joiner')
    expect(of('conversion webhook').remedies.join('\n')).toContain(
      'kubectl rollout restart --namespace joiner deployment/joiner-conversion',
    )
  })
})

test('the help says what it needs and what its exit codes mean', async () => {
  const { code, stdout } = await run(['--help'])
  expect(code).toBe(0)
  for (const said of ['--output', '--env-file', '--service-account', 'Exit code: 0', 'kubectl exec'])
    expect(stdout).toContain(said)
})
