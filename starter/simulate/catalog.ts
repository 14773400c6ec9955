import type { ResourceSku } from '@azure/arm-compute'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import type { PriceItem } from '../../activities/azure/pricing.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { KubeletConversion } from '../../core/kubelet-conversion.ts'
import { wellKnownLabels } from '../../core/labels.ts'
import type { NodeClass } from '../../core/objects.ts'
import { withoutNulls } from './cluster-objects.ts'
import { instanceTypes, type TypeJson, typeShape } from './instance-types.ts'
import { InputError, isObject, list, pathText, record, text, valueText } from './shape.ts'
import { readDocuments } from './source.ts'

/** What the cloud sells. */
export interface Catalog {
  /** To a NodePool with this node class and these kubelet settings of v1beta1; the same array for the same question. */
  readonly typesFor: (nodeClass?: NodeClass, kubelet?: KubeletConversion) => readonly InstanceType[]
  /** Label keys that its types define beside Karpenter's own. */
  readonly wellKnownLabels: readonly string[]
  readonly reservationIdLabel: string | undefined
}

const catalogShape = record({
  instanceTypes: list(typeShape),
  wellKnownLabels: list(text),
  reservationIDLabel: text,
})

/** Reads a list of instance types, or ARM's resource SKUs with retail prices. Errors: InputError. */
export async function readCatalog(file: string, prices: readonly string[]): Promise<Catalog> {
  const json = withoutNulls(await onlyValue(file))
  const skus = skusOf(json)
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

async function onlyValue(file: string): Promise<unknown> {
  const documents = await readDocuments([file])
  if (documents.length !== 1)
    throw new InputError(`${file}: holds ${documents.length} documents; a file of this sort is one`)
  return documents[0]?.value
}

function typeCatalog(file: string, json: unknown): Catalog {
  const problem = catalogShape(json)
  if (problem !== undefined) {
    const at = pathText(problem.path)
    throw new InputError(`${file}: ${at === '' ? 'the catalogue' : at} ${valueText(problem.value)}; ${problem.remedy}`)
  }
  const catalog = json as {
    instanceTypes?: readonly TypeJson[]
    wellKnownLabels?: readonly string[]
    reservationIDLabel?: string
  }
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

/** ARM's own answer is a page; `az vm list-skus` prints the list alone. */
function skusOf(json: unknown): readonly ResourceSku[] | undefined {
  const entries = isObject(json) ? json['value'] : json
  return Array.isArray(entries) ? (entries as readonly ResourceSku[]) : undefined
}

async function skuCatalog(file: string, skus: readonly ResourceSku[], priceFiles: readonly string[]): Promise<Catalog> {
  const [{ parseSku }, { instanceTypes }, { nodeClassSettings }, { pricesOf }] = await Promise.all([
    import('../../activities/azure/sku.ts'),
    import('../../activities/azure/instance-types.ts'),
    import('../../activities/azure/node-class-settings.ts'),
    import('../../activities/azure/pricing.ts'),
  ])
  const region = regionOf(file, skus)
  const sizes = skus.flatMap((sku) => {
    const parsed = parseSku(sku, region)
    return parsed.kind === 'size' ? [parsed.size] : []
  })
  if (sizes.length === 0) throw new InputError(`${file}: holds no VM size that a node can have in region ${region}`)
  const items = (await Promise.all(priceFiles.map(priceItems))).flat()
  const prices = pricesOf(items.filter(({ armRegionName = region }) => armRegionName === region))
  if (prices.size === 0)
    throw new InputError(`${priceFiles.join(', ')}: holds no price of region ${region}, whose sizes ${file} has`)
  const known = new Map<string, readonly InstanceType[]>()
  const typesFor = (nodeClass: NodeClass = plainNodeClass, kubelet?: KubeletConversion) => {
    const key = `${nodeClass.metadata.name}/${JSON.stringify(kubelet ?? null)}`
    const types =
      known.get(key) ??
      instanceTypes({
        sizes,
        region,
        nodeClass: nodeClassSettings(nodeClass, clusterSettings as AzureConfig, kubelet),
        prices,
        isMarked: () => false,
        hasQuota: () => true,
        memoryOverheadPercent: 0.075,
        nodeResourceGroup: 'simulated',
      })
    known.set(key, types)
    return types
  }
  return { typesFor, wellKnownLabels: [...wellKnownLabels], reservationIdLabel: undefined }
}

/** The defaults of Joiner's own configuration; the rest of it has no say in what types there are. */
const clusterSettings: Pick<AzureConfig, 'subnetId' | 'networkPlugin' | 'networkPluginMode'> = {
  subnetId: '',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
}

const plainNodeClass: NodeClass = {
  kind: 'AKSNodeClass',
  metadata: {
    name: '',
    uid: '',
    resourceVersion: '',
    creationTimestamp: '',
    labels: {},
    annotations: {},
    finalizers: [],
    ownerReferences: [],
  },
  spec: {},
  status: { images: [], conditions: [] },
}

function regionOf(file: string, skus: readonly ResourceSku[]): string {
  const regions = new Set(skus.flatMap(({ locations = [] }) => locations.map((name) => name.toLowerCase())))
  const [region] = regions
  if (region !== undefined && regions.size === 1) return region
  const found = regions.size === 0 ? 'no region' : `${regions.size} regions`
  throw new InputError(
    `${file}: its SKUs name ${found} in locations; give those of one (az vm list-skus --location REGION)`,
  )
}

type PricedItem = PriceItem & { readonly armRegionName?: string }

async function priceItems(file: string): Promise<readonly PricedItem[]> {
  const json = await onlyValue(file)
  const pages = Array.isArray(json) ? json : [json]
  return pages.flatMap((page: unknown): readonly PricedItem[] => {
    const items: unknown = isObject(page) ? (page['Items'] ?? [page]) : undefined
    if (Array.isArray(items)) return items as readonly PricedItem[]
    throw new InputError(`${file}: is not an answer of the retail prices API; it has a list Items`)
  })
}
