import type { ResourceSku } from '@azure/arm-compute'
import type { z } from 'zod'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import { type PriceItem, type PriceList, pricesOf } from '../../activities/azure/catalogue/pricing.ts'
import type { NodeClass } from '../../api/objects.ts'
import { list, numberFrom, problemOf, record, text, valueText } from '../../api/shapes/shape.ts'
import { pathText } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/json.ts'
import { InputError } from '../document/reported-error.ts'
import { withoutNulls } from './cluster-objects.ts'
import { type InputFile, inputName } from './input-file.ts'
import { readDocuments } from './source.ts'

const capabilities = list(record({ name: text, value: text }))
const sku = record({
  name: text,
  resourceType: text,
  family: text,
  locations: list(text),
  locationInfo: list(
    record({
      location: text,
      zones: list(text),
      zoneDetails: list(record({ name: list(text), Name: list(text), capabilities })),
    }),
  ),
  capabilities,
  restrictions: list(
    record({
      type: text,
      values: list(text),
      reasonCode: text,
      restrictionInfo: record({ locations: list(text), zones: list(text) }),
    }),
  ),
})
const priceItem = record({
  armRegionName: text,
  armSkuName: text,
  retailPrice: numberFrom(0),
  productName: text,
  meterName: text,
  skuName: text,
})

/** The one value that a file holds, without nulls. Errors: InputError. */
export async function onlyValue(input: InputFile): Promise<unknown> {
  const documents = await readDocuments([input])
  if (documents.length !== 1)
    throw new InputError(`${inputName(input.file)}: holds ${documents.length} documents; a file of this sort is one`)
  return withoutNulls(documents[0]?.value)
}

/** ARM's own answer is a page; `az vm list-skus` prints the list alone. Undefined: it is neither. Errors: InputError, with what is wrong in which SKU. */
export function skusOf(file: string, json: unknown): readonly ResourceSku[] | undefined {
  const entries = isObject(json) ? json['value'] : json
  if (!Array.isArray(entries)) return undefined
  refuse(entries, sku, { file, what: 'SKU' })
  return entries as readonly ResourceSku[]
}

function refuse(
  entries: readonly unknown[],
  shape: z.ZodType,
  { file, what }: { readonly file: string; readonly what: string },
): void {
  const problem = problemOf(list(shape), entries)
  if (problem === undefined) return
  const [at, ...path] = problem.path
  const place = path.length === 0 ? '' : `${pathText(path)} `
  throw new InputError(`${file}: ${what} [${at}]: ${place}${valueText(problem.value)}; ${problem.remedy}`)
}

/** The one region that a file's SKUs are of. Errors: InputError. */
export function regionOf(file: string, skus: readonly ResourceSku[]): string {
  const regions = new Set(skus.flatMap(({ locations = [] }) => locations.map((name) => name.toLowerCase())))
  const [region] = regions
  if (region !== undefined && regions.size === 1) return region
  const found = regions.size === 0 ? 'no region' : `${regions.size} regions`
  throw new InputError(
    `${file}: its SKUs name ${found} in locations; give those of one (az vm list-skus --location REGION)`,
  )
}

type PricedItem = PriceItem & { readonly armRegionName?: string }

/** What the files say of a region's prices. Errors: InputError, also where they say nothing of it. */
export async function readPrices(files: readonly InputFile[], region: string): Promise<PriceList> {
  const pages = (await Promise.all(files.map(pricePages))).flat()
  if (pages.length > 0 && pages.every(({ isLast }) => !isLast))
    throw new InputError(
      `${files.map(({ file }) => inputName(file)).join(', ')}: NextPageLink: names a page that is missing, so the list is not whole; add the pages that follow, or leave out --prices to have them fetched`,
    )
  const items = pages.flatMap((page) => page.items)
  const prices = pricesOf(items.filter(({ armRegionName = region }) => armRegionName === region))
  if (prices.size === 0)
    throw new InputError(`${files.map(({ file }) => inputName(file)).join(', ')}: holds no price of region ${region}`)
  return prices
}

interface PricePage {
  readonly items: readonly PricedItem[]
  /** Whether no page follows. */
  readonly isLast: boolean
}

async function pricePages(input: InputFile): Promise<readonly PricePage[]> {
  const json = await onlyValue(input)
  const pages = Array.isArray(json) ? json : [json]
  return pages.map((page: unknown): PricePage => {
    const items: unknown = isObject(page) ? (page['Items'] ?? [page]) : undefined
    if (Array.isArray(items)) {
      refuse(items, priceItem, { file: inputName(input.file), what: 'price' })
      return { items: items as readonly PricedItem[], isLast: !(isObject(page) && page['NextPageLink']) }
    }
    throw new InputError(`${inputName(input.file)}: is not an answer of the retail prices API; it has a list Items`)
  })
}

/** The defaults of Joiner's own configuration; the rest of it has no say in what types there are. */
export const clusterSettings: Pick<AzureConfig, 'subnetId' | 'networkPlugin' | 'networkPluginMode'> = {
  subnetId: '',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
}

/** A node class that says nothing. */
export const plainNodeClass: NodeClass = {
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
