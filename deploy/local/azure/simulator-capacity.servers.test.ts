// Quotas, room for VMs, restrictions, catalogues from files and durations, as Joiner's SDK clients see them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import { collect, group, joinersClient, vmBody } from '../../../test/simulator/sdk-clients.ts'
import { ids, SimulatorProcess } from '../../../test/simulator/simulator-process.ts'
import type { LiveSettings } from './admin/settings.ts'

const { simulator, azure } = await simulatedAzure()

afterEach(async () => {
  await set({ quotas: {}, pools: [], restrictions: [] })
  await simulator.reset()
})

const set = (settings: LiveSettings) => simulator.admin('POST', '/settings', settings)
const vms = () => azure.compute.virtualMachines
const create = (name: string, changes = {}) =>
  vms().createOrUpdate(group, name, vmBody(name, changes), { updateIntervalInMs: 20 })
const spot = { priority: 'Spot', evictionPolicy: 'Delete' }

const refusal = (name: string, changes = {}) =>
  create(name, changes)
    .submitted()
    .then(undefined, (error: unknown) => error as Error & { code: string; statusCode: number })

describe('a quota', () => {
  test.each([
    ['standardDSv5Family', {}, 'exceeding approved standardDSv5Family Cores quota'],
    ['cores', {}, 'exceeding approved Total Regional Cores quota'],
    ['lowPriorityCores', spot, 'exceeding approved LowPriorityCores quota'],
  ])('of %s refuses in its own words what does not fit', async (quota, changes, words) => {
    await set({ quotas: { [quota]: 3 } })
    await create('fits', changes)
    const error = await refusal('more', changes)
    expect(error).toMatchObject({ statusCode: 409, code: 'OperationNotAllowed' })
    expect(String(error)).toContain(words)
    expect(String(error)).toContain('Current Limit: 3, Current Usage: 2, Additional Required: 2,')
    const usages = await collect(azure.compute.usage.list(ids.location))
    expect(usages.find(({ name }) => name.value === quota)).toMatchObject({ limit: 3, currentValue: 2 })
    await vms().delete(group, 'fits', { updateIntervalInMs: 20 })
    await create('more', changes)
  })

  test('counts a spot VM that is deallocated, as Azure does', async () => {
    await set({ quotas: { lowPriorityCores: 2 } })
    await create('kept', { ...spot, evictionPolicy: 'Deallocate' })
    await simulator.happen('kept', 'evict')
    expect(await refusal('more', spot)).toMatchObject({ code: 'OperationNotAllowed' })
  })
})

describe('a pool', () => {
  test('of a zone lets as many VMs in as it holds; the next one is accepted and fails', async () => {
    await set({ pools: [{ sku: 'Standard_D2s_v5', zone: '1', vms: 1 }] })
    await create('fits')
    await create('elsewhere', { zones: ['2'] })
    await expect(create('more').pollUntilDone()).rejects.toThrow('ZonalAllocationFailed')
    const view = (await vms().get(group, 'more', { expand: 'instanceView' })).instanceView
    expect(view?.statuses?.[0]?.code).toBe('ProvisioningState/failed/ZonalAllocationFailed')
    // What failed occupies nothing.
    await vms().delete(group, 'fits', { updateIntervalInMs: 20 })
    expect(await create('more')).toMatchObject({ provisioningState: 'Succeeded' })
  })

  test('of a family counts vCPUs, and may refuse at once', async () => {
    const pool = { family: 'standardDSv5Family', vCpus: 5, full: { how: 'sync', code: 'SkuNotAvailable' } } as const
    await set({ pools: [pool] })
    await create('four', { hardwareProfile: { vmSize: 'Standard_D4s_v5' } })
    expect(await refusal('two')).toMatchObject({ statusCode: 409, code: 'SkuNotAvailable' })
    await create('other', { hardwareProfile: { vmSize: 'Standard_E2s_v5' } })
  })
})

test('a restriction stands in the list of sizes, and a PUT meets it', async () => {
  await set({ restrictions: [{ sku: 'Standard_D2s_v5', zones: ['1'] }, { family: 'standardESv5Family' }] })
  const skus = await collect(azure.compute.resourceSkus.list())
  const restrictions = (name: string) =>
    skus
      .find((sku) => sku.name === name)
      ?.restrictions?.map(({ type, reasonCode, restrictionInfo }) => ({
        type,
        reasonCode,
        zones: restrictionInfo?.zones,
      }))
  const reasonCode = 'NotAvailableForSubscription'
  expect(restrictions('Standard_D2s_v5')).toEqual([{ type: 'Zone', reasonCode, zones: ['1'] }])
  expect(restrictions('Standard_E4s_v5')).toEqual([{ type: 'Location', reasonCode, zones: undefined }])
  expect(await refusal('vm')).toMatchObject({ code: 'SkuNotAvailable' })
  await create('vm', { zones: ['2'] })
})

test('settings that make no sense are refused, and named', async () => {
  const wrong = { pools: [{ zone: '1', vms: 'many' }] } as unknown as LiveSettings
  await expect(set(wrong)).rejects.toThrow(/pools\[0\]\.vms is \\"many\\": write a number/)
  await expect(set({ createMS: 1 } as LiveSettings)).rejects.toThrow('createMS')
})

test('a creation takes the time that is drawn for it', async () => {
  await simulator.timing({ createMs: { kind: 'uniform', minMs: 100, maxMs: 400 } })
  const before = performance.now()
  await create('drawn')
  expect(performance.now() - before).toBeGreaterThanOrEqual(100)
})

test('a newly published image version is listed and can be used', async () => {
  const [gallery, definition] = ['AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2', '2204gen2containerd']
  const version = '202611.05.0'
  await simulator.admin('POST', '/images', { gallery: 'AKSUbuntu', version })
  const list = collect(azure.compute.communityGalleryImageVersions.list(ids.location, gallery, definition))
  expect((await list).map(({ name }) => name)).toContain(version)
  const shared = `/subscriptions/${ids.tenantId}/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2204gen2fipsTLcontainerd/versions/${version}`
  const { storageProfile } = vmBody('vm')
  const body = vmBody('vm', { storageProfile: { ...storageProfile, imageReference: { id: shared } } })
  const put = (headers: Record<string, string>) =>
    azure.compute.virtualMachines.createOrUpdate(group, 'vm', body, { requestOptions: { headers } })
  await expect(put({})).rejects.toMatchObject({ statusCode: 403, code: 'LinkedAuthorizationFailed' })
  const { body: answer } = await simulator.send('GET', '/gallery-token')
  await put({ 'x-ms-authorization-auxiliary': `Bearer ${(answer as { Token: string }).Token}` })
})

test('sizes and prices come from files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-catalogue-'))
  const capabilities = Object.entries({ vCPUs: '7', MemoryGB: '21', LowPriorityCapable: 'True' }).map(
    ([name, value]) => ({ name, value }),
  )
  const sku = { resourceType: 'virtualMachines', name: 'Standard_Odd7', family: 'oddFamily', locations: ['westus2'] }
  const catalogueFile = join(folder, 'skus.json')
  const prices = join(folder, 'prices.json')
  await writeFile(
    catalogueFile,
    JSON.stringify({ value: [{ ...sku, locationInfo: [{ location: 'westus2', zones: ['1'] }], capabilities }] }),
  )
  const item = { armRegionName: 'westus2', armSkuName: 'Standard_Odd7', retailPrice: 0.7, type: 'Consumption' }
  await writeFile(prices, JSON.stringify({ Items: [item, { ...item, armRegionName: 'eastus' }] }))
  const other = await SimulatorProcess.start(
    { catalogueFile, pricesFiles: [prices], quotas: { oddFamily: 7 } },
    simulator,
  )
  try {
    const { compute } = joinersClient(other)
    expect((await collect(compute.resourceSkus.list())).map(({ name }) => name)).toEqual(['Standard_Odd7'])
    const odd = { hardwareProfile: { vmSize: 'standard_odd7' } }
    await compute.virtualMachines.createOrUpdate(group, 'odd', vmBody('odd', odd))
    const path = `/api/retail/prices?$filter=${encodeURIComponent("armRegionName eq 'westus2' and priceType eq 'Consumption'")}`
    expect(await other.send('GET', path)).toMatchObject({ status: 200, body: { Items: [item], Count: 1 } })
    const usages = await collect(compute.usage.list(ids.location))
    expect(usages.find(({ name }) => name.value === 'oddFamily')).toMatchObject({ limit: 7, currentValue: 7 })
  } finally {
    await other.stop()
    await rm(folder, { recursive: true })
  }
})
