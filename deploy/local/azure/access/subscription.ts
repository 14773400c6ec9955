import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import { type ArmRequest, sameLocation } from '../server/arm-request.ts'

const displayName = 'simulated'
const groupPath = '/subscriptions/:subscription/resourceGroups/:group'
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

interface GroupBody {
  readonly location?: string
  readonly tags?: Readonly<Record<string, string>>
}

/** The subscription, with its resource groups, its region and its resource providers. Resource groups are those that something is in, and those that were PUT. */
export function registerSubscription(app: FastifyInstance, deps: ArmDeps): void {
  const { config } = deps
  const id = `/subscriptions/${config.subscriptionId}`
  const subscription = {
    id,
    subscriptionId: config.subscriptionId,
    tenantId: config.tenantId,
    displayName,
    state: 'Enabled',
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
  registerGroups(app, deps, id)
  registerProviders(app, id)
}

/** `id`: of the subscription. */
function registerGroups(app: FastifyInstance, { config, network: { setup } }: ArmDeps, id: string): void {
  const group = (name: string) => {
    const tags = setup.madeGroups.get(name)?.tags
    return {
      id: `${id}/resourceGroups/${name}`,
      name,
      type: 'Microsoft.Resources/resourceGroups',
      location: config.location,
      ...(tags === undefined ? {} : { tags }),
      properties: { provisioningState: 'Succeeded' },
    }
  }
  /** As the group is written where it is there already. */
  const nameOf = (asked = '') => setup.groups.find((name) => name.toLowerCase() === asked.toLowerCase()) ?? asked

  app.get('/subscriptions/:subscription/resourceGroups', () => ({ value: setup.groups.map(group) }))
  // One that is not there was refused before.
  app.get(groupPath, ({ params }: ArmRequest) => group(nameOf(params['group'])))
  app.put(groupPath, ({ params, body }: ArmRequest<GroupBody | undefined>, reply) => {
    if (!sameLocation(body?.location ?? '', config.location))
      throw new ArmError(
        400,
        'LocationNotAvailableForResourceGroup',
        `The provided location '${body?.location ?? ''}' is not available for resource group. List of available regions is '${config.location}'.`,
      )
    const name = nameOf(params['group'])
    const isNew = !setup.hasGroup(name)
    setup.madeGroups.put(name, { name, ...(body?.tags === undefined ? {} : { tags: body.tags }) })
    return reply.code(isNew ? 201 : 200).send(group(name))
  })
}

/** `id`: of the subscription. */
function registerProviders(app: FastifyInstance, id: string): void {
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

  app.get('/subscriptions/:subscription/providers', () => ({ value: providers.map(provider) }))
  app.get('/subscriptions/:subscription/providers/:namespace', foundProvider)
  app.post('/subscriptions/:subscription/providers/:namespace/register', foundProvider)
}
