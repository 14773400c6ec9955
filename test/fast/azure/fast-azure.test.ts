// The simulator in this process, asked by the clients that Joiner makes, in virtual time.
import { expect, onTestFinished, test } from 'vitest'
import { armErrorCode } from '../../../activities/azure/arm/azure-error.ts'
import { type AzureClient, createAzureClient } from '../../../activities/azure/arm/client.ts'
import { cloudInitDocument } from '../../../activities/azure/node-config/custom-data.ts'
import type { JournalEntry } from '../../../deploy/local/azure/server/arm-deps.ts'
import { sampleTime } from '../../samples/sample-objects.ts'
import { collect, vmBody } from '../../simulator/sdk-clients.ts'
import { ids, subnetId } from '../../simulator/simulator-process.ts'
import { Network } from '../network.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { passUntil, settle } from '../virtual-clock.ts'
import { VirtualTime } from '../virtual-time.ts'
import { FastAzure, type FastAzureOptions } from './fast-azure.ts'

const group = ids.nodeResourceGroup

/** Azure with its clients, in a time of its own until the test ends. */
async function world(options: FastAzureOptions = {}) {
  const time = new VirtualTime(sampleTime)
  onTestFinished(() => time[Symbol.dispose]())
  const azure = await FastAzure.start({ ...options, settings: { ...ids, subnetId, ...options.settings } })
  return { azure, clock: time.clock, client: clientOf(azure), until: untilOf(time) }
}

const clientOf = ({ url, http, credential }: FastAzure): AzureClient =>
  createAzureClient({ subscriptionId: ids.subscriptionId, armEndpoint: url }, credential, { http })

/** What something comes to, as time passes. */
const untilOf =
  ({ clock }: VirtualTime) =>
  async <T>(work: PromiseLike<T>): Promise<T> => {
    let settled: PromiseSettledResult<T> | undefined
    void Promise.allSettled([work]).then(([one]) => {
      settled = one
    })
    await passUntil(clock, 'an answer', () => settled !== undefined)
    if (settled?.status === 'rejected') throw settled.reason
    return (settled as PromiseFulfilledResult<T>).value
  }

const put = ({ compute }: AzureClient, name: string, changes = {}) =>
  compute.virtualMachines.createOrUpdate(group, name, vmBody(name, changes))

const stateOf = (azure: FastAzure) =>
  azure.simulator<{ readonly virtualMachines: readonly object[]; readonly disks: readonly string[] }>('GET', '/state')

test('a VM is made and deleted in the time that Azure takes', async () => {
  const { azure, clock, client, until } = await world()
  await azure.simulator('POST', '/timing', { createMs: 40_000, deleteMs: 20_000 })
  const start = clock.now()
  await until(put(client, 'aks-a').submitted())
  expect(await client.compute.virtualMachines.get(group, 'aks-a')).toMatchObject({ provisioningState: 'Creating' })
  await until(put(client, 'aks-b'))
  expect(clock.now() - start).toBeGreaterThanOrEqual(40_000)
  const vms = await until(collect(client.compute.virtualMachines.list(group)))
  expect(vms.map(({ name, provisioningState }) => [name, provisioningState])).toEqual([
    ['aks-a', 'Succeeded'],
    ['aks-b', 'Succeeded'],
  ])
  await until(client.compute.virtualMachines.delete(group, 'aks-a'))
  const { virtualMachines, disks } = await stateOf(azure)
  expect(virtualMachines).toMatchObject([{ name: 'aks-b' }])
  expect(disks).toEqual(['aks-b-disk'])
})

test('an answer needs neither time nor another turn', async () => {
  const { azure, client } = await world()
  await client.network.loadBalancers.list(group).next()
  const answered: number[] = []
  for (const name of [1, 2, 3])
    void put(client, `aks-${name}`)
      .submitted()
      .then(() => answered.push(name))
  await settle(1)
  expect(answered).toEqual([1, 2, 3])
  expect((await stateOf(azure)).virtualMachines).toHaveLength(3)
})

test('refuses what passes a quota', async () => {
  const { client, until } = await world({ settings: { quotas: { standardDSv5Family: 2 } } })
  await until(put(client, 'aks-a'))
  const refusal = await until(put(client, 'aks-b').submitted()).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ statusCode: 409, code: 'OperationNotAllowed' })
})

test('a fault refuses, with what Azure says', async () => {
  const { azure, client, until } = await world()
  await azure.simulator('POST', '/faults', { kind: 'throttle', retryAfterSeconds: 7 })
  const refusal = await until(put(client, 'aks-a').submitted()).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ statusCode: 429, code: 'TooManyRequests' })
})

test('an answer that is lost is a broken connection, and the VM is there', async () => {
  const { azure, client, until } = await world()
  await azure.simulator('POST', '/faults', { kind: 'resetAfterCommit' })
  const lost = await until(put(client, 'aks-a').submitted()).catch((error: unknown) => error)
  expect(lost).toMatchObject({ name: 'RestError', code: 'ECONNRESET' })
  expect(armErrorCode(lost)).toBeUndefined()
  expect((await stateOf(azure)).virtualMachines).toMatchObject([{ name: 'aks-a' }])
})

test('an answer that stalls is given up as Joiner gives it up', async () => {
  const { azure, clock, client, until } = await world()
  await azure.simulator('POST', '/faults', { kind: 'stallBody', operation: 'GET virtualMachines' })
  const start = clock.now()
  const stalled = await until(client.compute.virtualMachines.get(group, 'aks-a')).catch((error: unknown) => error)
  expect(String(stalled)).toContain('the body of the answer stalled for 15 s')
  expect(clock.now() - start).toBe(15_000)
})

test('a request that waits is aborted', async () => {
  const { azure, clock, client, until } = await world()
  await azure.simulator('POST', '/faults', { kind: 'latency', ms: 3_600_000, operation: 'GET virtualMachines' })
  const start = clock.now()
  const abortSignal = AbortSignal.timeout(5000)
  const late = await until(client.compute.virtualMachines.get(group, 'aks-a', { abortSignal })).catch(
    (error: unknown) => error,
  )
  expect(late).toMatchObject({ name: 'AbortError' })
  expect(clock.now() - start).toBe(5000)
})

test('a process that is killed over its request hears of no answer', async () => {
  const network = new Network()
  const { azure, clock, client } = await world({ network })
  const process = new SimulatedProcess('joiner')
  network.planned = { request: 1, point: 'effected', stop: () => process.kill() }
  let isAnswered = false
  process.run(
    () =>
      void put(client, 'aks-a')
        .submitted()
        .finally(() => (isAnswered = true)),
  )
  await passUntil(clock, 'the VM is made', () => azure.deps.machines.get('aks-a') !== undefined)
  await settle()
  expect(network.requests).toEqual(['PUT virtualMachines/aks-a'])
  expect(isAnswered).toBe(false)
})

test('a VM that has booted becomes a Node, once the API server knows its bootstrap token', async () => {
  const requests: string[] = []
  const nodes: unknown[] = []
  let secret = { 'token-secret': 'another', expiration: '2100-01-01T00:00:00Z' }
  const { azure, clock, client, until } = await world({
    cluster: async (method, path, body) => {
      requests.push(`${method} ${path}`)
      if (method === 'POST') nodes.push(body)
      return { status: method === 'POST' ? 201 : 200, text: JSON.stringify({ stringData: secret }) }
    },
  })
  await azure.simulator('POST', '/timing', { createMs: 10_000, bootMs: 30_000 })
  const { osProfile } = vmBody('aks-a')
  const customData = cloudInitDocument(nodeConfig)
  const start = clock.now()
  await until(put(client, 'aks-a', { osProfile: { ...osProfile, customData } }).submitted())
  await passUntil(clock, 'the API server keeps it out', () => azure.refused.includes('aks-a'))
  expect([clock.now() - start, nodes]).toEqual([40_000, []])
  secret = { 'token-secret': '0123456789abcdef', expiration: new Date(clock.now()).toISOString() }
  const asked = requests.length
  await passUntil(clock, 'its token has expired', () => requests.length > asked + 1)
  expect(nodes).toEqual([])
  secret = { ...secret, expiration: '2100-01-01T00:00:00Z' }
  await passUntil(clock, 'the Node is there', () => nodes.length > 0)
  expect(azure.refused).toEqual([])
  expect(nodes).toMatchObject([{ kind: 'Node', metadata: { name: 'aks-a', labels: { team: 'blue' } } }])
  await until(client.compute.virtualMachines.delete(group, 'aks-a').submitted())
  await settle()
  expect(requests).toContain('PATCH /api/v1/nodes/aks-a')
})

test('the same seed gives the same journal and the same ids', async () => {
  const run = async (seed: number) => {
    const { azure, clock, client, until } = await world({
      seed,
      settings: { createMs: { kind: 'lognormal', p50Ms: 30_000, p99Ms: 90_000 } },
    })
    await azure.simulator('POST', '/faults', { kind: 'failSync', code: 'SkuNotAvailable', probability: 0.5, seed })
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const puts = await until(Promise.allSettled(names.map((name) => put(client, `aks-${name}`))))
    expect(new Set(puts.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']))
    const journal = await azure.simulator<readonly JournalEntry[]>('GET', '/journal')
    return {
      journal,
      ids: azure.deps.machines.all.map(({ vmId, provisionedAt }) => `${vmId} ${provisionedAt}`),
      endMs: clock.now(),
    }
  }
  const first = await run(7)
  expect(first.journal).toHaveLength(6)
  expect(await run(7)).toEqual(first)
  expect(await run(8)).not.toEqual(first)
})

const nodeConfig = {
  version: 'v1',
  kubernetes_version: '1.36.3',
  kubernetes_ca_cert: Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64'),
  api_server_config: { api_server_name: 'cluster.hcp.westus2.azmk8s.io' },
  bootstrapping_config: { tls_bootstrapping_token: 'abcdef.0123456789abcdef' },
  kubelet_config: {
    kubelet_flags: { '--kubeconfig': '/var/lib/kubelet/kubeconfig', '--cloud-provider': 'external' },
    kubelet_node_labels: { team: 'blue' },
  },
}
