import type { FastifyRequest } from 'fastify'
import type { NetworkSetup } from '../network/network-setup.ts'
import { checkApiVersion } from './api-versions.ts'
import { ArmError, resourceNotFound } from './arm-error.ts'
import type { SimulatorConfig } from './config.ts'
import { SortedMap } from './sorted-map.ts'

/** A request to ARM: names from its path, options from its query. */
export type ArmRequest<Body = unknown> = FastifyRequest<{
  Params: Record<string, string>
  Querystring: Record<string, string>
  Body: Body
}>

const defaultPageSize = 100

/** Azure writes a region as `West US 2` and as `westus2`. */
export function sameLocation(one: string, other: string): boolean {
  return one.replaceAll(' ', '').toLowerCase() === other.replaceAll(' ', '').toLowerCase()
}

/** Checks what ARM checks before a resource provider sees the request: api-version, subscription, region and resource group. */
export function checkRequest(request: ArmRequest, config: SimulatorConfig, network: NetworkSetup): void {
  const path = request.url.split('?')[0] ?? ''
  if (!request.query['api-version'])
    throw new ArmError(400, 'MissingApiVersionParameter', 'Every request needs the query parameter api-version.')
  checkApiVersion(path, request.query['api-version'], config.location)
  const subscription = /^\/subscriptions\/([^/]+)/i.exec(path)?.[1]
  if (subscription !== undefined && subscription.toLowerCase() !== config.subscriptionId.toLowerCase())
    throw new ArmError(404, 'SubscriptionNotFound', `The subscription '${subscription}' could not be found.`)
  const location = /\/locations\/([^/]+)/i.exec(path)?.[1]
  if (location !== undefined && !sameLocation(decodeURIComponent(location), config.location)) {
    throw new ArmError(
      400,
      'NoRegisteredProviderFound',
      `No resource provider is registered for location '${location}' and API version '${request.query['api-version']}'. The simulator's only location is '${config.location}'.`,
    )
  }
  const group = /\/resourceGroups\/([^/]+)/i.exec(path)?.[1]
  const isMade = request.method === 'PUT' && /\/resourceGroups\/[^/]+$/i.test(path)
  if (group !== undefined && !isMade && !network.hasGroup(group))
    throw new ArmError(404, 'ResourceGroupNotFound', `Resource group '${group}' could not be found.`)
  const [, type, name] = /\/(Microsoft\.\w+\/(?:virtualMachines|networkInterfaces|disks))\/([^/?]+)/i.exec(path) ?? []
  if (type !== undefined && name !== undefined && group !== undefined && isOutsideNodeGroup(request, config))
    throw resourceNotFound(type, name, group)
}

/** Whether a request is about another group than that of the nodes, which is the only one with VMs, NICs and disks. */
export function isOutsideNodeGroup(request: ArmRequest, { nodeResourceGroup }: SimulatorConfig): boolean {
  const group = /\/resourceGroups\/([^/?]+)/i.exec(request.url)?.[1]
  return group !== undefined && group.toLowerCase() !== nodeResourceGroup.toLowerCase()
}

/** Path without the query. */
export function pathOf({ url }: FastifyRequest<never> | FastifyRequest | ArmRequest): string {
  return url.split('?')[0] ?? ''
}

/** The name by which a request is counted and aimed at by faults, such as `PUT virtualMachines`: its method and the last type in its path. */
export function operationOf({ method, url }: FastifyRequest): string {
  const path = url.split('?')[0] ?? ''
  const types =
    /(capacityReservationGroups|capacityReservations|virtualMachines|virtualNetworks|managedClusters|agentPools|deleteMachines|machines|listClusterUserCredential|userAssignedIdentities|federatedIdentityCredentials|roleDefinitions|roleAssignments|diskEncryptionSets|nodeImageVersions|retrieveBootDiagnosticsData|restart|skus|usages|permissions|virtualNetworks|extensions|networkInterfaces|networkSecurityGroups|loadBalancers|subnets|versions|operations|disks|resources)(?=\/|$)/gi
  return `${method} ${[...path.matchAll(types)].at(-1)?.[0] ?? path}`
}

/** The name under which a request is counted: as `operationOf`, but a list of VMs is `LIST virtualMachines`. */
export function callOf(request: FastifyRequest): string {
  const operation = operationOf(request)
  return operation === 'GET virtualMachines' && /\/virtualMachines(\?|$)/i.test(request.url) ? listOperation : operation
}

const listOperation = 'LIST virtualMachines'

/**
 * One page of a list. The skip token is the last name of the page before, so that a resource deleted between two pages hides no other:
 * what a reader of all pages did not see was not there all the time.
 */
export function pageOf<T>(
  request: ArmRequest,
  { pageSize = defaultPageSize }: SimulatorConfig,
  { all, show }: { readonly all: SortedMap<T>; readonly show: (entry: T) => Record<string, unknown> },
): Record<string, unknown> {
  const token = request.query['$skiptoken']
  const after = token === undefined ? undefined : Buffer.from(token, 'base64url').toString()
  const found = all.after(after, pageSize + 1)
  const value = found.slice(0, pageSize).map(([, entry]) => show(entry))
  const last = found[pageSize - 1]
  if (last === undefined || found.length <= pageSize) return { value }
  const next = new URL(request.url, `https://${request.host}`)
  next.searchParams.set('$skiptoken', Buffer.from(last[0]).toString('base64url'))
  return { value, nextLink: next.href }
}

/** One page of a short list. */
export function page(
  request: ArmRequest,
  config: SimulatorConfig,
  all: readonly Record<string, unknown>[],
): Record<string, unknown> {
  const sorted = new SortedMap<Record<string, unknown>>()
  for (const entry of all) sorted.set(keyOf(entry), entry)
  return pageOf(request, config, { all: sorted, show: (entry) => entry })
}

/** Usages carry their name in an object. */
function keyOf({ name }: Record<string, unknown>): string {
  return String(typeof name === 'object' && name !== null && 'value' in name ? name.value : name).toLowerCase()
}
