import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { type Config, readConfig } from '../../../api/config.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import type { AzureClient } from '../arm/client.ts'
import { findDnsServiceIp, findFacts, findVnetGuid, needsVnetGuid } from './found-facts.ts'

const subnetId = '/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes'
const guid = '11111111-2222-4333-8444-555555555555'

function configOf(env: Readonly<Record<string, string>> = {}): Config {
  const result = readConfig({
    TEMPORAL_ADDRESS: 'temporal:7233',
    CLUSTER_NAME: 'demo',
    CLUSTER_ENDPOINT: 'https://demo',
    ARM_SUBSCRIPTION_ID: 'sub',
    LOCATION: 'westus2',
    AZURE_NODE_RESOURCE_GROUP: 'MC_demo',
    VNET_SUBNET_ID: subnetId,
    SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
    ...env,
  })
  if (result.kind === 'errors') throw new Error(result.errors.join())
  return result.config
}

/** An API server with the namespace kube-system, and with or without a service. */
const apiServer = (service: () => Promise<Json>) => ({
  get: (path: string) =>
    path === '/api/v1/namespaces/kube-system' ? Promise.resolve({ metadata: { uid: 'cluster-uid' } }) : service(),
})
const serviceOf = (spec: Json) => apiServer(() => Promise.resolve({ spec }))
const refusing = (code: number) => apiServer(() => Promise.reject(new ApiError(code, 'Reason', 'no')))

/** Azure with one network, which shows its GUID at the given request. */
function azureWith(found: string | undefined, atLook = 1) {
  const asked: (readonly string[])[] = []
  const virtualNetworks = {
    get: (...names: readonly string[]) => {
      asked.push(names)
      return asked.length < atLook ? Promise.reject(new Error('ARM is away')) : Promise.resolve({ resourceGuid: found })
    },
  }
  return { network: { virtualNetworks } as unknown as AzureClient['network'], asked }
}

describe('the DNS address', () => {
  test.each([
    ['the cluster IP of kube-dns', serviceOf({ clusterIP: '10.2.0.10' }), '10.2.0.10'],
    ['the usual one where kube-dns has none', serviceOf({ clusterIP: 'None' }), '10.0.0.10'],
    ['the usual one where there is no kube-dns', refusing(404), '10.0.0.10'],
  ])('is %s', async (_what, kubernetes, expected) => {
    expect(await findDnsServiceIp(kubernetes)).toBe(expected)
  })

  test('is not guessed when the API server fails', async () => {
    await expect(findDnsServiceIp(refusing(503))).rejects.toMatchObject({ code: 503 })
  })
})

describe('the GUID of the network', () => {
  test.each([
    [{}, true],
    [{ VNET_GUID: guid }, false],
    [{ NETWORK_PLUGIN: 'none' }, false],
    [{ NETWORK_PLUGIN_MODE: '' }, false],
  ])('with %j is needed: %s', (env, expected) => {
    expect(needsVnetGuid(configOf(env))).toBe(expected)
  })

  test("is read from the subnet's network", async () => {
    const azure = azureWith(guid)
    expect(await findVnetGuid(azure.network, subnetId)).toBe(guid)
    expect(azure.asked).toEqual([['net', 'vnet']])
    await expect(findVnetGuid(azureWith(undefined).network, subnetId)).rejects.toThrow(
      'set VNET_GUID to what this prints',
    )
  })
})

describe('facts that are not configured', () => {
  const silent = pino({ level: 'silent' })
  const kubernetes = serviceOf({ clusterIP: '10.2.0.10' })

  test('are found, each only where it is needed', async () => {
    const signal = new AbortController().signal
    const all = await findFacts({ config: configOf(), kubernetes, azure: azureWith(guid), log: silent, signal })
    expect(all.clusterDnsServiceIp).toBe('10.2.0.10')
    await expect.poll(() => all.vnetGuid?.()).toBe(guid)
    const azure = azureWith(guid)
    for (const env of [{ JOINER_ROLES: 'planner', DNS_SERVICE_IP: '10.9.0.10' }, { JOINER_ROLES: 'core,bridge' }])
      expect(await findFacts({ config: configOf(env), kubernetes: refusing(500), azure, log: silent, signal })).toEqual(
        {
          clusterUid: 'cluster-uid',
          clusterDnsServiceIp: 'DNS_SERVICE_IP' in env ? '10.9.0.10' : '10.0.0.10',
        },
      )
    expect(azure.asked).toEqual([])
  })

  test('while Azure is away launches wait, and say why and what to set; the process starts', async () => {
    const lines: string[] = []
    const log = pino({ base: null }, { write: (line) => void lines.push(line) })
    const stop = new AbortController()
    const azure = azureWith(guid, 100)
    const { vnetGuid } = await findFacts({ config: configOf(), kubernetes, azure, log, signal: stop.signal })
    expect(vnetGuid).toThrow(expect.objectContaining({ name: 'LaunchBlocked', reason: 'ClusterNetworkUnknown' }))
    expect(vnetGuid).toThrow('Or set VNET_GUID')
    await expect.poll(() => lines.length).toBe(1)
    expect(lines[0]).toContain('ARM is away')
    stop.abort(new Error('the process ends'))
  })

  test('the API server is waited for, until the process is to end', async () => {
    const lines: string[] = []
    const log = pino({ base: null }, { write: (line) => void lines.push(line) })
    const stop = new AbortController()
    const input = { config: configOf(), azure: azureWith(guid), log, signal: stop.signal }
    const found = findFacts({ ...input, kubernetes: refusing(503) })
    found.catch(() => {})
    await expect.poll(() => lines.length).toBe(1)
    expect(lines[0]).toContain('Or set DNS_SERVICE_IP')
    stop.abort(new Error('the process ends'))
    await expect(found).rejects.toThrow('the process ends')
  })
})
