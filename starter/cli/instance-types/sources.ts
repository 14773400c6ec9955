import type { ResourceSku } from '@azure/arm-compute'
import type { AzureConfig } from '../../../activities/azure/azure-config.ts'
import type { Demand } from '../../../activities/azure/capacity/quota-accounting.ts'
import { modelledPrices, type Prices } from '../../../activities/azure/catalogue/pricing.ts'
import { decodeNodeClass, decodeNodeOverlay } from '../../../activities/kubernetes/cache/decode.ts'
import type { NodeClass } from '../../../api/objects.ts'
import { valueText } from '../../../api/shapes/shape.ts'
import type { NodeOverlay } from '../../../core/objects.ts'
import { pathText } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { InputError } from '../../document/reported-error.ts'
import { onlyValue, readPrices, regionOf, skusOf } from '../../files/azure-files.ts'
import type { Json } from '../../files/cluster-objects.ts'
import { type InputFile, inputName } from '../../files/input-file.ts'
import { type Manifest, manifestsOf, placeOf, readDocuments } from '../../files/source.ts'
import { validateObject } from '../validate/validate-object.ts'

/** What a region sells, wherever that was read. */
export interface RegionSale {
  readonly region: string
  readonly skus: readonly ResourceSku[]
  readonly prices: Prices
  /** Whether the subscription's quota leaves room for a VM. */
  readonly hasRoom: (demand: Demand) => boolean
  /** Settings of the cluster that decide about types. */
  readonly cluster: Pick<AzureConfig, 'networkPlugin' | 'networkPluginMode' | 'vmMemoryOverheadPercent'>
  /** What a reader should know about where this comes from. */
  readonly remarks: readonly string[]
}

/** The defaults of Joiner's own settings. */
const plainCluster: RegionSale['cluster'] = {
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
}

/** Reads everything from files. Errors: InputError. */
export async function readFiles(
  catalogueFile: InputFile,
  priceFiles: readonly InputFile[],
  asked: string | undefined,
): Promise<RegionSale> {
  const catalogue = inputName(catalogueFile.file)
  const skus = skusOf(catalogue, await onlyValue(catalogueFile))
  if (skus === undefined)
    throw new InputError(`${catalogue}: holds no resource SKUs; give ARM's answer, or that of az vm list-skus -o json`)
  const region = regionOf(catalogue, skus)
  if (asked !== undefined && asked.toLowerCase() !== region)
    throw new InputError(`--region ${asked}: ${catalogue} holds the SKUs of ${region}; leave the option out`)
  return {
    region,
    skus,
    prices: priceFiles.length === 0 ? modelledPrices : await readPrices(priceFiles, region),
    hasRoom: () => true,
    cluster: plainCluster,
    remarks: priceFiles.length === 0 ? ['prices are modelled; add --prices FILE for real ones'] : [],
  }
}

/** The AKSNodeClass of a file, as the API server would take it. Errors: InputError. */
export async function readNodeClass(input: InputFile): Promise<NodeClass> {
  const classes = await ofKind(input, 'AKSNodeClass')
  const [found] = classes
  if (found === undefined || classes.length > 1)
    throw new InputError(`${inputName(input.file)}: holds ${classes.length} AKSNodeClasses; give one`)
  return decodeNodeClass(checked(found, 'karpenter.azure.com/v1beta1'))
}

/** The NodeOverlays of files, as the API server would take them. Errors: InputError. */
export async function readNodeOverlays(inputs: readonly InputFile[]): Promise<readonly NodeOverlay[]> {
  const found = await Promise.all(
    inputs.map(async (input) => {
      const overlays = await ofKind(input, 'NodeOverlay')
      if (overlays.length === 0) throw new InputError(`${inputName(input.file)}: holds no NodeOverlay`)
      return overlays
    }),
  )
  const overlays = found.flat().map((manifest) => decodeNodeOverlay(checked(manifest, 'karpenter.sh/v1alpha1')))
  const names = overlays.map(({ metadata }) => metadata.name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new InputError(`NodeOverlay "${twice}" is given twice; leave one out`)
  return overlays
}

async function ofKind(input: InputFile, kind: string): Promise<readonly Manifest[]> {
  return (await readDocuments([input])).flatMap(manifestsOf).filter(({ json }) => json['kind'] === kind)
}

function checked({ json, document, path }: Manifest, apiVersion: string): Json {
  const kind = String(json['kind'])
  const result = validateObject(json)
  if (result.kind === 'skipped')
    throw new InputError(
      `${placeOf(document, [...path, 'apiVersion'])}: ${kind}: apiVersion ${valueText(json['apiVersion'])}; use ${apiVersion}`,
    )
  const [error] = result.errors
  const metadata = isObject(json['metadata']) ? json['metadata'] : {}
  if (error !== undefined) {
    const subject = `${kind} "${printableStart(String(metadata['name']), 100)}"`
    const place = placeOf(document, [...path, ...error.path])
    throw new InputError(`${place}: ${subject}: ${pathText(error.path)}: ${error.message}`)
  }
  return { ...json, metadata: { uid: '', resourceVersion: '', creationTimestamp: '', ...metadata } }
}
