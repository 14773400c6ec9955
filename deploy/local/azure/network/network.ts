import type { FastifyInstance } from 'fastify'
import { ofSubscription, registerParts } from '../parts.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, page } from '../server/arm-request.ts'
import { registerNicPut } from './nic-requests.ts'

const networkPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Network'

/** Microsoft.Network: the NICs that came with VMs, and the networks around them. */
export function registerNetwork(app: FastifyInstance, deps: ArmDeps): void {
  const { config, network } = deps
  const collections = {
    virtualNetworks: () => network.virtualNetworks,
    networkSecurityGroups: () => network.networkSecurityGroups,
    loadBalancers: () => network.loadBalancers,
  }
  for (const [type, list] of Object.entries(collections)) {
    const path = `${networkPath}/${type}`
    for (const all of [path, ofSubscription(path)]) app.get(all, (request: ArmRequest) => page(request, config, list()))
    app.get(`${path}/:name`, (request: ArmRequest) => {
      const { name = '' } = request.params
      const found = list().find((resource) => String(resource['name']).toLowerCase() === name.toLowerCase())
      if (found === undefined) throw resourceNotFound(`Microsoft.Network/${type}`, name, config.nodeResourceGroup)
      return found
    })
  }

  registerParts(app, { path: `${networkPath}/networkInterfaces`, type: 'networkInterfaces' }, deps)
  registerNicPut(app, `${networkPath}/networkInterfaces`, deps)

  app.get(`${networkPath}/virtualNetworks/:vnet/usages`, (request: ArmRequest) => ({
    value: network.usages(request.params['vnet'] ?? ''),
  }))
  app.get(`${networkPath}/virtualNetworks/:vnet/subnets/:name`, (request: ArmRequest) => {
    const { vnet = '', name = '', group = '' } = request.params
    const found = network.setup.subnet(decodeURIComponent(request.url.split('?')[0] ?? ''))
    if (found === undefined)
      throw new ArmError(404, 'NotFound', `Subnet ${vnet}/${name} was not found in resource group '${group}'.`)
    return network.subnet(found)
  })
}
