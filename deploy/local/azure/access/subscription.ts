import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import type { ArmRequest } from '../server/arm-request.ts'

const displayName = 'simulated'
/** Resource providers that a cluster needs, which are registered, as `az provider show` prints it. */
const providers = [
  'Microsoft.Authorization',
  'Microsoft.Compute',
  'Microsoft.ContainerService',
  'Microsoft.ManagedIdentity',
  'Microsoft.Network',
  'Microsoft.ResourceGraph',
  'Microsoft.Resources',
]

/** The subscription, with its resource groups, its region and its resource providers. Resource groups are those that something is in. */
export function registerSubscription(app: FastifyInstance, { config, network }: ArmDeps): void {
  const id = `/subscriptions/${config.subscriptionId}`
  const subscription = {
    id,
    subscriptionId: config.subscriptionId,
    tenantId: config.tenantId,
    displayName,
    state: 'Enabled',
  }
  const group = (name: string) => ({
    id: `${id}/resourceGroups/${name}`,
    name,
    type: 'Microsoft.Resources/resourceGroups',
    location: config.location,
    properties: { provisioningState: 'Succeeded' },
  })
  const provider = (namespace: string) => ({
    id: `${id}/providers/${namespace}`,
    namespace,
    registrationState: 'Registered',
    registrationPolicy: 'RegistrationRequired',
    resourceTypes: [],
  })
  const foundProvider = ({ params }: ArmRequest) => {
    const wanted = (params['namespace'] ?? '').toLowerCase()
    const found = providers.find((name) => name.toLowerCase() === wanted)
    if (found !== undefined) return provider(found)
    throw new ArmError(404, 'InvalidResourceNamespace', `The resource namespace '${params['namespace']}' is invalid.`)
  }

  app.get('/subscriptions', () => ({ value: [subscription] }))
  app.get('/subscriptions/:subscription', () => subscription)
  app.get('/subscriptions/:subscription/locations', () => ({
    value: [
      {
        id: `${id}/locations/${config.location}`,
        name: config.location,
        type: 'Region',
        displayName: config.location,
        regionalDisplayName: config.location,
        metadata: { regionType: 'Physical', regionCategory: 'Recommended' },
      },
    ],
  }))
  app.get('/subscriptions/:subscription/resourceGroups', () => ({ value: network.setup.groups.map(group) }))
  // One that is not there was refused before.
  app.get('/subscriptions/:subscription/resourceGroups/:group', ({ params }: ArmRequest) => {
    const wanted = (params['group'] ?? '').toLowerCase()
    return group(network.setup.groups.find((name) => name.toLowerCase() === wanted) ?? wanted)
  })
  app.get('/subscriptions/:subscription/providers', () => ({ value: providers.map(provider) }))
  app.get('/subscriptions/:subscription/providers/:namespace', foundProvider)
  app.post('/subscriptions/:subscription/providers/:namespace/register', foundProvider)
}
