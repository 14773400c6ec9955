import type { AzureConfig } from '../../../activities/azure/azure-config.ts'
import { InstanceTypeLists, refusedByNodeClass } from '../../../activities/azure/catalogue/instance-types.ts'
import { osDiskPlacement } from '../../../activities/azure/catalogue/os-disk.ts'
import { parseSku, type VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { type NodeClassSettings, nodeClassSettings } from '../../../activities/azure/node-class/node-class-settings.ts'
import { cheapestPrice, compatibleOfferings, type InstanceType, typeMatches } from '../../../core/instance-type.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { sortedValues } from '../../../core/requirements/requirement.ts'
import { type Requirements, requirements } from '../../../core/requirements/requirements.ts'
import { isForPrograms, note, print } from '../../document/print.ts'
import { InputError } from '../../document/reported-error.ts'
import { counted, few } from '../../document/words.ts'
import { plainNodeClass } from '../../files/azure-files.ts'
import type { InputFile } from '../../files/input-file.ts'
import { parseSelector } from './selector.ts'
import type { RegionSale } from './sources.ts'
import { byReason, type ExcludedSize, type ListedType, typesTable } from './table.ts'

/** Options of the command line that name no file. */
export interface InstanceTypesSettings {
  readonly region?: string
  readonly requirements: readonly string[]
  readonly limit?: number
  readonly excluded?: boolean
  readonly output: 'table' | 'wide' | 'name' | 'json' | 'yaml'
}

/** What the command line asks for, with its files. */
interface InstanceTypesInput {
  readonly settings: InstanceTypesSettings
  readonly catalogue?: InputFile
  readonly prices: readonly InputFile[]
  readonly nodeClass?: InputFile
  readonly overlays: readonly InputFile[]
}

/** Runs the command. Returns its exit status. Errors: InputError. */
export async function runInstanceTypes(input: InstanceTypesInput): Promise<number> {
  const { settings } = input
  const wanted = requirements(settings.requirements.flatMap(parseSelector))
  const nodeClass = input.nodeClass === undefined ? plainNodeClass : await readNodeClass(input.nodeClass)
  const sale = await readSale(input)
  const plain = sizesOf(sale, nodeClassSettings(nodeClass, { subnetId: '', ...sale.cluster } as AzureConfig))
  const { all, remarks: ofOverlays } = await overlaid(plain, input.overlays)
  note(...sale.remarks, ...ofOverlays)
  await answer(all, wanted, settings)
  return 0
}

async function readNodeClass(file: InputFile) {
  return (await import('./sources.ts')).readNodeClass(file)
}

async function readSale({ catalogue, prices, settings: { region } }: InstanceTypesInput): Promise<RegionSale> {
  if (catalogue !== undefined) return (await import('./sources.ts')).readFiles(catalogue, prices, region)
  return (await import('./azure-source.ts')).readAzure(process.env, prices, region)
}

interface AllSizes {
  readonly types: readonly InstanceType[]
  readonly sizes: ReadonlyMap<string, VmSize>
  readonly excluded: readonly ExcludedSize[]
  readonly nodeClass: NodeClassSettings
}

/** What becomes of each VM size of the region. */
function sizesOf({ region, skus, prices, hasRoom, cluster }: RegionSale, nodeClass: NodeClassSettings): AllSizes {
  const sizes = new Map<string, VmSize>()
  const excluded: ExcludedSize[] = []
  for (const sku of skus) {
    if (sku.resourceType !== 'virtualMachines') continue
    const parsed = parseSku(sku, region)
    const reason = parsed.kind === 'size' ? refusedByNodeClass(parsed.size, nodeClass) : parsed.reason
    if (reason !== undefined) excluded.push({ name: sku.name ?? '', reason })
    else if (parsed.kind === 'size') sizes.set(parsed.size.name, parsed.size)
  }
  if (sizes.size + excluded.length === 0)
    throw new InputError(`region ${region}: there is no VM size in it; check the name`)
  const lists = new InstanceTypeLists({
    region,
    nodeClass,
    memoryOverheadPercent: cluster.vmMemoryOverheadPercent,
    nodeResourceGroup: '',
  })
  const types = lists.list({
    sizes: sizes.values(),
    prices,
    isMarked: () => false,
    hasQuota: (family, vCpus) => hasRoom({ family, vCpus, capacityType: 'on-demand' }),
    hasSpotQuota: (family, vCpus) => hasRoom({ family, vCpus, capacityType: 'spot' }),
  })
  return { sizes, excluded, types, nodeClass }
}

/** The types as NodeOverlays change them for a NodePool without labels and requirements of its own. */
async function overlaid(all: AllSizes, files: readonly InputFile[]) {
  if (files.length === 0) return { all, remarks: [] }
  const [{ readNodeOverlays }, { overlaidPools }] = await Promise.all([
    import('./sources.ts'),
    import('../../files/taking-part.ts'),
  ])
  const pool = { name: '', labels: {}, types: all.types }
  const { instanceTypes, remarks } = overlaidPools(await readNodeOverlays(files), [pool], wellKnownLabels)
  return { all: { ...all, types: instanceTypes.get('') ?? [] }, remarks }
}

async function answer(all: AllSizes, wanted: Requirements, settings: InstanceTypesSettings): Promise<void> {
  const { output, limit = Number.POSITIVE_INFINITY } = settings
  const format = output === 'name' ? 'table' : output
  if (settings.excluded === true) {
    const excluded = byReason(all.excluded)
    const rows = excluded.map(({ name, reason }) => [name, reason])
    return print(format, { json: excluded, document: () => [[{ header: ['NAME', 'REASON'], rows }]] })
  }
  const listed = inPriceOrder(all, wanted)
  note(...remarks(all, wanted, listed))
  const shown = listed.slice(0, limit)
  if (shown.length < listed.length) note(`${counted(listed.length - shown.length, 'more type')} not shown`)
  const json = isForPrograms(format) ? (await import('./table.ts')).catalogJson(shown) : undefined
  await print(format, {
    json,
    document: () => [output === 'name' ? shown.map(({ type }) => type.name) : [typesTable(shown, output === 'wide')]],
  })
}

function inPriceOrder({ types, sizes, nodeClass }: AllSizes, wanted: Requirements): readonly ListedType[] {
  const listed = types.flatMap((type): readonly ListedType[] => {
    const size = sizes.get(type.name)
    if (size === undefined || !typeMatches(type, wanted)) return []
    const offerings = compatibleOfferings(type, wanted)
    if (offerings.length === 0) return []
    const placement = osDiskPlacement(size, nodeClass) ?? ('Managed' as const)
    const osDisk = { placement, sizeGib: nodeClass.spec.osDiskSizeGB }
    return [{ type, size, osDisk, offerings, price: cheapestPrice(type, wanted) }]
  })
  return listed.sort(byPrice)
}

function byPrice(a: ListedType, b: ListedType): number {
  const difference = (a.price ?? Number.POSITIVE_INFINITY) - (b.price ?? Number.POSITIVE_INFINITY)
  if (!Number.isNaN(difference) && difference !== 0) return difference
  return a.type.name < b.type.name ? -1 : 1
}

/** A mistyped label or value excludes nothing, or everything, without a word: it is reported. */
function remarks(
  { types, excluded }: AllSizes,
  wanted: Requirements,
  listed: readonly ListedType[],
): readonly string[] {
  const reported: string[] = []
  for (const key of wanted.keys()) {
    const known = new Set(types.flatMap((type) => sortedValuesOf(type.requirements, key)))
    if (!types.some((type) => type.requirements.has(key)))
      reported.push(
        `${key}: no instance type has this label, so it excludes none${wellKnownLabels.has(key) ? '' : '; a node has it if its NodePool sets it'}`,
      )
    else if (listed.length === 0)
      reported.push(`${key}: there is ${few([...known].sort(byText), 20) || 'no value of it'}`)
  }
  if (listed.length === 0)
    reported.push(
      `none of ${counted(types.length, 'type')} meets the requirements; ${counted(excluded.length, 'size')} excluded (see --excluded)`,
    )
  return reported
}

function sortedValuesOf(sets: Requirements, key: string): readonly string[] {
  const set = sets.get(key)
  return set === undefined ? [] : sortedValues(set)
}

const byText = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })
