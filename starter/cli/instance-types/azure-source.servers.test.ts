import { afterAll, beforeAll, expect, test } from 'vitest'
import { ids, SimulatorProcess } from '../../../test/simulator/simulator-process.ts'
import { readPrices } from '../../files/azure-files.ts'
import { fetchedPrices } from '../simulate/load.ts'
import { readAzure } from './azure-source.ts'

let simulator: SimulatorProcess

beforeAll(async () => {
  simulator = await SimulatorProcess.start()
})
afterAll(() => simulator?.stop())

/** No more than what says how to reach Azure. */
const environment = () => ({
  ARM_SUBSCRIPTION_ID: ids.subscriptionId,
  AZURE_TENANT_ID: ids.tenantId,
  AZURE_CLIENT_ID: ids.clientId,
  AZURE_FEDERATED_TOKEN_FILE: simulator.tokenFile,
  AZURE_AUTHORITY_HOST: simulator.url,
  JOINER_ARM_ENDPOINT: simulator.url,
  JOINER_PRICES_ENDPOINT: simulator.url,
})

test('sizes, prices and quota are read with the credential of the environment', async () => {
  const sale = await readAzure(environment(), [], ids.location)
  expect(sale).toMatchObject({ region: ids.location, remarks: [] })
  expect(sale.skus.length).toBeGreaterThan(100)
  expect(sale.prices.priceOf({ name: 'Standard_D4s_v5' } as never, 'on-demand')).toBe(0.192)
  const demand = { family: 'standardDSv5Family', capacityType: 'on-demand' }
  expect(sale.hasRoom({ ...demand, vCpus: 4 })).toBe(true)
  expect(sale.hasRoom({ ...demand, vCpus: 1_000_000 })).toBe(false)
})

test('without a price list that answers, prices are modelled and that is reported', async () => {
  const sale = await readAzure({ ...environment(), JOINER_PRICES_ENDPOINT: 'https://127.0.0.1:9' }, [], ids.location)
  expect(sale.remarks[0]).toMatch(/^prices are modelled: .*ECONNREFUSED/)
})

test('what the environment lacks, and what Azure refuses, is reported in a few words', async () => {
  await expect(readAzure({}, [], undefined)).rejects.toThrow(
    'environment variable ARM_SUBSCRIPTION_ID: is missing: set it to the id of the Azure subscription',
  )
  await expect(readAzure({ ...environment(), ARM_SUBSCRIPTION_ID: 'other' }, [], ids.location)).rejects.toThrow(
    /^VM sizes at Azure: SubscriptionNotFound: .*; az login renews a login/,
  )
})

test('simulate fetches the prices of a region itself, all pages of them', async () => {
  const file = await fetchedPrices(ids.location, environment())
  const prices = await readPrices([file], ids.location)
  expect(prices.priceOf({ name: 'Standard_D4s_v5' }, 'on-demand')).toBe(0.192)
  expect(prices.size).toBeGreaterThan(100)
  await expect(fetchedPrices(ids.location, { JOINER_PRICES_ENDPOINT: 'https://127.0.0.1:9' })).rejects.toThrow(
    /^--fetch-prices westus2: .*ECONNREFUSED.*; use --prices FILE$/,
  )
})
