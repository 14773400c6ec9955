// What Joiner's own functions ask of Azure at run time, and read of the answers, over the simulator in this process.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { findVnetGuid } from '../../../activities/azure/access/found-facts.ts'
import { createAzureClient } from '../../../activities/azure/arm/client.ts'
import { usagesOf } from '../../../activities/azure/capacity/quota-accounting.ts'
import { fetchPrices } from '../../../activities/azure/catalogue/retail-prices.ts'
import { readSizes } from '../../../activities/azure/catalogue/size-list.ts'
import { joinEvidence } from '../../../activities/azure/join/join-evidence.ts'
import { NetworkFacts } from '../../../activities/azure/launch/network-facts.ts'
import {
  deleteMachine,
  getMachine,
  listMachinePools,
  listMachines,
  napMode,
  putMachine,
} from '../../../activities/azure/machines/machines-api.ts'
import { newestImages } from '../../../activities/azure/node-class/image-versions.ts'
import { imageDefinitions } from '../../../activities/azure/node-class/images.ts'
import { readGroup } from '../../../activities/azure/reservations/capacity-reservations.ts'
import { azureIds, clusterName, subnetId } from '../../../deploy/local/cluster.ts'
import { ArmSession } from '../../arm/arm-session.ts'
import { makingMachines } from '../../arm/machines-mode.ts'
import { azureConfig } from '../../fakes/azure-config.ts'
import { collect, vmBody } from '../../simulator/sdk-clients.ts'
import { settle } from '../virtual-clock.ts'
import { FastAzure, type FastAzureOptions } from './fast-azure.ts'

const log = pino({ level: 'silent' })
const now = () => Date.now()
const group = azureIds.nodeResourceGroup
const images = imageDefinitions({ imageFamily: 'Ubuntu2204', fips: false, trustedLaunch: false }, 'Ubuntu2204').slice(
  0,
  1,
)

async function world(settings?: FastAzureOptions['settings']) {
  const azure = await FastAzure.start({ ...(settings && { settings }) })
  const { url, credential, http } = azure
  const config = {
    ...azureConfig,
    ...azureIds,
    clusterName,
    clusterResourceGroup: makingMachines.ARM_RESOURCE_GROUP,
    armEndpoint: url,
  }
  const token = azure.deps.tokens.issue('https://management.azure.com')
  const session = new ArmSession(token, (method, path, more) => azure.send(method, path, more))
  return { url, http, credential, session, config, client: createAzureClient(config, credential, { http }) }
}

test('sizes, prices and quota', async () => {
  const { client, url, http } = await world()
  expect((await readSizes(client, 'westus2')).get('Standard_D2s_v5')).toMatchObject({
    vCpus: 2,
    zones: ['1', '2', '3'],
  })
  expect((await fetchPrices(url, 'westus2', http)).list.onDemand.get('Standard_D2s_v5')).toBeGreaterThan(0)
  const usages = usagesOf(await collect(client.compute.usage.list('westus2')))
  expect(usages.get('standarddsv5family')?.limit).toBeGreaterThan(0)
})

test('a region that sells small sizes alone', async () => {
  const { client, url, http } = await world({ mostVCpus: 8 })
  const sizes = await readSizes(client, 'westus2')
  expect(new Set([...sizes.values()].map(({ vCpus }) => vCpus))).toEqual(new Set([2, 4, 8]))
  const { onDemand } = (await fetchPrices(url, 'westus2', http)).list
  expect([...onDemand.keys()].sort()).toEqual([...sizes.keys()].sort())
})

test('facts of the network', async () => {
  const { client } = await world()
  const { network } = client
  expect(await findVnetGuid(network, subnetId)).toMatch(/^[0-9a-f-]{36}$/)
  const facts = new NetworkFacts(
    {
      securityGroups: () => network.networkSecurityGroups.list(group),
      loadBalancers: () => network.loadBalancers.list(group),
    },
    { nodeResourceGroup: group, log, now },
  )
  expect((await facts.network()).securityGroupName).toMatch(/^aks-agentpool-\d{8}-nsg$/)
  expect((await facts.pools()).ids).not.toEqual([])
})

test('images of the community gallery, and shared ones with the token of AKS', async () => {
  const { client, url, http, credential, config } = await world()
  const [image] = await newestImages({ azure: client, config, now }, images)
  expect(image?.id).toMatch(/^\/CommunityGalleries\/AKSUbuntu-.*\/versions\//)
  const sharedGallery = { subscriptionId: makingMachines.SIG_SUBSCRIPTION_ID, tokenServerUrl: `${url}/gallery-token` }
  const sharing = createAzureClient({ ...config, sharedGallery }, credential, { http })
  const [shared] = await newestImages({ azure: sharing, config: { ...config, sharedGallery }, now }, images)
  const body = vmBody('aks-a', { storageProfile: { imageReference: { id: shared?.id ?? '' } }, networkProfile: {} })
  await expect(client.compute.virtualMachines.createOrUpdate(group, 'aks-a', body).submitted()).rejects.toMatchObject({
    code: 'LinkedAuthorizationFailed',
  })
  await sharing.compute.virtualMachines.createOrUpdate(group, 'aks-a', body).submitted()
})

test('the serial log of a VM', async () => {
  const { client, config, session } = await world()
  await session.plantVm('aks-a', {})
  const evidence = await joinEvidence({ log, azure: client, config }, 'a', new AbortController().signal)
  expect(evidence).toContain('serial log ends:')
})

test('capacity reservations', async () => {
  const { client, config, session } = await world()
  const id = await session.putCapacityGroup('reserved', ['1'])
  await session.putReservation(id, 'one', {
    location: 'westus2',
    zones: ['1'],
    sku: { name: 'Standard_D2s_v5', capacity: 2 },
  })
  const [resourceGroup, name] = [config.clusterResourceGroup, 'reserved']
  const found = await readGroup({ azure: client, config, log }, { id, resourceGroup, name })
  expect(found).toMatchObject({ kind: 'read' })
})

test('AKS machines', async () => {
  const { client, config, session } = await world()
  const deps = { azure: client, config }
  await session.putAks('machines', { properties: { mode: 'Machines' } })
  expect(await listMachinePools(deps)).toEqual(['machines'])
  expect(await napMode(deps)).toBe('Manual')
  const id = {
    subscriptionId: config.subscriptionId,
    resourceGroup: config.clusterResourceGroup,
    cluster: clusterName,
    pool: 'machines',
    name: 'general-a',
  }
  await putMachine(deps, id, { body: { properties: { hardware: { vmSize: 'Standard_D2s_v5' } } } })
  expect(await getMachine(deps, id)).toMatchObject({ name: 'general-a' })
  await deleteMachine(deps, id)
  await settle()
  expect(await listMachines(deps, id)).toEqual([])
})
