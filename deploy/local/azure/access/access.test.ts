// What the simulator refuses about identities, roles and assignments, in Azure's words, without a process.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentPools } from '../agent-pools/agent-pools.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { registerArmErrors } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import { Journal } from '../server/journal.ts'
import { Machines } from '../virtual-machines/machines.ts'
import { AccessState } from './access-state.ts'
import { registerManagedClusters } from './managed-clusters.ts'
import { registerManagedIdentities } from './managed-identities.ts'
import { registerRoles } from './role-requests.ts'
import { roles } from './roles.ts'

const folder = mkdtempSync(join(tmpdir(), 'joiner-access-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sub = '/subscriptions/sub'
const group = `${sub}/resourceGroups/demo-group`
const identities = `${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`
const authorization = 'providers/Microsoft.Authorization'
const config = {
  subscriptionId: 'sub',
  tenantId: 'tenant',
  location: 'westus2',
  clusterName: 'demo',
  nodeResourceGroup: 'MC_demo',
  subnetId: `${sub}/resourceGroups/MC_demo/x/subnets/s`,
} as SimulatorConfig

const app = fastify({ routerOptions: { caseSensitive: false } })
const file = join(folder, 'state.jsonl')
const journal = new Journal(file)
const agentPools = new AgentPools({ journal, vms: new Machines(journal) })
const deps = { config, access: new AccessState(journal), agentPools, newId: () => randomUUID() } as ArmDeps
registerArmErrors(app)
registerManagedClusters(app, deps)
registerManagedIdentities(app, deps)
registerRoles(app, deps)

async function send(method: 'GET' | 'PUT' | 'DELETE', url: string, sent?: object) {
  const answer = await app.inject({ method, url, ...(sent === undefined ? {} : { payload: sent }) })
  const body = answer.body === '' ? {} : answer.json<Readonly<Record<string, unknown>>>()
  return { status: answer.statusCode, body, code: codeOf(body) }
}

const codeOf = (body: { readonly error?: { readonly code: string } }) => body.error?.code
const trust = (subject: string, changes: object = {}) => ({
  properties: { issuer: 'https://issuer/', subject, audiences: ['api://AzureADTokenExchange'], ...changes },
})
const definition = (roleName: string, actions: readonly string[] = ['Microsoft.Compute/skus/read']) => ({
  properties: { roleName, permissions: [{ actions }], assignableScopes: [sub] },
})
const roleId = `${sub}/${authorization}/roleDefinitions/role-one`
const assignment = (principalId: string, changes: object = {}) => ({
  properties: { principalId, roleDefinitionId: roleId, principalType: 'ServicePrincipal', ...changes },
})

beforeAll(async () => {
  await send('PUT', `${identities}/one`, { location: 'westus2' })
  await send('PUT', `${identities}/one/federatedIdentityCredentials/first`, trust('first'))
  await send('PUT', `${sub}/${authorization}/roleDefinitions/role-one`, definition('Role one'))
  await send('PUT', `${group}/${authorization}/roleAssignments/assignment-one`, assignment('principal'))
})

describe('the simulator refuses', () => {
  it.each<[string, 'GET' | 'PUT', string, object | undefined, number, string]>([
    [
      'a cluster that is not there',
      'GET',
      `${group}/providers/Microsoft.ContainerService/managedClusters/x`,
      undefined,
      404,
      'ResourceNotFound',
    ],
    ['an identity that is not there', 'GET', `${identities}/x`, undefined, 404, 'ResourceNotFound'],
    ['an identity without a region', 'PUT', `${identities}/two`, {}, 400, 'LocationRequired'],
    [
      'a credential of no identity',
      'PUT',
      `${identities}/x/federatedIdentityCredentials/a`,
      trust('a'),
      404,
      'ResourceNotFound',
    ],
    [
      'a credential twice',
      'PUT',
      `${identities}/one/federatedIdentityCredentials/second`,
      trust('first'),
      409,
      'Conflict',
    ],
    [
      'two audiences',
      'PUT',
      `${identities}/one/federatedIdentityCredentials/b`,
      trust('b', { audiences: ['x', 'y'] }),
      400,
      'BadRequest',
    ],
    [
      'an issuer that is no URL',
      'PUT',
      `${identities}/one/federatedIdentityCredentials/b`,
      trust('b', { issuer: 'x' }),
      400,
      'BadRequest',
    ],
    [
      'a role with an action of nobody',
      'PUT',
      `${sub}/${authorization}/roleDefinitions/r`,
      definition('R', ['Compute/read']),
      400,
      'InvalidActionOrNotAction',
    ],
    [
      'a role without scopes',
      'PUT',
      `${sub}/${authorization}/roleDefinitions/r`,
      { properties: { roleName: 'R' } },
      400,
      'RoleDefinitionInvalid',
    ],
    [
      "another role's name",
      'PUT',
      `${sub}/${authorization}/roleDefinitions/r`,
      definition('Role one'),
      409,
      'RoleDefinitionWithSameNameExists',
    ],
    [
      "a built-in role's name",
      'PUT',
      `${sub}/${authorization}/roleDefinitions/r`,
      definition('Reader'),
      409,
      'RoleDefinitionWithSameNameExists',
    ],
    [
      'an assignment of no role',
      'PUT',
      `${group}/${authorization}/roleAssignments/a`,
      assignment('principal', { roleDefinitionId: `${sub}/x/none` }),
      404,
      'RoleDefinitionDoesNotExist',
    ],
    [
      'an assignment to nobody',
      'PUT',
      `${group}/${authorization}/roleAssignments/a`,
      assignment('nobody', { principalType: undefined }),
      400,
      'PrincipalNotFound',
    ],
    [
      'an assignment by a second name',
      'PUT',
      `${group}/${authorization}/roleAssignments/a`,
      assignment('principal'),
      409,
      'RoleAssignmentExists',
    ],
    [
      'another assignment by its name',
      'PUT',
      `${group}/${authorization}/roleAssignments/assignment-one`,
      assignment('other'),
      400,
      'RoleAssignmentUpdateNotPermitted',
    ],
    [
      'an assignment that is not there',
      'GET',
      `${group}/${authorization}/roleAssignments/a`,
      undefined,
      404,
      'RoleAssignmentNotFound',
    ],
  ])('%s', async (_what, method, url, body, status, code) => {
    const answer = await send(method, `${url}?api-version=2022-04-01`, body)
    expect([answer.status, answer.code]).toEqual([status, code])
  })

  it('a credential beyond the twentieth', async () => {
    await send('PUT', `${identities}/full`, { location: 'westus2' })
    const put = (name: string) => send('PUT', `${identities}/full/federatedIdentityCredentials/${name}`, trust(name))
    for (let count = 1; count <= 20; count++) expect((await put(`one-${count}`)).status).toBe(201)
    expect((await put('one-more')).status).toBe(400)
    expect((await put('one-20')).status).toBe(200)
  })
})

describe('the simulator answers', () => {
  it('the same request again with what is there', async () => {
    const [first, again] = [
      await send('GET', `${identities}/ONE`),
      await send('PUT', `${identities}/one`, { location: 'westus2', tags: { a: 'b' } }),
    ]
    expect(again.status).toBe(200)
    expect(again.body['properties']).toEqual(first.body['properties'])
    const repeated = await send(
      'PUT',
      `${group}/${authorization}/roleAssignments/assignment-one`,
      assignment('principal'),
    )
    expect(repeated.status).toBeLessThan(300)
  })

  it('assignments at, above and below a scope, of one principal', async () => {
    const count = async (scope: string, filter: string) =>
      (
        (await send('GET', `${scope}/${authorization}/roleAssignments?$filter=${encodeURIComponent(filter)}`)).body[
          'value'
        ] as object[]
      ).length
    expect(await count(sub, "principalId eq 'principal'")).toBe(1)
    expect(await count(`${group}/providers/x/y`, "principalId eq 'principal'")).toBe(1)
    expect(await count(sub, "principalId eq 'somebody'")).toBe(0)
    expect(await count(sub, 'atScope()')).toBe(0)
    expect(await count(group, 'atScope()')).toBe(1)
  })

  it('roles by name, and the built-in ones by their GUIDs', async () => {
    const list = async (filter: string) =>
      (await send('GET', `${sub}/${authorization}/roleDefinitions?$filter=${encodeURIComponent(filter)}`)).body[
        'value'
      ] as readonly { name: string }[]
    expect((await list("roleName eq 'Role one'")).map(({ name }) => name)).toEqual(['role-one'])
    expect((await list("roleName eq 'Owner'")).map(({ name }) => name)).toEqual([roles.Owner.id])
    expect((await send('GET', `${sub}/${authorization}/roleDefinitions/${roles.Reader.id}`)).status).toBe(200)
  })

  it('with a refusal to delete a role that still has assignments', async () => {
    const role = `${sub}/${authorization}/roleDefinitions/role-two`
    const held = `${group}/${authorization}/roleAssignments/assignment-two`
    await send('PUT', role, definition('Role two'))
    await send('PUT', held, assignment('principal', { roleDefinitionId: role }))
    const remove = async (url: string) => {
      const { status, code } = await send('DELETE', url)
      return code ?? status
    }
    expect(await remove(role)).toBe('RoleDefinitionHasAssignments')
    expect(await remove(held)).toBe(200)
    expect(await remove(held)).toBe(204)
    expect(await remove(role)).toBe(200)
    expect(await remove(role)).toBe(204)
    expect((await send('GET', role)).status).toBe(404)
  })

  it("with the cluster's identity of the kubelet, which AKS made", async () => {
    const cluster = await send('GET', `${group}/providers/Microsoft.ContainerService/managedClusters/demo`)
    const { identityProfile } = cluster.body['properties'] as {
      identityProfile: { kubeletidentity: { resourceId: string; clientId: string } }
    }
    const found = await send('GET', identityProfile.kubeletidentity.resourceId)
    expect(found.body['properties']).toMatchObject({ clientId: identityProfile.kubeletidentity.clientId })
  })

  it('after a restart with what was there before', () => {
    const again = new AccessState(new Journal(file))
    expect(again.identities.all).toEqual(deps.access.identities.all)
    expect(again.roleAssignments.all).toHaveLength(1)
    expect(again.identityOfClient(randomUUID())).toBeUndefined()
  })
})
