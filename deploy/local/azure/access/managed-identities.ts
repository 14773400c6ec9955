import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, page } from '../server/arm-request.ts'
import type { FederatedCredential, Identity } from './access-state.ts'
import { clusterBody, clustersOf } from './cluster-body.ts'

const type = 'Microsoft.ManagedIdentity/userAssignedIdentities'
const path = `/subscriptions/:subscription/resourceGroups/:group/providers/${type}`
/** https://learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations */
const mostCredentials = 20

type IdentityBody = { readonly location?: string; readonly tags?: Readonly<Record<string, string>> } | undefined
type CredentialBody =
  | { readonly properties?: { readonly issuer?: string; readonly subject?: string; readonly audiences?: string[] } }
  | undefined

/** User-assigned managed identities with their federated credentials: GET, list and PUT; an identity goes with its credentials by DELETE. */
export function registerManagedIdentities(app: FastifyInstance, deps: ArmDeps): void {
  const { config, access } = deps
  const show = ({ principalId, clientId, ...shown }: Identity) => ({
    ...shown,
    type,
    properties: { tenantId: config.tenantId, principalId, clientId },
  })
  app.get(path, (request: ArmRequest) => {
    const prefix = `${idOf(request)}/`.toLowerCase()
    const own = all(deps).filter(({ id }) => id.toLowerCase().startsWith(prefix))
    return page(request, config, own.map(show))
  })
  app.get(`/subscriptions/:subscription/providers/${type}`, () => ({ value: all(deps).map(show) }))
  app.get(`${path}/:name`, (request: ArmRequest) => show(foundIdentity(request, deps)))
  app.put(`${path}/:name`, (request: ArmRequest<IdentityBody>, reply) => {
    const { location, tags } = request.body ?? {}
    if (location === undefined)
      throw new ArmError(400, 'LocationRequired', 'The location property is required for this definition.')
    const id = idOf(request)
    const before = access.identities.get(id)
    const identity: Identity = {
      id,
      name: request.params['name'] ?? '',
      location,
      ...(tags === undefined ? {} : { tags }),
      principalId: before?.principalId ?? deps.newId(),
      clientId: before?.clientId ?? deps.newId(),
    }
    access.identities.put(id, identity)
    return reply.code(before === undefined ? 201 : 200).send(show(identity))
  })
  app.delete(`${path}/:name`, (request: ArmRequest, reply) => {
    const identity = access.identities.get(idOf(request))
    if (identity === undefined) return reply.code(204).send()
    for (const { id } of access.credentialsOf(identity)) access.federatedCredentials.delete(id)
    access.identities.delete(identity.id)
    return reply.code(200).send()
  })
  registerFederatedCredentials(app, deps)
}

function registerFederatedCredentials(app: FastifyInstance, deps: ArmDeps): void {
  const { config, access } = deps
  const credentials = `${path}/:name/federatedIdentityCredentials`
  const show = ({ id, name, issuer, subject, audiences }: FederatedCredential) => ({
    id,
    name,
    type: `${type}/federatedIdentityCredentials`,
    properties: { issuer, subject, audiences },
  })
  app.get(credentials, (request: ArmRequest) =>
    page(request, config, access.credentialsOf(foundIdentity(request, deps)).map(show)),
  )
  app.get(`${credentials}/:credential`, (request: ArmRequest) => {
    const identity = foundIdentity(request, deps)
    const { credential = '', group = '' } = request.params
    const found = access.credentialsOf(identity).find(({ name }) => name.toLowerCase() === credential.toLowerCase())
    if (found === undefined)
      throw resourceNotFound(`${type}/federatedIdentityCredentials`, `${identity.name}/${credential}`, group)
    return show(found)
  })
  app.put(`${credentials}/:credential`, (request: ArmRequest<CredentialBody>, reply) => {
    const identity = foundIdentity(request, deps)
    const { credential = '' } = request.params
    const wanted = { ...trustIn(request.body), name: credential, identity: identity.id }
    const others = access.credentialsOf(identity).filter(({ name }) => name.toLowerCase() !== credential.toLowerCase())
    if (others.some(({ issuer, subject }) => issuer === wanted.issuer && subject === wanted.subject))
      throw new ArmError(409, 'Conflict', 'Issuer and subject combination already exists for this Managed Identity.')
    if (others.length >= mostCredentials)
      throw new ArmError(
        400,
        'BadRequest',
        `The maximum of ${mostCredentials} federated identity credentials of a managed identity is reached.`,
      )
    const id = `${identity.id}/federatedIdentityCredentials/${credential}`
    const isNew = access.federatedCredentials.get(id) === undefined
    access.federatedCredentials.put(id, { id, ...wanted })
    return reply.code(isNew ? 201 : 200).send(show({ id, ...wanted }))
  })
}

/** Errors: 400 for a body that lacks something. */
function trustIn(body: CredentialBody): Pick<FederatedCredential, 'issuer' | 'subject' | 'audiences'> {
  const { issuer = '', subject = '', audiences = [] } = body?.properties ?? {}
  if (!URL.canParse(issuer) || subject === '' || audiences.length !== 1)
    throw new ArmError(
      400,
      'BadRequest',
      'A federated identity credential needs an issuer that is a URL, a subject, and one audience.',
    )
  return { issuer, subject, audiences }
}

/** The identities that were made through ARM, and those that AKS made for kubelets. */
function all({ config, access }: ArmDeps): readonly Identity[] {
  const ofKubelets = clustersOf(config).flatMap((cluster): readonly Identity[] => {
    const { properties } = clusterBody(cluster, config) as { readonly properties: Record<string, unknown> }
    const profile = properties['identityProfile'] as
      | { readonly kubeletidentity?: { resourceId: string; clientId: string; objectId: string } }
      | undefined
    if (profile?.kubeletidentity === undefined) return []
    const { resourceId: id, clientId, objectId: principalId } = profile.kubeletidentity
    return [{ id, name: id.slice(id.lastIndexOf('/') + 1), location: config.location, clientId, principalId }]
  })
  return [...ofKubelets, ...access.identities.all]
}

/** The identity that a request names. Errors: 404. */
function foundIdentity<T>(request: ArmRequest<T>, deps: ArmDeps): Identity {
  const { name = '', group = '' } = request.params
  const id = idOf(request).toLowerCase()
  const found = all(deps).find((identity) => identity.id.toLowerCase() === id)
  if (found === undefined) throw resourceNotFound(type, name, group)
  return found
}

/** Id of the identity in a request's path, written as the provider writes it. */
function idOf<T>({ params }: ArmRequest<T>): string {
  const { subscription = '', group = '', name } = params
  const base = `/subscriptions/${subscription}/resourcegroups/${group}/providers/${type}`
  return name === undefined ? base : `${base}/${name}`
}
