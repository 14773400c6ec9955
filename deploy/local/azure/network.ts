import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ArmDeps } from './arm-deps.ts'
import { ArmError, resourceNotFound } from './arm-error.ts'
import { type ArmRequest, page } from './arm-request.ts'

const networkPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Network'

/** Microsoft.Network: the NICs that came with VMs, and the network of the AKS cluster, which does not change. */
export function registerNetwork(app: FastifyInstance, { config, machines, resources }: ArmDeps): void {
  const collections = {
    networkInterfaces: () => [
      ...machines.all.flatMap((machine) => resources.nics(machine)),
      ...machines.leftovers('networkInterfaces').map(({ resource }) => resource),
    ],
    networkSecurityGroups: () => [resources.networkSecurityGroup()],
    loadBalancers: () => resources.loadBalancers(),
  }
  for (const [type, list] of Object.entries(collections)) {
    app.get(`${networkPath}/${type}`, (request: ArmRequest) => page(request, config, list()))
    app.get(`${networkPath}/${type}/:name`, (request: ArmRequest) => {
      const { name = '' } = request.params
      const found = list().find((resource) => String(resource['name']).toLowerCase() === name.toLowerCase())
      if (found === undefined) throw resourceNotFound(`Microsoft.Network/${type}`, name, config.nodeResourceGroup)
      return found
    })
  }

  app.delete(`${networkPath}/networkInterfaces/:name`, (request: ArmRequest, reply): FastifyReply => {
    const { name = '' } = request.params
    const used = machines.all.find((machine) =>
      resources.nics(machine).some((nic) => String(nic['name']).toLowerCase() === name.toLowerCase()),
    )
    if (used !== undefined)
      throw new ArmError(
        400,
        'NicInUse',
        `Network interface ${name} is used by the VM ${used.name} and cannot be deleted.`,
      )
    return reply.code(machines.discard('networkInterfaces', name) ? 200 : 204).send()
  })

  app.get(`${networkPath}/virtualNetworks/:vnet/subnets/:name`, (request: ArmRequest) => {
    const { vnet = '', name = '', group = '' } = request.params
    const asked = decodeURIComponent(request.url.split('?')[0] ?? '')
    if (asked.toLowerCase() !== config.subnetId.toLowerCase())
      throw new ArmError(404, 'NotFound', `Subnet ${vnet}/${name} was not found in resource group '${group}'.`)
    return resources.subnet()
  })
}
