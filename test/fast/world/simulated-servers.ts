import { stateOf } from '../../../deploy/local/azure/admin/admin.ts'
import { azureIds, clusterName, subnetId } from '../../../deploy/local/cluster.ts'
import type { Installation } from '../../../deploy/local/installation.ts'
import { accounts, deployments, isWithheld, namespace } from '../../../deploy/local/installation-accounts.ts'
import type { LocalCluster } from '../../../deploy/local/local-cluster.ts'
import type { Operator } from '../../../deploy/local/operator.ts'
import type { ProcessSpec, Supervisor } from '../../../deploy/local/supervisor.ts'
import { ArmSession } from '../../arm/arm-session.ts'
import type { Servers, WorldOptions, Write } from '../../clusters/servers.ts'
import { jsonCopy } from '../kubernetes/api/json-copy.ts'
import { kubectl } from '../kubernetes/kubectl.ts'
import { runCommand } from './commands.ts'
import { FastWorld } from './fast-world.ts'
import { letTimePassIn } from './passing.ts'

const endpoint = 'https://azure.test'

const environment: Readonly<Record<string, string>> = {
  JOINER_NAMESPACE: namespace,
  JOINER_ARM_ENDPOINT: endpoint,
  JOINER_PRICES_ENDPOINT: endpoint,
  CLUSTER_NAME: clusterName,
  CLUSTER_ENDPOINT: endpoint,
  CLUSTER_CA_BUNDLE: Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64'),
  ARM_SUBSCRIPTION_ID: azureIds.subscriptionId,
  LOCATION: azureIds.location,
  AZURE_NODE_RESOURCE_GROUP: azureIds.nodeResourceGroup,
  VNET_SUBNET_ID: subnetId,
  SSH_PUBLIC_KEY: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpvaW5lci1sb2NhbC1jbHVzdGVyLWtleS0wMDAwMDAw joiner-local',
  // As in `installation.ts`.
  JOINER_BILLING_EXTENSION: 'false',
  AZURE_TENANT_ID: azureIds.tenantId,
  AZURE_CLIENT_ID: azureIds.clientId,
}

/** How long a server takes to start. */
const startsInMs = 2000

/** Throws for what only real servers have, when it is used. */
function onlyReal<T extends object>(what: string, parts: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(parts as T, {
    get: (target, name) => {
      if (name in target) return Reflect.get(target, name) as unknown
      throw new Error(`${what}.${String(name)} is there on real servers only`)
    },
  })
}

/** The servers of a new simulated world, in which time passes from now on (`passing`). */
export async function simulatedServers({
  suggestNewRunAt,
}: Pick<WorldOptions, 'suggestNewRunAt'> = {}): Promise<Servers> {
  const seed = Number(process.env['JOINER_TEST_SEED'] ?? 1)
  const slowness = Number(process.env['JOINER_TEST_SLOWNESS'] ?? 1)
  const world = await FastWorld.start({ seed, slowness, ...(suggestNewRunAt === undefined ? {} : { suggestNewRunAt }) })
  return serversOf(world, slowness > 1 ? slowness * commandMs : 0)
}

/** How long it takes until a command such as kubectl has started, where servers are as slow as usual. */
const commandMs = 40

/** What a `World` works with, over a simulated world, in which time passes from now on. Commands take so long to start. */
export function serversOf(world: FastWorld, startMs = 0): Servers {
  letTimePassIn(world)
  const supervisor: Partial<Supervisor> = {
    get pids() {
      return Object.fromEntries([...world.joiners.keys()].map((name, index) => [name, index + 1]))
    },
    start: ({ name, env = {} }: ProcessSpec) => world.startJoiner(name, env),
    kill: async (name: string) => world.crash(name),
    stop: async (name: string) => {
      await world.stop(name)
      return undefined
    },
    restart: async (name: string, _signal?: NodeJS.Signals, awayMs?: number) => {
      if (name !== 'temporal') throw new Error(`a restart of ${name} is not simulated`)
      const backInMs = Math.max(awayMs ?? 0, startsInMs)
      world.temporal.leave(backInMs)
      await new Promise((resolve) => setTimeout(resolve, backInMs))
    },
    tail: async (name: string, lines?: number) => (world.logs.get(name) ?? []).slice(-(lines ?? 15)).join('\n'),
  }
  const processSpec = (name = 'joiner', overrides: Readonly<Record<string, string>> = {}): ProcessSpec => ({
    name,
    command: '',
    args: [],
    env: { ...environment, JOINER_IDENTITY: name, ...overrides },
  })
  const apartSpecs = (overrides: Readonly<Record<string, string>> = {}): readonly ProcessSpec[] =>
    accounts
      // The API server in memory converts nothing.
      .filter((account) => account !== 'joiner-conversion')
      .map((account) => {
        const own = Object.entries({ ...environment, ...overrides }).filter(([name]) => !isWithheld(name, account))
        return processSpec(account, { ...Object.fromEntries(own), JOINER_ROLES: deployments[account] })
      })
  const operator: Pick<Operator, 'api' | 'kubectl' | 'simulator'> = {
    api: <T>(method: string, path: string, body?: unknown) =>
      method === 'GET'
        ? world.cluster.look<T>(path)
        : world.cluster.request<T>(method as 'POST', path, body, method === 'PATCH' ? 'merge' : undefined),
    kubectl: async (args, input) => {
      if (startMs > 0) await new Promise((resolve) => setTimeout(resolve, startMs))
      return kubectl(world.cluster, args, input)
    },
    // It is looked at all the time.
    simulator: async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) =>
      path === '/state' ? (jsonCopy(stateOf(world.azure.deps)) as T) : world.azure.simulator<T>(method, path, body),
  }
  return {
    cluster: onlyReal<LocalCluster>('cluster', { supervisor, azureEndpoint: endpoint }),
    installation: onlyReal<Installation>('installation', { processSpec, apartSpecs, applyRights: async () => {} }),
    operator: onlyReal<Operator>('operator', operator),
    temporal: world.client,
    temporalFaults: world.temporalFaults,
    loseTemporal: async () => {
      world.loseTemporal(startsInMs)
      await new Promise((resolve) => setTimeout(resolve, startsInMs))
    },
    kubernetes: async () => world.cluster.client,
    writes: async () => world.network.requests.flatMap((request) => writeOf(request) ?? []),
    logs: async () => [...world.logs.values()].map((lines) => lines.join('\n')),
    metrics: async (name) => (await world.joiners.get(name)?.metrics()) ?? '',
    azureGet: async (path) => {
      const { token = '' } = (await world.azure.credential.getToken('https://management.azure.com/.default')) ?? {}
      const { status, text } = await world.azure.send('GET', path, { headers: { authorization: `Bearer ${token}` } })
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`)
      return text
    },
    fast: world,
    setClock: (name, aheadMs) => world.setClock(name, aheadMs),
    gates: { kubernetes: world.gate, azure: world.azure.gate },
    runCommand: (env, args) =>
      runCommand({ kubernetes: world.cluster.client, temporal: world.client.connection }, env, args),
    arm: async () => {
      const token = world.azure.deps.tokens.issue('https://management.azure.com/.default')
      return new ArmSession(token, (method, path, request) => world.azure.send(method, path, request))
    },
    end: async () => {
      letTimePassIn(undefined)
      world.dispose()
    },
  }
}

/** Methods of the client that write, and the verb of each as the API server has it. */
const verbs: Readonly<Record<string, string>> = {
  create: 'create',
  mergePatch: 'patch',
  jsonPatch: 'patch',
  patchStatus: 'patch',
  delete: 'delete',
}

/** The write of a request such as `mergePatch /api/v1/nodes/a`; undefined for one that writes nothing. */
function writeOf(request: string): Write | undefined {
  const [method = '', path = ''] = request.split(' ')
  if (method === 'evict') return { what: 'create pods/eviction' }
  const verb = verbs[method]
  if (verb === undefined) return undefined
  const [, resource = '', name = '', part = method === 'patchStatus' ? 'status' : undefined] =
    /^\/apis?\/(?:[^/]+\.[^/]+\/)?[^/]+\/(?:namespaces\/[^/]+\/(?=.))?([^/]+)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ??
    []
  const what = `${verb} ${resource}${part === undefined ? '' : `/${part}`}`
  return verb === 'create' ? { what } : { what, name: decodeURIComponent(name) }
}
