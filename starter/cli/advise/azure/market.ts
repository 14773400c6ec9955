import { shortagesOf, type Usages } from '../../../../activities/azure/capacity/quota-accounting.ts'
import { gpuSize } from '../../../../activities/azure/catalogue/gpu-sizes.ts'
import { isUnknownPrice, modelledPrices, type Prices } from '../../../../activities/azure/catalogue/pricing.ts'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import { generationOf, parseVmSizeName, seriesOf } from '../../../../activities/azure/catalogue/vm-size-name.ts'
import { nodePrice } from '../../../../core/disruption/costs.ts'
import { typeNamed } from '../../../../core/instance-type.ts'
import type { Node } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { defined } from '../../../../core/values/defined.ts'
import { type Catalog, readCatalog, type SizeSale, sizeCatalog } from '../../../files/catalog.ts'
import { type InputFile, inputName } from '../../../files/input-file.ts'
import { logIn } from '../../../picture/azure-login.ts'
import { aksClusters, vmSizes, vmUsages } from '../../../picture/from-azure.ts'
import { missingLines } from '../../../picture/gaps.ts'
import type { ManagedCluster } from '../../../picture/managed-cluster.ts'
import { whyOf } from '../../../picture/missing.ts'
import { readPicture } from '../../../picture/picture.ts'
import { type PriceSource, priceEndpoint, regionPrices } from '../../../picture/prices.ts'

/** What a region sells, and for how much. */
export interface Market {
  readonly catalog: Catalog
  /** Sizes by name, where the region's are known. */
  readonly sizes: ReadonlyMap<string, VmSize>
  readonly source: PriceSource
  /** Price of a node in USD an hour; undefined when it is not known. */
  readonly priceOf: (node: Node) => number | undefined
  readonly remarks: readonly string[]
}

interface MarketFiles {
  readonly catalog?: InputFile
  readonly prices: readonly InputFile[]
}

interface Input extends MarketFiles {
  readonly place: AzurePlace
  readonly arm: ArmFacts
  readonly nodes: readonly Node[]
  readonly env: NodeJS.ProcessEnv
  /** Epoch ms. */
  readonly now: number
}

/** Gathers what is sold: from files, else from ARM and the public price list, else from what nodes report and estimates. Errors: InputError for a file. */
export async function readMarket(input: Input): Promise<Market> {
  if (input.catalog !== undefined) return fileMarket(input.catalog, input)
  const { place, arm, nodes } = input
  const { region } = place
  const places = { files: input.prices, endpoint: priceEndpoint(input.env), region }
  const { prices, source, remarks } = await regionPrices(places, input.now)
  const sizes = arm.sizes ?? sizesOfNodes(nodes)
  const network = arm.cluster?.properties.networkProfile
  const catalog = await sizeCatalog({
    region: region ?? '',
    sizes: [...sizes.values()],
    prices,
    ...(arm.hasQuota && { hasQuota: arm.hasQuota }),
    ...(arm.hasSpotQuota && { hasSpotQuota: arm.hasSpotQuota }),
    ...(network && { network: networkOf(network) }),
  })
  const known = arm.sizes !== undefined
  return {
    catalog,
    sizes,
    source,
    priceOf: (node) => priceByList(node, sizes, prices),
    remarks: known
      ? remarks
      : [...remarks, 'sizes of the region are not known: new nodes are only of sizes that the cluster has already'],
  }
}

type Network = NonNullable<ManagedCluster['properties']['networkProfile']>

/** Without Azure's plugin nodes have as many pods as without any. */
function networkOf({ networkPlugin, networkPluginMode }: Network): NonNullable<SizeSale['network']> {
  return {
    networkPlugin: networkPlugin === 'azure' ? 'azure' : 'none',
    networkPluginMode: networkPluginMode === 'overlay' ? 'overlay' : '',
  }
}

/** A list of instance types has prices of its own. */
async function fileMarket(file: InputFile, { prices, nodes }: Pick<Input, 'prices' | 'nodes'>): Promise<Market> {
  const catalog = await readCatalog(file, prices)
  const types = catalog.typesFor()
  const names = [file, ...prices].map((one) => inputName(one.file))
  return {
    catalog,
    sizes: sizesOfNodes(nodes),
    source: { kind: 'file', text: names.join(', ') },
    priceOf: ({ metadata }) => {
      const price = nodePrice(marketLabels(metadata.labels), typeNamed(types, metadata.labels[labels.instanceType]))
      return price === 0 || isUnknownPrice(price) ? undefined : price
    },
    remarks: [],
  }
}

function priceByList({ metadata }: Node, sizes: ReadonlyMap<string, VmSize>, prices: Prices): number | undefined {
  const own = metadata.labels
  const name = own[labels.instanceType]
  // The list is that of Linux.
  if (name === undefined || own[labels.os] === 'windows') return undefined
  const size = sizes.get(name)
  if (size === undefined && prices === modelledPrices) return undefined
  const price = prices.priceOf(size ?? ({ name } as VmSize), capacityTypeOf(own))
  return isUnknownPrice(price) ? undefined : price
}

/** Whether a node is a spot VM, by the label of Karpenter or that of AKS. */
export function capacityTypeOf(own: Readonly<Record<string, string>>): 'spot' | 'on-demand' {
  const isSpot = own[labels.capacityType] === 'spot' || own['kubernetes.azure.com/scalesetpriority'] === 'spot'
  return isSpot ? 'spot' : 'on-demand'
}

/** Returns a node's labels with those by which offerings are found. AKS numbers fault domains where there are no zones. */
export function marketLabels(own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const zone = own[labels.zone]
  return {
    ...own,
    [labels.capacityType]: own[labels.capacityType] ?? capacityTypeOf(own),
    [labels.zone]: zone === undefined || /^\d*$/.test(zone) ? '0' : zone,
  }
}

/** GiB of memory for each vCPU in Azure's sizes. What a node reports is up to a tenth less than the size has. */
const ratios = [1, 1.75, 2, 3.5, 4, 4.5, 5.5, 6.75, 7, 8, 9, 14, 16, 28, 32]
const nanoOfGib = 2n ** 30n * 1_000_000_000n

/**
 * Returns the sizes that nodes have, by what they report: all that is known of a region where ARM does not say what it sells. So nothing is replaced by a size that the
 * cluster does not have yet.
 */
export function sizesOfNodes(nodes: readonly Node[]): ReadonlyMap<string, VmSize> {
  const bySize = Map.groupBy(nodes, ({ metadata }) => metadata.labels[labels.instanceType] ?? '')
  const sizes = [...bySize].flatMap(([name, own]) => sizeOf(name, own) ?? [])
  return new Map(sizes.map((size) => [size.name, size]))
}

function sizeOf(name: string, nodes: readonly Node[]): VmSize | undefined {
  const parts = parseVmSizeName(name)
  const [first] = nodes
  const cpu = first?.capacity['cpu']
  const memory = first?.capacity['memory']
  if (parts === undefined || first === undefined || cpu === undefined || memory === undefined) return undefined
  const vCpus = Number(cpu.nano / 1_000_000_000n)
  const gib = Number(memory.nano / (nanoOfGib / 1000n)) / 1000
  const gpu = gpuSize(name)
  const gpus = ['nvidia.com/gpu', 'amd.com/gpu'].map((key) =>
    Number((first.capacity[key]?.nano ?? 0n) / 1_000_000_000n),
  )
  return {
    name,
    family: '',
    seriesFamily: parts.family,
    series: seriesOf(parts),
    version: generationOf(parts),
    vCpus,
    memoryGib: vCpus * (ratios.find((ratio) => ratio * vCpus >= gib) ?? gib / Math.max(1, vCpus)),
    arch: first.metadata.labels[labels.arch] === 'arm64' ? 'arm64' : 'amd64',
    gpus: Math.max(0, ...gpus),
    ...(gpu === undefined ? {} : { gpu }),
    ...(gpu === undefined || parts.accelerator === undefined ? {} : { gpuName: parts.accelerator }),
    hyperVGenerations: ['1', '2'],
    acceleratedNetworking: true,
    premiumStorage: parts.features.includes('s'),
    encryptionAtHost: true,
    trustedLaunch: true,
    spotCapable: true,
    ultraSsdZones: new Set(),
    ultraSsdRegional: false,
    zones: zonesOf(nodes),
  }
}

function zonesOf(nodes: readonly Node[]): readonly string[] {
  const zones = nodes.flatMap(({ metadata }) => /-(\d)$/.exec(metadata.labels[labels.zone] ?? '')?.[1] ?? [])
  return [...new Set(zones)].toSorted()
}

/** What ARM says; what it does not say is unset, and why is in `unread`. */
export interface ArmFacts {
  /** The region's sizes by name. */
  readonly sizes?: ReadonlyMap<string, VmSize>
  /** Whether the subscription's quota leaves room for so many vCPUs of a family; spot: without a family. */
  readonly hasQuota?: (family: string, vCpus: number) => boolean
  readonly hasSpotQuota?: (family: string, vCpus: number) => boolean
  readonly cluster?: ManagedCluster
  readonly unread: readonly string[]
}

const remedy = 'log in: az login'
/** Azure answers in seconds, or hardly at all. */
const loginMs = 60_000

/** Reads the region's sizes, quotas and the AKS cluster with the caller's login. It only gets. */
export async function readArm(place: AzurePlace, env: NodeJS.ProcessEnv, now: number): Promise<ArmFacts> {
  const { subscriptionId, region, nodeResourceGroup } = place
  if (subscriptionId === undefined || region === undefined)
    return { unread: ['Azure was not asked: no node says which subscription and region it is in'] }
  let login: Awaited<ReturnType<typeof logIn>>
  try {
    login = await logIn(subscriptionId, env, AbortSignal.timeout(loginMs))
  } catch (error) {
    return { unread: [`Azure was not asked: ${whyOf(error)} (${remedy})`] }
  }
  const scene = { arm: login.arm, subscriptionId, region, now }
  const { missing, sizes, usages, clusters } = await readPicture(scene, {
    sizes: vmSizes,
    usages: vmUsages,
    clusters: aksClusters,
  })
  const cluster = clusters?.find(
    ({ properties }) => properties.nodeResourceGroup?.toLowerCase() === nodeResourceGroup?.toLowerCase(),
  )
  const unknown = missing.some(({ what }) => what === vmUsages.what) ? ['quotas are not known, and count as free'] : []
  const none =
    clusters === undefined || cluster !== undefined
      ? []
      : [`AKS cluster: none of subscription ${subscriptionId} has the node resource group ${nodeResourceGroup ?? ''}`]
  return {
    unread: [...missingLines(missing), ...unknown, ...none],
    ...(sizes !== undefined && sizes.size > 0 && { sizes }),
    ...(usages && quotas(usages)),
    ...(cluster && { cluster }),
  }
}

function quotas(usages: Usages): Pick<ArmFacts, 'hasQuota' | 'hasSpotQuota'> {
  const room = (capacityType: string) => (family: string, vCpus: number) =>
    shortagesOf(usages, new Map(), { family, vCpus, capacityType }).length === 0
  return { hasQuota: room('on-demand'), hasSpotQuota: room('spot') }
}

/** Where a cluster is at Azure, as its nodes say. */
export interface AzurePlace {
  readonly subscriptionId?: string
  readonly nodeResourceGroup?: string
  readonly region?: string
}

const vmId = /^azure:\/\/\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\//i

/** Returns what most nodes say. */
export function placeOf(nodes: readonly Node[]): AzurePlace {
  const ids = nodes.map(({ providerId = '' }) => vmId.exec(providerId))
  const subscriptionId = mostFrequent(ids.map((id) => id?.[1]))
  const nodeResourceGroup = mostFrequent(ids.map((id) => id?.[2]))
  const region = mostFrequent(nodes.map(({ metadata }) => metadata.labels[labels.region]))
  return { ...defined({ subscriptionId, nodeResourceGroup, region }) }
}

function mostFrequent(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}
