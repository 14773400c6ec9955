import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { cloudOf } from './clouds.ts'
import { chooseCredential, createCredential, type IdentitySettings } from './credentials.ts'

const nothing: IdentitySettings = { isInCluster: false, hasCli: false }
const application = { tenantId: 'tenant', clientId: 'client' }
const pod = { ...application, federatedTokenFile: '/var/run/token', isInCluster: true }

describe('the credential', () => {
  test.each<[string, Partial<IdentitySettings>, string, string]>([
    ['a pod with workload identity', pod, 'workload identity', 'AZURE_FEDERATED_TOKEN_FILE is set'],
    ['a secret, before all else', { ...pod, clientSecret: 's' }, 'environment', 'AZURE_CLIENT_SECRET is set'],
    ['an endpoint of its own', { identityEndpoint: 'http://x' }, 'managed identity', 'IDENTITY_ENDPOINT is set'],
    ['a laptop', { hasCli: true }, 'Azure CLI', 'az is on the PATH'],
    ['a pod whose image has az', { hasCli: true, isInCluster: true }, 'managed identity', 'no other'],
    ['a VM', {}, 'managed identity', 'no other credential is configured'],
    [
      'what is asked for',
      { ...pod, wanted: 'ManagedIdentityCredential' },
      'managed identity',
      'AZURE_TOKEN_CREDENTIALS',
    ],
    [
      'the CLI, asked for',
      { ...pod, hasCli: true, wanted: 'AzureCLICredential' },
      'Azure CLI',
      'AZURE_TOKEN_CREDENTIALS',
    ],
    ['dev', { ...pod, hasCli: true, wanted: 'dev' }, 'Azure CLI', 'is dev'],
    ['prod on a laptop', { hasCli: true, wanted: 'prod' }, 'managed identity', 'no other'],
  ])('of %s', (_what, settings, credential, because) => {
    const choice = chooseCredential({ ...nothing, ...settings })
    expect(choice).toEqual({ kind: 'chosen', credential, because: expect.stringContaining(because) as string })
  })

  test.each<[Partial<IdentitySettings>, readonly string[]]>([
    [{ wanted: 'WorkloadIdentityCredential' }, ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_FEDERATED_TOKEN_FILE']],
    [{ federatedTokenFile: '/t', tenantId: 't' }, ['AZURE_CLIENT_ID is not set', 'workloadIdentity.clientId']],
    [{ clientSecret: 's', clientId: 'c' }, ['AZURE_TENANT_ID is not set']],
    [{ wanted: 'AzureCLICredential' }, ['az is not on the PATH', 'az login']],
    [{ wanted: 'dev' }, ['az is not on the PATH']],
  ])('%j lacks something, and it is said what and who sets it', (settings, said) => {
    const choice = chooseCredential({ ...nothing, ...settings })
    expect(choice.kind).toBe('none')
    for (const part of said) expect(choice).toMatchObject({ message: expect.stringContaining(part) as string })
  })
})

describe('a token', () => {
  const closing: (() => unknown)[] = []
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllEnvs()
    for (const close of closing.splice(0)) close()
  })

  /** Asks the endpoint of a managed identity. Resolves to the error. */
  async function refused(answer: RequestListener): Promise<string> {
    let isAsked = false
    const server = createServer((request, response) => {
      answer(request, response)
      isAsked = true
    })
    closing.push(() => server.close().closeAllConnections())
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    vi.stubEnv('IDENTITY_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`)
    vi.stubEnv('IDENTITY_HEADER', 'x')
    const credential = createCredential('managed identity', nothing, cloudOf({ name: 'AzurePublicCloud' }))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let outcome = 'waits'
    const note = (text: string) => {
      outcome = text
    }
    void credential.getToken('https://management.azure.com/.default').then(
      () => note('a token'),
      (error: Error) => note(error.message),
    )
    const turns = async (until: () => boolean) => {
      for (let turn = 0; turn < 1000 && !until(); turn++) {
        await vi.advanceTimersByTimeAsync(1)
        await new Promise((next) => setImmediate(next))
      }
    }
    await turns(() => isAsked)
    await turns(() => false)
    await vi.advanceTimersByTimeAsync(30_000)
    await turns(() => outcome !== 'waits')
    return outcome
  }

  test.each<[string, RequestListener]>([
    [
      'its body stalls',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{"access_token":')
      },
    ],
    ['no headers come', () => {}],
  ])('of a managed identity is given up when %s', async (_, answer) => {
    // The library keeps the reason for itself.
    expect(await refused(answer)).toContain('Network unreachable')
  })
})

describe('clouds', () => {
  test.each([
    ['AzurePublicCloud', 'management.azure.com', 'login.microsoftonline.com', 'https://management.azure.com', true],
    [
      'AzureUSGovernmentCloud',
      'management.usgovcloudapi.net',
      'login.microsoftonline.us',
      'https://management.core.usgovcloudapi.net',
      false,
    ],
    [
      'AzureChinaCloud',
      'management.chinacloudapi.cn',
      'login.chinacloudapi.cn',
      'https://management.core.chinacloudapi.cn',
      false,
    ],
  ] as const)('%s', (name, arm, authority, tokenAudience, hasPrices) => {
    const cloud = cloudOf({ name })
    expect(cloud).toMatchObject({
      name,
      armEndpoint: `https://${arm}`,
      authorityHost: `https://${authority}`,
      tokenAudience,
    })
    expect(cloud.pricesEndpoint !== undefined).toBe(hasPrices)
  })

  test('a file describes a cloud of any name, which has no prices; single settings come first', () => {
    const described = {
      name: 'AzureStack',
      resourceManagerEndpoint: 'https://arm.local/',
      activeDirectoryEndpoint: 'https://login.local/',
      tokenAudience: 'https://audience.local/',
    }
    expect(cloudOf({ name: 'AzurePublicCloud', described })).toEqual({
      name: 'AzurePublicCloud',
      isKnown: false,
      armEndpoint: 'https://arm.local',
      authorityHost: 'https://login.local',
      tokenAudience: 'https://audience.local',
    })
    const set = { armEndpoint: 'https://127.0.0.1:1/', authorityHost: 'https://l/', pricesEndpoint: 'https://p/' }
    expect(cloudOf({ name: 'AzurePublicCloud', described: { ...described, name: 'AzureChinaCloud' }, ...set })).toEqual(
      {
        name: 'AzureChinaCloud',
        isKnown: true,
        armEndpoint: 'https://127.0.0.1:1',
        authorityHost: 'https://l',
        tokenAudience: 'https://audience.local',
        pricesEndpoint: 'https://p',
      },
    )
  })
})
