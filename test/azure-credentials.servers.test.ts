import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { azureIdentity } from '../activities/azure/access/azure-identity.ts'
import { findVnetGuid } from '../activities/azure/access/found-facts.ts'
import { tryToken } from '../activities/azure/arm/access-token.ts'
import { createAzureClient } from '../activities/azure/arm/client.ts'
import { cloudOf } from '../activities/azure/arm/clouds.ts'
import { requestLog } from '../activities/azure/arm/request-log.ts'
import { type Config, readConfig } from '../api/config.ts'
import { objectId } from '../deploy/local/azure/access/principals.ts'
import { ids, SimulatorProcess, subnetId } from './simulator/simulator-process.ts'

const subject = 'system:serviceaccount:joiner:joiner'
let simulator: SimulatorProcess
let folder: string

beforeAll(async () => {
  simulator = await SimulatorProcess.start({ federatedSubject: subject })
  folder = await mkdtemp(join(tmpdir(), 'joiner-az-'))
})

afterAll(async () => {
  await simulator.stop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => simulator.federate({ sub: subject }))
afterEach(() => vi.unstubAllEnvs())

const application = { AZURE_TENANT_ID: ids.tenantId, AZURE_CLIENT_ID: ids.clientId }

function configOf(env: Readonly<Record<string, string>>): Config {
  const result = readConfig({
    TEMPORAL_ADDRESS: 'temporal:7233',
    CLUSTER_NAME: 'demo',
    CLUSTER_ENDPOINT: 'https://demo',
    ARM_SUBSCRIPTION_ID: ids.subscriptionId,
    LOCATION: ids.location,
    AZURE_NODE_RESOURCE_GROUP: ids.nodeResourceGroup,
    VNET_SUBNET_ID: subnetId,
    SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
    ...env,
  })
  if (result.kind === 'errors') throw new Error(result.errors.join('\n'))
  return result.config
}

/** The identity that a process with this environment would have, and the cloud it would find. */
function identityOf(env: Readonly<Record<string, string>>, path = '/nowhere') {
  const config = configOf(env)
  const cloud = cloudOf({ name: config.ARM_CLOUD, armEndpoint: simulator.url, authorityHost: simulator.url })
  return { cloud, identity: azureIdentity(config, cloud, { PATH: path }) }
}

/** A stand-in for the Azure CLI that prints a token which the simulator gave. */
async function installCli(): Promise<void> {
  const resource = 'https%3A%2F%2Fmanagement.azure.com'
  const answer = await simulator.send('GET', `/msi/token?resource=${resource}`, {
    headers: { 'x-identity-header': 'simulated-header' },
  })
  const { access_token: accessToken, expires_on: expiresOn } = answer.body as Record<string, string>
  const printed = JSON.stringify({ accessToken, expires_on: Number(expiresOn), tokenType: 'Bearer' })
  const script = `#!/bin/sh\n[ "$1 $2" = "account get-access-token" ] || exit 1\necho '${printed}'\n`
  await writeFile(join(folder, 'az'), script)
  await chmod(join(folder, 'az'), 0o755)
}

interface Case {
  readonly kind: string
  readonly env: () => Readonly<Record<string, string>>
  /** Read by the SDK itself. */
  readonly processEnv?: () => Readonly<Record<string, string>>
}

const cases: readonly Case[] = [
  { kind: 'workload identity', env: () => ({ ...application, AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile }) },
  { kind: 'environment', env: () => ({ ...application, AZURE_CLIENT_SECRET: 'simulated-secret' }) },
  {
    kind: 'managed identity',
    env: () => ({ IDENTITY_ENDPOINT: `${simulator.url}/msi/token` }),
    processEnv: () => ({ IDENTITY_ENDPOINT: `${simulator.url}/msi/token`, IDENTITY_HEADER: 'simulated-header' }),
  },
  {
    kind: 'managed identity',
    env: () => ({ AZURE_CLIENT_ID: ids.clientId }),
    processEnv: () => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: simulator.url }),
  },
  {
    kind: 'Azure CLI',
    env: () => ({ AZURE_TOKEN_CREDENTIALS: 'AzureCLICredential' }),
    processEnv: () => ({ PATH: `${folder}:${process.env['PATH']}` }),
  },
]

describe('each credential', () => {
  beforeAll(installCli)

  test.each(cases)('$kind is found, gives a token and opens ARM to the SDK', async ({ kind, env, processEnv }) => {
    for (const [name, value] of Object.entries(processEnv?.() ?? {})) vi.stubEnv(name, value)
    const { cloud, identity } = identityOf(env(), kind === 'Azure CLI' ? folder : '/nowhere')
    expect(identity.kind).toBe(kind)
    const result = await tryToken(identity)
    expect(result).toMatchObject({
      kind: 'token',
      owner: { objectId, clientId: ids.clientId, tenantId: ids.tenantId },
    })
    const { network } = createAzureClient({ ...cloud, subscriptionId: ids.subscriptionId }, identity.credential)
    expect(await findVnetGuid(network, subnetId)).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each(['AzureUSGovernmentCloud', 'AzureChinaCloud'])('%s: tokens are for its own ARM', async (name) => {
    const env = { ...application, AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile, ARM_CLOUD: name }
    const { cloud, identity } = identityOf(env)
    expect(identity.scope).toMatch(/^https:\/\/management\.core\.(usgovcloudapi\.net|chinacloudapi\.cn)\/\.default$/)
    const { network } = createAzureClient({ ...cloud, subscriptionId: ids.subscriptionId }, identity.credential)
    expect(await findVnetGuid(network, subnetId)).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('a token for somebody else does not open ARM', async () => {
    const env = { ...application, AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile }
    const { identity } = identityOf(env)
    const { network } = createAzureClient(
      { subscriptionId: ids.subscriptionId, armEndpoint: simulator.url, tokenAudience: 'https://vault.azure.net' },
      identity.credential,
    )
    await expect(findVnetGuid(network, subnetId)).rejects.toMatchObject({ code: 'InvalidAuthenticationTokenAudience' })
  })
})

describe('without a token it is said what to do', () => {
  const workload = () => ({ ...application, AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile })
  const other = '00000000-0000-4000-8000-00000000000f'

  test.each<[string, () => Promise<Readonly<Record<string, string>>>, string, string]>([
    [
      'a ServiceAccount that the identity does not trust',
      async () => {
        await simulator.federate({ sub: 'system:serviceaccount:other:other' })
        return workload()
      },
      'AADSTS700213',
      '--subject system:serviceaccount:other:other --audiences api://AzureADTokenExchange',
    ],
    [
      'a federated token that has ended',
      async () => {
        await simulator.federate({ exp: 1 })
        return workload()
      },
      'AADSTS700024',
      'is expired or not valid yet',
    ],
    [
      'a client id that nobody has',
      async () => ({ ...workload(), AZURE_CLIENT_ID: other }),
      'AADSTS700016',
      `no identity has the client id "${other}"`,
    ],
    [
      'a tenant that there is not',
      async () => ({ ...workload(), AZURE_TENANT_ID: other }),
      'AADSTS90002',
      'set AZURE_TENANT_ID to what this prints: az account show',
    ],
    [
      'a token file that is not there',
      async () => ({ ...workload(), AZURE_FEDERATED_TOKEN_FILE: '/nowhere/token' }),
      '/nowhere/token',
      'az aks update --enable-workload-identity --enable-oidc-issuer',
    ],
    [
      'a wrong secret',
      async () => ({ ...application, AZURE_CLIENT_SECRET: 'guessed-secret' }),
      'AADSTS7000215',
      `az ad app credential reset --id ${ids.clientId}`,
    ],
  ])('%s', async (_what, env, message, remedy) => {
    const { identity } = identityOf(await env())
    const result = await tryToken(identity)
    expect(result).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(message) as string,
      remedy: expect.stringContaining(remedy) as string,
    })
    expect(JSON.stringify(result)).not.toContain('guessed-secret')
  })

  test('an authority that does not answer is given up at the limit', async () => {
    const { identity } = identityOf(workload())
    const silent = { ...identity, credential: { getToken: () => new Promise<never>(() => {}) } }
    expect(await tryToken(silent, 50)).toMatchObject({ kind: 'failed', message: 'no token came within 0.05 s' })
  })
})

test('requests to ARM are logged at debug, with method, path, status and latency and nothing else of them', async () => {
  const lines: string[] = []
  const log = pino({ level: 'debug', base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  const { cloud, identity } = identityOf({ ...application, AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile })
  const config = { ...cloud, subscriptionId: ids.subscriptionId }
  const { network } = createAzureClient(config, identity.credential, { policies: [requestLog(log)] })
  await findVnetGuid(network, subnetId)
  const path = subnetId.replace(/\/subnets\/.*/, '')
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(logged).toEqual([
    { level: 20, method: 'GET', path, status: 200, latencyMs: expect.any(Number) as number, msg: 'called ARM' },
  ])
  log.level = 'info'
  await findVnetGuid(network, subnetId)
  expect(lines).toHaveLength(1)
})
