import type { ResourceSku } from '@azure/arm-compute'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import { isBlocked } from '../../activities/azure/capacity/blocking-mark.ts'
import {
  type Mark,
  type Marks,
  noMarks,
  type OfferingId,
  offeringMarks,
  withMarks,
} from '../../activities/azure/capacity/mark.ts'
import { regionalPool, shortagesOf, usagesOf } from '../../activities/azure/capacity/quota-accounting.ts'
import { type PriceList, pricesOf } from '../../activities/azure/catalogue/pricing.ts'
import { parseSku, type VmSize } from '../../activities/azure/catalogue/sku.ts'
import type { NodeClass } from '../../api/objects.ts'
import { type PriceRow, priceItemsOf } from './azure-tables.ts'
import { readVectors } from './packs.ts'

/** The sizes of a region's catalogue that a node can have. */
export function goldenSizes(region: string): readonly VmSize[] {
  return goldenSkus(region).flatMap((sku) => {
    const parsed = parseSku(sku, region)
    return parsed.kind === 'size' ? [parsed.size] : []
  })
}

/** A region's catalogue, as far as the product looks at it. */
export function goldenSkus(region: string): readonly ResourceSku[] {
  return readVectors(`azure-tables/sizes-${region}`) as readonly ResourceSku[]
}

/** The on-demand prices of a region for both capacity types: what most vectors were made with. What has no price costs 999. */
export function goldenPrices(region: string): PriceList {
  const items = priceItemsOf(priceTable(region).prices)
  return pricesOf(items.flatMap((item) => [item, { ...item, skuName: `${item.skuName} Spot` }]))
}

/** The prices of a region after its price list was read, and the modelled rows (spot, Windows, low priority) after it. */
export function goldenLivePrices(region: string): PriceList {
  const { prices, 'prices-modelled-extra': modelled } = priceTable(region)
  return pricesOf(priceItemsOf([...prices, ...modelled]))
}

const priceTable = (region: string) =>
  readVectors(`azure-tables/prices-${region}`) as Readonly<
    Record<'prices' | 'prices-modelled-extra', readonly PriceRow[]>
  >

/** Options of the reference provider, as the cases name them. */
export interface GoldenOptions {
  readonly clusterName?: string
  readonly nodeResourceGroup: string
  readonly networkPlugin: AzureConfig['networkPlugin']
  readonly networkPluginMode: AzureConfig['networkPluginMode']
  readonly networkDataplane?: AzureConfig['networkDataplane']
  readonly networkPolicy?: string
  readonly vmMemoryOverheadPercent: number
  readonly kubeletIdentityClientID?: string
  readonly linuxAdminUsername?: string
  readonly sshPublicKey?: string
  readonly vnetSubnetID?: string
  readonly vnetGUID?: string
  readonly dnsServiceIP?: string
  readonly nodeIdentities?: readonly string[] | null
  readonly nodeOSDiskDiskEncryptionSetID?: string
  readonly additionalTags?: Readonly<Record<string, string>> | null
}

export const goldenSubnet =
  '/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/test-resourceGroup/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet'

export function goldenConfig(region: string, options: GoldenOptions): AzureConfig {
  return {
    subscriptionId: '12345678-1234-1234-1234-123456789012',
    location: region,
    cloud: 'AzurePublicCloud',
    clusterResourceGroup: 'test-cluster-resourceGroup',
    nodeResourceGroup: options.nodeResourceGroup,
    clusterName: options.clusterName ?? 'test-cluster',
    clusterUid: 'cluster-uid',
    clusterEndpoint: 'test-cluster',
    clusterCaBundle: 'Y2EtYnVuZGxl',
    subnetId: options.vnetSubnetID ?? goldenSubnet,
    systemNamespace: 'joiner',
    pricesEndpoint: 'https://prices.invalid',
    nodeIdentities: options.nodeIdentities ?? [],
    kubeletIdentityClientId: options.kubeletIdentityClientID ?? '',
    tenantId: 'test-tenant',
    adminUsername: options.linuxAdminUsername ?? 'azureuser',
    sshPublicKey: options.sshPublicKey ?? '',
    networkPlugin: options.networkPlugin,
    networkPluginMode: options.networkPluginMode,
    networkDataplane: options.networkDataplane ?? '',
    networkPolicy: options.networkPolicy ?? '',
    clusterDnsServiceIp: options.dnsServiceIP || '10.0.0.10',
    vmMemoryOverheadPercent: options.vmMemoryOverheadPercent,
    ...(options.vnetGUID ? { vnetGuid: () => options.vnetGUID ?? '' } : {}),
    ...(options.nodeOSDiskDiskEncryptionSetID ? { diskEncryptionSetId: options.nodeOSDiskDiskEncryptionSetID } : {}),
    additionalTags: options.additionalTags ?? {},
    billingExtension: false,
    customCaCerts: [],
  }
}

/** A node class as stored, with the status that the cases give it. */
export function goldenNodeClass(
  spec: Readonly<Record<string, unknown>>,
  status: Partial<NodeClass['status']> = {},
): NodeClass {
  return {
    kind: 'AKSNodeClass',
    metadata: {
      name: 'default',
      uid: 'node-class-uid',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {},
      annotations: {},
      finalizers: [],
      ownerReferences: [],
    },
    spec,
    status: { images: [], conditions: [], ...status },
  }
}

/** A mark as the cases give it. */
export interface GoldenMark {
  readonly kind: 'offering' | 'wholeFamilyOf' | 'allSpot' | 'family'
  readonly instanceType?: string
  readonly familyLowerCase?: string
  readonly minVCPUs?: number
  readonly zone?: string
  readonly capacityType?: string
  readonly ttlSeconds: number
}

/** Room for on-demand vCPUs, as upstream counts it: by the family alone (docs/adr/0009-quota-counts-for-spot-and-the-region-too.md). */
export function familyRoom(items: Parameters<typeof usagesOf>[0]): (family: string, vCpus: number) => boolean {
  const usages = new Map([...usagesOf(items)].filter(([pool]) => pool !== regionalPool))
  return (family, vCpus) => shortagesOf(usages, new Map(), { family, vCpus, capacityType: 'on-demand' }).length === 0
}

/** What one call of the cases marks, at time 0. */
export function goldenMark(mark: GoldenMark, sizes: readonly VmSize[]): readonly Mark[] {
  const { kind, instanceType = '', zone = '', capacityType = '', ttlSeconds } = mark
  const reported = { untilMs: ttlSeconds * 1000, reason: 'test' }
  if (kind === 'allSpot') return [{ kind, ...reported }]
  const { family = '', vCpus = 0 } = sizes.find(({ name }) => name === instanceType) ?? {}
  return kind === 'wholeFamilyOf'
    ? [{ kind: 'family', family, minVCpus: -1, zone, capacityType, ...reported }]
    : offeringMarks({ instanceType, family, vCpus, zone, capacityType }, reported)
}

/** The content of the marks as the cases show it: how long they last is counted from time 0. */
export function asGoldenMarks(marks: Marks): readonly GoldenMark[] {
  return [...marks.values()].map((mark): GoldenMark => {
    const ttlSeconds = mark.untilMs / 1000
    if (mark.kind === 'allSpot') return { kind: 'allSpot', ttlSeconds }
    if (mark.kind === 'size' || mark.kind === 'image' || mark.kind === 'class')
      throw new Error(`upstream marks no ${mark.kind}`)
    const { zone, capacityType } = mark
    return mark.kind === 'offering'
      ? { kind: 'offering', instanceType: mark.instanceType, zone, capacityType, ttlSeconds }
      : {
          kind: 'family',
          familyLowerCase: mark.family.toLowerCase(),
          minVCPUs: mark.minVCpus,
          zone,
          capacityType,
          ttlSeconds,
        }
  })
}

/** What a list of marks blocks. */
export function blockedBy(marks: readonly GoldenMark[], sizes: readonly VmSize[]): (offering: OfferingId) => boolean {
  const added = marks.flatMap((mark) => goldenMark(mark, sizes))
  const after = withMarks(noMarks, added, 0).marks
  return (offering) => isBlocked(after, offering, { nowMs: 0 })
}
