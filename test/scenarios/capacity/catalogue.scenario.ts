import { gunzipSync, gzipSync } from 'node:zlib'
import { type HttpClient, RestError } from '@azure/core-rest-pipeline'
import { pino } from 'pino'
import { z } from 'zod'
import { createAzureClient } from '../../../activities/azure/arm/client.ts'
import { Quota } from '../../../activities/azure/capacity/quota.ts'
import { keptUsages } from '../../../activities/azure/capacity/quota-accounting.ts'
import { UnavailableOfferings } from '../../../activities/azure/capacity/unavailable-offerings.ts'
import { Catalogue } from '../../../activities/azure/catalogue/catalogue.ts'
import { DurableDocument } from '../../../activities/azure/catalogue/durable-document.ts'
import { ClusterCache } from '../../../activities/kubernetes/cache/cluster-cache.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { azureIds } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { goldenConfig, goldenNodeClass } from '../../vectors/golden-cases.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const namespace = 'joiner'
const nobody = 'https://127.0.0.1:9'
/** Nothing listens there. */
const refused: HttpClient = {
  sendRequest: (request) =>
    Promise.reject(new RestError('connect ECONNREFUSED 127.0.0.1:9', { code: 'ECONNREFUSED', request })),
}
let world: World
/** With the rights of Joiner's ServiceAccount and no others. */
let kubernetes: KubernetesClient
const started: Catalogue[] = []

beforeAll(async () => {
  world = await World.start()
  kubernetes = await world.kubernetes()
})

afterAll(async () => {
  for (const catalogue of started) catalogue.stop()
  await kubernetes?.close()
  await world?.stop()
})

/** The catalogue of a process to which neither ARM nor the price list answers. */
function startWithoutAzure(): Catalogue {
  const config = {
    ...goldenConfig(azureIds.location, {
      nodeResourceGroup: azureIds.nodeResourceGroup,
      networkPlugin: 'azure',
      networkPluginMode: 'overlay',
      vmMemoryOverheadPercent: 0.075,
    }),
    subscriptionId: azureIds.subscriptionId,
    armEndpoint: nobody,
    pricesEndpoint: nobody,
  }
  const token = { token: 'any', expiresOnTimestamp: Date.now() + 3_600_000 }
  const log = pino({ level: 'silent' })
  const now = Date.now
  const azure = createAzureClient(config, { getToken: () => Promise.resolve(token) }, { http: refused })
  const cache = new ClusterCache(kubernetes, log)
  const catalogue = new Catalogue({
    azure,
    config,
    unavailable: new UnavailableOfferings({ client: kubernetes, namespace, now, log }),
    quota: new Quota({
      azure,
      document: new DurableDocument(kubernetes, keptUsages, { namespace, about: {}, now }),
      location: config.location,
      cache,
      sizeOf: () => undefined,
      log,
      now,
    }),
    reservations: { named: () => ({ groups: [], problems: [] }), offeredTo: () => [], signature: () => '' },
    kubernetes,
    namespace,
    log,
    now,
  })
  catalogue.start()
  started.push(catalogue)
  return catalogue
}

test('without Azure and without anything kept there are no types, and prices are modelled', async () => {
  const catalogue = startWithoutAzure()
  await world.until('both have failed once', () =>
    Promise.resolve(catalogue.sizes.failures > 0 && catalogue.prices.failures > 0),
  )
  expect(catalogue.instanceTypesFor(goldenNodeClass({}))).toEqual([])
  expect(catalogue.prices.answer).toBeUndefined()
})

test('what a Joiner has read is there for a start to which nobody answers', async () => {
  world.startJoiner()
  for (const name of ['joiner-catalogue', 'joiner-prices']) {
    const map = await world.until(`ConfigMap ${name}`, () =>
      world.operator.api<{ readonly data: Readonly<Record<string, string>> }>(
        'GET',
        `/api/v1/namespaces/${namespace}/configmaps/${name}`,
      ),
    )
    expect(Date.now() - Date.parse(map.data['readAt'] ?? '')).toBeLessThan(60_000)
  }
  await world.crash()
  const catalogue = startWithoutAzure()
  await catalogue.whenLoaded(AbortSignal.timeout(10_000))
  await world.until('prices are there', () => Promise.resolve(catalogue.prices.answer))
  expect([catalogue.sizes.answer?.source, catalogue.prices.answer?.source]).toEqual(['durable', 'durable'])
  const type = catalogue.instanceTypesFor(goldenNodeClass({})).find(({ name }) => name === 'Standard_D4s_v5')
  expect(new Set(type?.offerings.map(({ price }) => price))).toEqual(new Set([0.192, 0.0384]))
})

test('planning goes on with a damaged catalogue, which is named, and written again', async () => {
  const [name, startedMs] = ['joiner-catalogue', Date.now()]
  world.startApart()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 0 }))
  await world.untilReady('general')
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`
  const map = () => world.operator.api<Record<'data' | 'binaryData', Readonly<Record<string, string>>>>('GET', path)
  const sizes = async () => {
    const { binaryData } = await map()
    const json = gunzipSync(Buffer.from(binaryData['document.json.gz'] ?? '', 'base64')).toString()
    return JSON.parse(json) as readonly { readonly vCpus: unknown }[]
  }
  await world.until(
    'sizes are asked for at the start',
    async () => Date.parse((await map()).data['readAt'] ?? '') > startedMs,
  )
  const odd = (await sizes()).map((size) => ({ ...size, vCpus: String(size.vCpus), memoryGib: null }))
  await world.operator.api('PATCH', path, {
    data: { readAt: new Date(Date.now() + 1000).toISOString() },
    binaryData: { 'document.json.gz': gzipSync(JSON.stringify(odd)).toString('base64') },
  })
  const line = /ConfigMap joiner\/joiner-catalogue: document\.json\.gz cannot be used: \[0\]\.vCpus is "\d+": /
  await expect(world.joiner('status')).rejects.toMatchObject({ code: 1, stdout: expect.stringMatching(line) })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  expect((await sizes())[0]?.vCpus).toBe(odd[0]?.vCpus)
  await world.until('an event names it', async () => {
    const { items } = await world.operator.api<{ readonly items: readonly Seen[] }>(
      'GET',
      `/api/v1/namespaces/${namespace}/events`,
    )
    const own = items.filter(({ reason }) => reason === 'KeptDocumentDamaged')
    return own.some(({ involvedObject, message = '' }) => involvedObject?.name === name && line.test(message))
  })
  const isWritten = async () => (await sizes()).every(({ vCpus }) => typeof vCpus === 'number')
  await world.until('it is written again', isWritten, 6 * 60_000)
  expect(await world.joiner('status')).not.toContain(name)
})

test('of several replicas the one that has read last wins', async () => {
  const numbers = { name: 'joiner-prices', version: '1', schema: z.number() }
  const document = (region: string) =>
    new DurableDocument(kubernetes, numbers, { namespace, about: { region }, now: Date.now })
  await Promise.all([3, 1, 4, 2].map((readAtMs) => document('here').write({ value: readAtMs, readAtMs })))
  const here = document('here')
  expect(await here.read()).toEqual({ kind: 'read', value: 4, readAtMs: 4 })
  expect(await here.read()).toEqual({ kind: 'same' })
  expect(await document('there').read()).toEqual({ kind: 'none' })
})
