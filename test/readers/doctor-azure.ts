// `joiner doctor`: a cluster in which all is well, and what may be wrong at Azure.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { objectId } from '../../deploy/local/azure/access/principals.ts'
import type { HeldRole } from '../../deploy/local/azure/access/roles.ts'
import { azureIds, clusterName, subnetId } from '../../deploy/local/cluster.ts'
import { nodeClass } from '../applied-objects.ts'
import { machinesRole, reservationsRole, shippedRoles } from '../arm/joiner-roles.ts'
import { makingMachines } from '../arm/machines-mode.ts'
import { Doctor, type Finding, nodeGroup, nodeIdentity } from './doctor.ts'
import type { Prepared } from './prepared.ts'

export function doctorOfAzure(prepared: () => Prepared): void {
  const world = () => prepared().world
  const doctor = new Doctor(prepared)

  afterEach(() => doctor.heal())

  describe('a cluster in which all is well', () => {
    test('every check is ok, is reported as it ends, and no secret is printed', async () => {
      const { code, stdout, stderr } = await doctor.run([])
      const marks = [...stdout.matchAll(/^(✓ ok|! warn|✗ fail) +([a-z ]+):/gm)].map(
        ([, mark, name]) => `${mark} ${name}`,
      )
      expect(marks.toSorted()).toEqual(
        [
          'aks machines',
          'azure reads',
          'azure roles',
          'cancelled lifecycles',
          'clocks',
          'conversion webhook',
          'custom resources',
          'identity',
          'images',
          'installation',
          'instances',
          'kept documents',
          'kubernetes',
          'kubernetes rights',
          'lost nodeclaims',
          'nodes',
          'prices',
          'quota',
          'subnet',
          'temporal',
          'workflows',
        ].map((name) => `✓ ok ${name}`),
      )
      expect(stdout).toMatch(/^21 checks: 21 ok, 0 to look at, 0 failed$/m)
      expect(stdout).not.toContain('->')
      expect(stderr).toContain('looking at identity, azure reads')
      expect(code).toBe(0)
      const files = ['joiner.token', 'joiner.federated-token'].map((name) =>
        readFile(join(world().cluster.stateDir, name), 'utf8'),
      )
      for (const secret of await Promise.all(files)) expect(stdout + stderr).not.toContain(secret)
      expect(stdout).not.toMatch(/eyJ[\w-]+\.[\w-]+\./)
    })
  })

  test('in a pod of joiner-azure all is well as far as its account may look', async () => {
    const KUBECONFIG = world().installation.kubeconfigOf('joiner-azure')
    const { code, of, bad } = await doctor.examined({ KUBECONFIG, JOINER_ROLES: 'azure' })
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
    const united = await doctor.examined({ KUBECONFIG: world().installation.kubeconfig })
    expect(united.of('kubernetes rights').summary).toContain('may not ask about the rights of others')
  })

  describe('what is broken is found, and nothing else', () => {
    test('a role that is missing, by a read that ARM refuses', async () => {
      await world().fault({
        kind: 'failSync',
        operation: 'GET networkSecurityGroups',
        code: 'AuthorizationFailed',
        status: 403,
        count: 5,
      })
      const { code, of, bad } = await doctor.examined()
      expect(bad).toEqual(['azure reads'])
      expect(of('azure reads')).toMatchObject({
        status: 'fail',
        remedies: [
          `az role assignment create --assignee-object-id ${objectId} --assignee-principal-type ServicePrincipal --role "Network Contributor" --scope "${nodeGroup}"`,
        ],
      })
      expect(code).toBe(1)
    })

    test('a role that is missing, by the actions that it would allow', async () => {
      await world().operator.simulator('POST', '/settings', { roles: ['Network Contributor', 'Reader'] })
      const { of, bad } = await doctor.examined()
      expect(bad).toEqual(['azure roles'])
      const { details, remedies } = of('azure roles')
      expect(details).toContain(`Microsoft.Compute/virtualMachines/write on ${nodeGroup}`)
      expect(details).toContain(`Microsoft.ManagedIdentity/userAssignedIdentities/assign/action on ${nodeIdentity}`)
      expect(remedies.map((remedy) => /--role "([^"]+)" --scope "([^"]+)"/.exec(remedy)?.slice(1))).toEqual([
        ['Virtual Machine Contributor', nodeGroup],
        ['Managed Identity Operator', nodeIdentity],
      ])
    })

    test('the roles that AKS machines and shared galleries need, and a capacity reservation group', async () => {
      const having = (...more: readonly HeldRole[]) =>
        world().operator.simulator('POST', '/settings', { roles: [...shippedRoles, ...more] })
      const missing = ({ remedies }: Finding) =>
        remedies.map((remedy) => /--role "([^"]+)" --scope "([^"]+)"/.exec(remedy)?.slice(1))
      const { subscriptionId } = azureIds
      const reservations = `/subscriptions/${subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.Compute/capacityReservationGroups/group`
      const { metadata, ...plain } = nodeClass()
      const annotations = { 'joiner.sh/capacity-reservation-groups': reservations }
      await world().apply({ ...plain, metadata: { ...metadata, annotations } })

      await having()
      const vms = await doctor.examined()
      expect(missing(vms.of('azure roles'))).toEqual([[`Joiner reservations (${subscriptionId})`, reservations]])
      const machines = await doctor.examined(makingMachines)
      expect(missing(machines.of('azure roles'))).toEqual([[`Joiner machines (${subscriptionId})`, machinesRole.scope]])
      expect(machines.of('azure roles').details).toContain(
        `Microsoft.ContainerService/managedClusters/agentPools/machines/write on ${machinesRole.scope}`,
      )
      expect(machines.of('azure reads').summary).toContain('nodeImageVersions')

      await having(reservationsRole(reservations), machinesRole)
      for (const settings of [{}, makingMachines]) {
        const { of } = await doctor.examined(settings)
        expect([of('azure roles'), of('azure reads')].map(({ status }) => status)).toEqual(['ok', 'ok'])
      }
      await world().operator.simulator('POST', '/settings', { roles: shippedRoles.slice(0, 1) })
      const { of } = await doctor.examined(makingMachines)
      expect(of('azure reads').summary).toMatch(/ reads fail: .*nodeImageVersions/)
      expect(missing(of('azure reads'))).toContainEqual(['Reader', `/subscriptions/${subscriptionId}`])
      const gone = { 'joiner.sh/capacity-reservation-groups': reservations.replace(`${clusterName}-group`, 'none') }
      await world().apply({ ...plain, metadata: { ...metadata, annotations: gone } })
      await world().operator.simulator('POST', '/settings', { roles: shippedRoles })
      expect((await doctor.examined()).of('azure roles').status).toBe('ok')
      await world().apply(nodeClass())
    })

    test('quota that is used up', async () => {
      await world().operator.simulator('POST', '/settings', { quotas: { standardDSv5Family: 0 } })
      const { of, bad } = await doctor.examined()
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
      await world().operator.simulator('POST', '/settings', { network })
      const { code, of, bad } = await doctor.examined()
      expect(bad).toEqual(['subnet'])
      expect(of('subnet').summary).toContain('has 2 of 3 addresses free, room for 2 nodes with 1 each')
      expect(of('subnet').remedies[0]).toContain(
        `az network vnet subnet update --resource-group ${azureIds.nodeResourceGroup} --vnet-name ${vnet} --name ${name}`,
      )
      expect(code).toBe(0)
    })
  })
}
