// Agent pools and machines over HTTP, without a process: what AKS makes of a PUT, and what goes when it is asked to delete.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'
import { registerArmErrors } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import { makeDeps } from '../simulator.ts'
import { registerVirtualMachines } from '../virtual-machines/virtual-machines.ts'
import { registerAgentPools } from './agent-pool-requests.ts'

const folder = mkdtempSync(join(tmpdir(), 'joiner-agent-pools-'))
afterAll(() => rmSync(folder, { recursive: true }))

const group = '/subscriptions/sub/resourceGroups/demo-group'
const cluster = `${group}/providers/Microsoft.ContainerService/managedClusters/demo`
const pool = `${cluster}/agentPools/aksmanagedap`
const vmOf = (name: string) =>
  `/subscriptions/sub/resourceGroups/MC_demo/providers/Microsoft.Compute/virtualMachines/${name}`
const never = 3_600_000

type Json = Readonly<Record<string, unknown>>
interface Shown {
  readonly id: string
  readonly name: string
  readonly properties: Json & { readonly resourceId: string; readonly eTag: string; readonly tags: Json }
}

/** A simulated AKS with the state of a folder of its own, or of the one given. */
function aks(settings: Partial<SimulatorConfig> = {}, stateDir = mkdtempSync(join(folder, 'state-'))) {
  const config = {
    subscriptionId: 'sub',
    tenantId: 'tenant',
    location: 'westus2',
    clusterName: 'demo',
    nodeResourceGroup: 'MC_demo',
    subnetId:
      '/subscriptions/sub/resourceGroups/MC_demo/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet',
    stateDir,
    ...settings,
  } as SimulatorConfig
  const app = fastify({ routerOptions: { caseSensitive: false } })
  const deps = makeDeps(config)
  registerArmErrors(app)
  registerVirtualMachines(app, deps)
  registerAgentPools(app, deps)
  const send = async (
    method: 'GET' | 'PUT' | 'POST',
    url: string,
    { body, headers = {} }: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
  ) => {
    const answer = await app.inject({ method, url, headers, ...(body === undefined ? {} : { payload: body }) })
    return {
      status: answer.statusCode,
      headers: answer.headers as Readonly<Record<string, string>>,
      body: answer.body === '' ? {} : answer.json<Json>(),
    }
  }
  const sendAll = async (url: string): Promise<readonly Shown[]> => {
    const { body } = await send('GET', url)
    const { nextLink } = body as { readonly nextLink?: string }
    const rest = nextLink === undefined ? [] : await sendAll(nextLink.replace(/^https?:\/\/[^/]+/, ''))
    return [...(body['value'] as readonly Shown[]), ...rest]
  }
  return { deps, send, sendAll, stateDir }
}

const tags = (claim: string) => ({
  'karpenter.azure.com_cluster': 'demo',
  'karpenter.sh_nodepool': 'general',
  'karpenter.azure.com_aksmachine_nodeclaim': claim,
})
const machine = (name: string, changes: Json = {}) => ({
  zones: ['1'],
  properties: {
    hardware: { vmSize: 'Standard_D2s_v5' },
    operatingSystem: { osType: 'Linux', osSKU: 'Ubuntu2404', osDiskSizeGB: 64 },
    kubernetes: { nodeLabels: { team: 'blue' }, nodeInitializationTaints: ['karpenter.sh/unregistered:NoExecute'] },
    nodeImageVersion: 'AKSUbuntu-2404gen2containerd-202610.20.0',
    priority: 'Regular',
    tags: tags(name),
    ...changes,
  },
})

async function withPool(settings: Partial<SimulatorConfig> = {}) {
  const made = aks(settings)
  await made.send('PUT', pool, { body: { properties: { mode: 'Machines' } } })
  return made
}

const codeOf = ({ body }: { readonly body: Json }) => (body['error'] as { readonly code: string }).code

describe('a machine', () => {
  it('is made with its VM, which has its tags and those of AKS, and a name after pool and machine', async () => {
    const { send, deps } = await withPool({ createMs: never })
    const answer = await send('PUT', `${pool}/machines/general-abcde`, { body: machine('general-abcde') })
    expect(answer.status).toBe(201)
    const made = answer.body as unknown as Shown
    expect(made).toMatchObject({
      id: `${pool}/machines/general-abcde`,
      zones: ['1'],
      properties: {
        provisioningState: 'Creating',
        nodeImageVersion: 'AKSUbuntu-2404gen2containerd-202610.20.0',
        tags: tags('general-abcde'),
        status: { driftAction: 'Synced' },
      },
    })
    expect(made.properties).not.toHaveProperty('priority')
    const vm = made.properties.resourceId.split('/').at(-1) ?? ''
    expect(vm).toMatch(/^aks-aksmanagedap-general-abcde-\d{8}-vm$/)
    expect((await send('GET', vmOf(vm))).body).toMatchObject({
      tags: { ...tags('general-abcde'), 'aks-managed-poolName': 'aksmanagedap' },
      zones: ['1'],
      properties: { provisioningState: 'Creating', hardwareProfile: { vmSize: 'Standard_D2s_v5' } },
    })
    const operation = new URL(answer.headers['azure-asyncoperation'] ?? '').pathname
    expect((await send('GET', operation)).body).toMatchObject({ status: 'InProgress' })
    deps.lifecycle.finish()
    expect((await send('GET', operation)).body).toMatchObject({ status: 'Succeeded' })
    expect((await send('GET', `${pool}/machines/general-abcde`)).body).toMatchObject({
      properties: { provisioningState: 'Succeeded' },
    })
    expect(deps.machines.get(vm)?.aksKubelet).toMatchObject({
      labels: { team: 'blue', agentpool: 'aksmanagedap' },
      taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    })
  })

  it('that exists is not changed by a PUT that wants to make one', async () => {
    const { send } = await withPool()
    const headers = { 'if-none-match': '*' }
    const url = `${pool}/machines/general-abcde`
    expect((await send('PUT', url, { body: machine('general-abcde'), headers })).status).toBe(201)
    const again = await send('PUT', url, { body: machine('general-abcde', { tags: {} }), headers })
    expect([again.status, codeOf(again)]).toEqual([412, 'ConditionNotMet'])
    expect((await send('GET', url)).body).toMatchObject({ properties: { tags: tags('general-abcde') } })
  })

  it('goes with its VM when its deletion was asked for, not before', async () => {
    const { send, deps, sendAll } = await withPool({ deleteMs: never })
    for (const name of ['general-aaaaa', 'general-bbbbb'])
      await send('PUT', `${pool}/machines/${name}`, { body: machine(name) })
    deps.lifecycle.finish()
    const body = { machineNames: ['general-aaaaa'] }
    const answer = await send('POST', `${pool}/deleteMachines`, { body })
    expect(answer.status).toBe(202)
    expect(await sendAll(`${pool}/machines`)).toMatchObject([
      { name: 'general-aaaaa', properties: { provisioningState: 'Deleting' } },
      { name: 'general-bbbbb', properties: { provisioningState: 'Succeeded' } },
    ])
    const operation = new URL(answer.headers['location'] ?? '')
    const poll = async () => (await send('GET', `${operation.pathname}${operation.search}`)).status
    expect(await poll()).toBe(202)
    deps.lifecycle.finish()
    expect(await poll()).toBe(200)
    expect((await sendAll(`${pool}/machines`)).map(({ name }) => name)).toEqual(['general-bbbbb'])
    expect(deps.machines.all.map(({ name }) => name)).toEqual([
      expect.stringMatching(/^aks-aksmanagedap-general-bbbbb-\d{8}-vm$/),
    ])
    expect(codeOf(await send('GET', `${pool}/machines/general-aaaaa`))).toBe('NotFound')
    expect(codeOf(await send('POST', `${pool}/deleteMachines`, { body }))).toBe('InvalidParameter')
  })

  it('takes other tags, by its etag, and nothing else', async () => {
    const { send, deps } = await withPool()
    const url = `${pool}/machines/general-abcde`
    const { body } = await send('PUT', url, { body: machine('general-abcde') })
    deps.lifecycle.finish()
    const { eTag, resourceId } = (body as unknown as Shown).properties
    const changed = machine('general-abcde', { tags: { ...tags('general-abcde'), owner: 'me' } })
    expect((await send('PUT', url, { body: changed, headers: { 'if-match': 'other' } })).status).toBe(412)
    expect((await send('PUT', url, { body: changed, headers: { 'if-match': eTag } })).status).toBe(200)
    const vm = await send('GET', vmOf(resourceId.split('/').at(-1) ?? ''))
    expect(vm.body).toMatchObject({ tags: { owner: 'me', 'aks-managed-poolName': 'aksmanagedap' } })
    const larger = machine('general-abcde', { hardware: { vmSize: 'Standard_D4s_v5' } })
    expect(codeOf(await send('PUT', url, { body: larger }))).toBe('OperationNotAllowed')
  })

  it('fails as its VM does, with the code of AKS and that of the VM in the details', async () => {
    const { send, deps } = await withPool({ quotas: { cores: 1 } })
    const url = `${pool}/machines/general-abcde`
    const answer = await send('PUT', url, { body: machine('general-abcde') })
    expect(answer.status).toBe(201)
    deps.lifecycle.finish()
    expect((await send('GET', url)).body).toMatchObject({
      properties: {
        provisioningState: 'Failed',
        status: { provisioningError: { code: 'QuotaExceeded', details: [{ code: 'OperationNotAllowed' }] } },
      },
    })
    const operation = new URL(answer.headers['azure-asyncoperation'] ?? '').pathname
    expect((await send('GET', operation)).body).toMatchObject({
      status: 'Failed',
      error: { code: 'OperationNotAllowed' },
    })
  })

  it.each([
    ['a name that is too long', 'a'.repeat(35), {}, 'InvalidParameter'],
    ['a size that is not sold', 'general-abcde', { hardware: { vmSize: 'Standard_Z1' } }, 'VMSizeNotSupported'],
    [
      'an image that is not there',
      'general-abcde',
      { nodeImageVersion: 'AKSUbuntu-2404gen2containerd-1' },
      'InvalidParameter',
    ],
  ])('is refused with %s', async (_what, name, changes, code) => {
    const { send, deps } = await withPool()
    expect(codeOf(await send('PUT', `${pool}/machines/${name}`, { body: machine(name, changes) }))).toBe(code)
    expect(deps.machines.all).toEqual([])
  })

  it('is there again after a restart, its deletion too', async () => {
    const { send, deps, stateDir } = await withPool({ deleteMs: never })
    for (const name of ['general-aaaaa', 'general-bbbbb'])
      await send('PUT', `${pool}/machines/${name}`, { body: machine(name) })
    deps.lifecycle.finish()
    await send('POST', `${pool}/deleteMachines`, { body: { machineNames: ['general-aaaaa'] } })
    const again = aks({}, stateDir)
    expect((await again.sendAll(`${pool}/machines`)).map(({ properties }) => properties['provisioningState'])).toEqual([
      'Deleting',
      'Succeeded',
    ])
    again.deps.lifecycle.resume()
    again.deps.lifecycle.finish()
    expect((await again.sendAll(`${pool}/machines`)).map(({ name }) => name)).toEqual(['general-bbbbb'])
  })
})

describe('the header BatchPutMachine', () => {
  const header = (...machines: readonly Json[]) => ({ batchputmachine: JSON.stringify({ batchMachines: machines }) })

  it('makes all its machines, with zones and tags of their own', async () => {
    const { send, sendAll } = await withPool({ pageSize: 2 })
    const names = ['general-aaaaa', 'general-bbbbb', 'general-ccccc']
    const headers = header(
      ...names.map((name, index) => ({ machineName: name, zones: [String(index + 1)], tags: tags(name) })),
    )
    const body = machine('', { tags: {} })
    expect((await send('PUT', `${pool}/machines/general-aaaaa`, { body, headers })).status).toBe(201)
    expect(await sendAll(`${pool}/machines`)).toMatchObject(
      names.map((name, index) => ({ name, zones: [String(index + 1)], properties: { tags: tags(name) } })),
    )
  })

  it('names the machines that were refused, and makes the others', async () => {
    const { send, sendAll } = await withPool()
    const headers = header({ machineName: 'general-aaaaa' }, { machineName: 'Wrong' })
    const answer = await send('PUT', `${pool}/machines/general-aaaaa`, { body: machine(''), headers })
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'BatchMachineClientError', details: [{ code: 'InvalidParameter', target: 'Wrong' }] },
    })
    expect((await sendAll(`${pool}/machines`)).map(({ name }) => name)).toEqual(['general-aaaaa'])
  })

  it.each([
    ['no JSON', '{'],
    ['no list', '{}'],
    ['a machine without a name', '{"batchMachines":[{}]}'],
    ['too many', JSON.stringify({ batchMachines: Array.from({ length: 51 }, () => ({ machineName: 'a' })) })],
  ])('is refused when it is %s', async (_what, text) => {
    const { send } = await withPool()
    const headers = { batchputmachine: text }
    const answer = await send('PUT', `${pool}/machines/a`, { body: machine('a'), headers })
    expect(answer).toMatchObject({ status: 400, body: { code: 'BatchMachineClientError' } })
  })
})

describe('an agent pool', () => {
  it('is shown as it was put, and listed', async () => {
    const { send, sendAll } = await withPool()
    expect((await send('GET', pool)).body).toMatchObject({ id: pool, properties: { mode: 'Machines' } })
    expect((await sendAll(`${cluster}/agentPools`)).map(({ name }) => name)).toEqual(['aksmanagedap', 'system'])
  })

  it('that is not there, or has no machines of its own, refuses machines', async () => {
    const { send } = aks()
    expect(codeOf(await send('GET', `${pool}/machines`))).toBe('NotFound')
    await send('PUT', pool, { body: { properties: { mode: 'User' } } })
    const answer = await send('PUT', `${pool}/machines/general-abcde`, { body: machine('general-abcde') })
    expect(codeOf(answer)).toBe('OperationNotAllowed')
  })
})
