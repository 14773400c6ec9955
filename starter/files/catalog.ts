import type { ResourceSku } from '@azure/arm-compute'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import type { Sale } from '../../activities/azure/catalogue/instance-types.ts'
import type { VmSize } from '../../activities/azure/catalogue/sku.ts'
import type { NodeClass } from '../../api/objects.ts'
import { type CatalogJson, catalogShape, type InstanceTypeJson } from '../../api/shapes/scenario.ts'
import { problemOf, valueText } from '../../api/shapes/shape.ts'
import type { InstanceType, Overhead } from '../../core/instance-type.ts'
import type { KubeletConversion } from '../../core/node-class/kubelet-conversion.ts'
import type { RequirementSpec } from '../../core/objects.ts'
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import { type Requirements, requirements } from '../../core/requirements/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import { pathText } from '../../core/values/field-error.ts'
import { InputError } from '../document/reported-error.ts'
import { clusterSettings, onlyValue, plainNodeClass, readPrices, regionOf, skusOf } from './azure-files.ts'
import { type InputFile, inputName } from './input-file.ts'

/** What the cloud sells. */
export interface Catalog {
  /** To a NodePool with this node class and these kubelet settings of v1beta1; the same array for the same question. */
  readonly typesFor: (nodeClass?: NodeClass, kubelet?: KubeletConversion) => readonly InstanceType[]
  /** Label keys that its types define beside Karpenter's own. */
  readonly wellKnownLabels: readonly string[]
  readonly reservationIdLabel: string | undefined
}

/** Reads a list of instance types, or ARM's resource SKUs with retail prices. Errors: InputError. */
export async function readCatalog(input: InputFile, prices: readonly InputFile[]): Promise<Catalog> {
  const file = inputName(input.file)
  const json = await onlyValue(input)
  const skus = skusOf(file, json)
  if (skus !== undefined) {
    if (prices.length > 0) return skuCatalog(file, skus, prices)
    throw new InputError(
      `${file}: holds resource SKUs, which have no prices; add --prices FILE with an answer of the retail prices API`,
    )
  }
  if (prices.length > 0)
    throw new InputError(`${file}: holds instance types with prices of their own; leave out --prices`)
  return typeCatalog(file, json)
}

function typeCatalog(file: string, json: unknown): Catalog {
  const problem = problemOf(catalogShape, json)
  if (problem !== undefined) {
    const at = pathText(problem.path)
    throw new InputError(`${file}: ${at === '' ? 'the catalogue' : at} ${valueText(problem.value)}; ${problem.remedy}`)
  }
  const catalog = json as CatalogJson
  if (catalog.instanceTypes === undefined)
    throw new InputError(
      `${file}: instanceTypes is missing; write {"instanceTypes": [...]}, or give ARM's resource SKUs`,
    )
  const types = instanceTypes(catalog.instanceTypes)
  return {
    typesFor: () => types,
    wellKnownLabels: catalog.wellKnownLabels ?? [],
    reservationIdLabel: catalog.reservationIDLabel,
  }
}

async function skuCatalog(
  file: string,
  skus: readonly ResourceSku[],
  priceFiles: readonly InputFile[],
): Promise<Catalog> {
  const { parseSku } = await import('../../activities/azure/catalogue/sku.ts')
  const region = regionOf(file, skus)
  const sizes = skus.flatMap((sku) => {
    const parsed = parseSku(sku, region)
    return parsed.kind === 'size' ? [parsed.size] : []
  })
  if (sizes.length === 0) throw new InputError(`${file}: holds no VM size that a node can have in region ${region}`)
  return sizeCatalog({ region, sizes, prices: await readPrices(priceFiles, region) })
}

/** The sizes of a region with their prices. */
export interface SizeSale extends Pick<Sale, 'prices'>, Partial<Pick<Sale, 'hasQuota' | 'hasSpotQuota'>> {
  readonly region: string
  readonly sizes: readonly VmSize[]
  /** The cluster's network. Unset: Joiner's defaults. */
  readonly network?: Pick<AzureConfig, 'networkPlugin' | 'networkPluginMode'>
}

/** Returns what is sold to each node class. */
export async function sizeCatalog({ region, sizes, network, ...sale }: SizeSale): Promise<Catalog> {
  const [{ instanceTypes }, { nodeClassSettings }] = await Promise.all([
    import('../../activities/azure/catalogue/instance-types.ts'),
    import('../../activities/azure/node-class/node-class-settings.ts'),
  ])
  const config = { ...clusterSettings, ...network } as AzureConfig
  const known = new Map<string, readonly InstanceType[]>()
  const typesFor = (nodeClass: NodeClass = plainNodeClass, kubelet?: KubeletConversion) => {
    const key = `${nodeClass.metadata.name}/${JSON.stringify(kubelet ?? null)}`
    const types =
      known.get(key) ??
      instanceTypes({
        hasQuota: () => true,
        ...sale,
        sizes,
        region,
        nodeClass: nodeClassSettings(nodeClass, config, kubelet),
        isMarked: () => false,
        memoryOverheadPercent: 0.075,
        nodeResourceGroup: 'simulated',
      })
    known.set(key, types)
    return types
  }
  return { typesFor, wellKnownLabels: [...wellKnownLabels], reservationIdLabel: undefined }
}

type OverheadAmounts = NonNullable<InstanceTypeJson['overhead']>

/** The types of one file. Most offerings require what others do too: these share their requirements, which are then looked at once. */
export function instanceTypes(types: readonly InstanceTypeJson[]): InstanceType[] {
  const known = new Map<string, Requirements>()
  const shared = (specs: readonly RequirementSpec[]): Requirements => {
    const text = JSON.stringify(specs)
    const set = known.get(text) ?? requirements(specs)
    known.set(text, set)
    return set
  }
  return types.map((type) => instanceType(type, shared))
}

function instanceType(
  json: InstanceTypeJson,
  shared: (specs: readonly RequirementSpec[]) => Requirements,
): InstanceType {
  const { name, volumeAttachmentLimits } = json
  return {
    name,
    requirements: requirements(json.requirements ?? []),
    offerings: (json.offerings ?? []).map(({ capacityOverride, overheadOverride, ...offering }) => ({
      requirements: shared(offering.requirements ?? []),
      price: offering.price ?? 0,
      available: offering.available ?? false,
      reservationCapacity: offering.reservationCapacity ?? 0,
      ...(capacityOverride === undefined ? {} : { capacityOverride: parseResources(capacityOverride) }),
      ...(overheadOverride === undefined ? {} : { overheadOverride: overheadOf(overheadOverride) }),
    })),
    capacity: parseResources(json.capacity),
    overhead: overheadOf(json.overhead ?? {}),
    ...(volumeAttachmentLimits === undefined ? {} : { volumeAttachmentLimits }),
  }
}

function overheadOf({ kubeReserved, systemReserved, evictionThreshold }: OverheadAmounts): Overhead {
  return {
    kubeReserved: parseResources(kubeReserved),
    systemReserved: parseResources(systemReserved),
    evictionThreshold: parseResources(evictionThreshold),
  }
}
