import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FastifyInstance, type FastifyRequest, type FastifyServerOptions, fastify } from 'fastify'
import { list, strictRecord, text } from '../../../api/shapes/shape.ts'
import { AccessState } from './access/access-state.ts'
import { objectId } from './access/principals.ts'
import { type HeldRole, type RoleName, roles } from './access/roles.ts'
import { registerAdmin, registerAdminScenario } from './admin/admin.ts'
import { isWrong, registerAdminSettings } from './admin/admin-settings.ts'
import { Faults } from './admin/faults.ts'
import { parseScenario } from './admin/scenario.ts'
import { ScenarioPlayer } from './admin/scenario-player.ts'
import { anyRole } from './admin/settings.ts'
import { AgentPools } from './agent-pools/agent-pools.ts'
import { AksOperations } from './agent-pools/aks-operations.ts'
import { CapacityPools } from './catalogue/capacity-pools.ts'
import { priceLookup, registerPrices } from './catalogue/price-list.ts'
import { Quotas } from './catalogue/quota.ts'
import { SkuCatalogue } from './catalogue/sku-catalogue.ts'
import { GalleryToken } from './images/gallery-token.ts'
import { ImageVersions } from './images/image-versions.ts'
import { NetworkResources } from './network/network-resources.ts'
import { CapacityGroups } from './reservations/capacity-groups.ts'
import { GraphRows } from './resource-graph/graph-rows.ts'
import { Resources } from './resources.ts'
import { AccessTokens } from './server/access-tokens.ts'
import { registerArm } from './server/arm.ts'
import type { ArmDeps } from './server/arm-deps.ts'
import { CallCounts } from './server/call-counts.ts'
import type { ProcessConfig, SimulatorConfig } from './server/config.ts'
import { registerIdentity } from './server/identity.ts'
import { Journal } from './server/journal.ts'
import { Operations } from './server/operations.ts'
import { Throttling } from './throttling/throttling.ts'
import { Bill } from './virtual-machines/bill.ts'
import { Kubelets } from './virtual-machines/kubelet.ts'
import type { NodeApi } from './virtual-machines/kubelet-request.ts'
import { MachineLifecycle } from './virtual-machines/lifecycle.ts'
import { Machines } from './virtual-machines/machines.ts'
import { VmUsage } from './virtual-machines/vm-usage.ts'

export interface RunningSimulator {
  /** Such as `https://127.0.0.1:PORT`. */
  readonly address: string
  close(): Promise<void>
}

/** Starts the simulator in this process, with the state that is on disk. Errors: a file that cannot be used, a port that is taken. */
export async function startSimulator(config: ProcessConfig): Promise<RunningSimulator> {
  const https = { cert: readFileSync(config.certFile), key: readFileSync(config.keyFile) }
  const app = fastify({ ...appOptions, https })
  const { deps, player } = createSimulator(app, config)
  const { scenarioFile } = config
  const scenario =
    scenarioFile === undefined ? undefined : parseScenario(readFileSync(scenarioFile, 'utf8'), scenarioFile)
  deps.lifecycle.resume()
  const address = await app.listen({ port: config.port, host: config.host ?? '127.0.0.1' })
  if (scenario !== undefined) player.play(scenario)
  return {
    address,
    close: () => {
      player.stop()
      return app.close()
    },
  }
}

/** What every app that answers as the simulator is made with. */
export const appOptions = {
  routerOptions: { caseSensitive: false },
  bodyLimit: 4 * 1024 * 1024,
} satisfies FastifyServerOptions

/** What a simulator has from the outside, where it is not the usual. */
export interface Surroundings {
  /** Ids that are random in a usual process. */
  readonly newId?: () => string
  /** The API server that VMs join, where it is not one that the configuration names. */
  readonly nodes?: NodeApi
}

/** Makes an app the simulator: it answers as Azure does, wherever its requests come from. */
export function createSimulator(app: FastifyInstance, config: SimulatorConfig, surroundings: Surroundings = {}) {
  // Some clients say that they send JSON and send nothing, with DELETE for instance.
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, body, done)
  })
  const deps = makeDeps(config, surroundings)
  const player = new ScenarioPlayer(deps)
  registerIdentity(app, deps)
  registerArm(app, deps)
  registerDirectory(app, deps)
  registerPrices(app, config)
  registerAdmin(app, deps)
  registerAdminSettings(app, deps)
  registerAdminAccess(app, deps)
  registerAdminScenario(app, player)
  return { deps, player }
}

/** What the parts of a simulator work with, from the state on disk. */
export function makeDeps(config: SimulatorConfig, { newId = randomUUID, nodes }: Surroundings = {}): ArmDeps {
  const journal = new Journal(config.stateDir && join(config.stateDir, 'state.jsonl'))
  const machines = new Machines(journal, newId)
  const operations = new Operations(journal, newId)
  const images = new ImageVersions()
  const resources = new Resources(config, images)
  const faults = new Faults()
  const kubelets = new Kubelets(config, machines, nodes)
  const catalogue = new SkuCatalogue(config)
  const usage = new VmUsage(machines)
  const capacityGroups = new CapacityGroups(journal, machines)
  return {
    config,
    newId,
    machines,
    operations,
    resources,
    bill: new Bill({ journal, machines, priceOf: priceLookup(config), now: () => Date.now() }),
    graph: new GraphRows(config, machines, resources),
    network: new NetworkResources(config, machines, journal),
    faults,
    catalogue,
    lifecycle: new MachineLifecycle({ config, machines, operations, resources, kubelets, faults, newId }),
    agentPools: new AgentPools({ journal, vms: machines }),
    aksOperations: new AksOperations(journal, newId),
    images,
    galleryToken: new GalleryToken(newId()),
    quotas: new Quotas({ config, catalogue, usage, capacityGroups }),
    pools: new CapacityPools({ config, catalogue, usage, capacityGroups }),
    capacityGroups,
    tokens: new AccessTokens(config, newId),
    access: new AccessState(journal),
    calls: new CallCounts(),
    throttling: new Throttling(config.throttling ?? 'off'),
    journal: [],
    violations: [],
  }
}

/** Microsoft Graph, as far as the Azure CLI looks there for whom a role is assigned to: the configured identity, and those that were made, by client or object id. */
function registerDirectory(app: FastifyInstance, { config, tokens, access }: ArmDeps): void {
  app.addHook('onRequest', async (request) => {
    if (request.url.startsWith('/v1.0/')) tokens.check(request.headers.authorization, `https://${request.host}`)
  })
  app.get('/v1.0/servicePrincipals', ({ query }: FastifyRequest<{ Querystring: Record<string, string> }>) => {
    const asked = / eq '([^']*)'/.exec(query['$filter'] ?? '')?.[1]
    return { value: principals().filter(({ appId }) => appId === asked) }
  })
  app.post('/v1.0/directoryObjects/getByIds', ({ body }: FastifyRequest<{ Body: { readonly ids?: string[] } }>) => ({
    value: principals().filter(({ id }) => body.ids?.includes(id)),
  }))

  const principals = () =>
    [{ name: 'configured', clientId: config.clientId, principalId: objectId }, ...access.identities.all].map(
      ({ name, clientId, principalId }) => ({
        '@odata.type': '#microsoft.graph.servicePrincipal',
        id: principalId,
        appId: clientId,
        displayName: name,
        servicePrincipalNames: [clientId],
      }),
    )
}

interface PersonBody {
  readonly name: string
  readonly roles: readonly (RoleName | HeldRole)[]
}

const personShape = strictRecord({ name: text, roles: list(anyRole) }, ['name', 'roles'])

/** People who use ARM with a login of their own, what was assigned to whom, and which actions everybody took. */
function registerAdminAccess(app: FastifyInstance, { config, access, tokens, calls, newId }: ArmDeps): void {
  app.get('/admin/calls/actions', () => calls.actions)
  app.get('/admin/access', () => ({
    identities: access.identities.all,
    federatedCredentials: access.federatedCredentials.all,
    roleDefinitions: access.roleDefinitions.all,
    roleAssignments: access.roleAssignments.all,
  }))
  app.delete('/admin/access', (_request, reply) => {
    for (const table of [access.identities, access.federatedCredentials, access.roleAssignments])
      for (const { id } of table.all) table.delete(id)
    for (const { name } of access.roleDefinitions.all) access.roleDefinitions.delete(name)
    return reply.code(204).send()
  })
  // Makes somebody, or gives them other roles; the answer holds a new token for ARM.
  app.post<{ Body: PersonBody }>('/admin/people', (request, reply) => {
    if (isWrong(request.body, personShape, reply)) return reply
    const { name } = request.body
    const scope = `/subscriptions/${config.subscriptionId}`
    const held = request.body.roles.map(
      (role): HeldRole => (typeof role === 'string' ? { name: role, scope, ...roles[role] } : role),
    )
    const { objectId } = access.people.get(name) ?? { objectId: newId() }
    access.people.put(name, { name, objectId, roles: held })
    const accessToken = tokens.issue('https://management.azure.com', { objectId, client: name })
    const expiresOn = Math.floor(Date.now() / 1000) + tokens.lifetimeSeconds
    return reply.send({ objectId, accessToken, expiresOn })
  })
}
