/** The parts of a VM size's name, such as `Standard_NC24ads_A100_v4`. */
export interface VmSizeName {
  /** The letter that a series begins with: `N`. */
  readonly family: string
  /** Further capitals: `C`; empty where there are none. */
  readonly subfamily: string
  readonly vCpus: number
  /** vCPUs in use in a size with constrained cores, `8` in `DS14-8_v2`. */
  readonly constrainedVCpus?: number
  /** Small letters after the vCPUs: `ads`. */
  readonly features: string
  /** `A100`, where the name has one. */
  readonly accelerator?: string
  /** `v4`; empty in the first generation. */
  readonly version: string
  readonly isPromo: boolean
  /** Whether it can hold confidential VMs of its own (`_cc_`). */
  readonly isConfidentialParent: boolean
}

// Family, sub-family, vCPUs, constrained cores, features, accelerator, parent of confidential VMs, cores in use (M416s_8_v2), version,
// promotion (reference/azure-provider.md 3.2). MI300X does not count as an accelerator, as upstream: those sizes have no label sku-gpu-name.
const grammar =
  /^(?<family>[A-Z])(?<subfamily>[A-Z]{0,2}?)(?<vCpus>\d+)(?:-(?<constrained>\d+))?(?<features>[abcdefilmnostpPr]*|C+|NP)_?(?:MI300X_)?(?:(?:xl_)?(?<accelerator>(?!MI300X)[A-Z]+\d+[A-Z]*)_?)?(?<parent>_?cc_)?(?:_?\d+_)?(?<version>v[1-9])?(?<promo>_Promo)?$/

/** Longest name that is parsed: Azure's own have some 40 characters, and the grammar's time grows with the square of the length. */
const longestName = 100

/** Parses a size's name. Undefined when it is not understood, so that no feature is guessed. */
export function parseVmSizeName(name: string): VmSizeName | undefined {
  if (name.length > longestName) return undefined
  const parts = grammar.exec(name.replace(/^(Standard|Basic)_/, ''))?.groups
  if (parts === undefined) return undefined
  const { family = '', subfamily = '', vCpus, constrained, features = '', accelerator, version = '' } = parts
  return {
    family,
    subfamily,
    vCpus: Number(vCpus),
    ...(constrained === undefined ? {} : { constrainedVCpus: Number(constrained) }),
    features,
    ...(accelerator === undefined ? {} : { accelerator }),
    version,
    isPromo: parts['promo'] !== undefined,
    isConfidentialParent: parts['parent'] !== undefined,
  }
}

/** Returns the series of a size, such as `NCads_v4`: the value of `karpenter.azure.com/sku-series`. */
export function seriesOf({ family, subfamily, features, version }: VmSizeName): string {
  return `${family}${subfamily}${features}${version === '' ? '' : `_${version}`}`
}

/** Returns the generation for the label `karpenter.azure.com/sku-version`: `4`. A size without one is of the first. */
export function generationOf({ version }: VmSizeName): string {
  return version === '' ? '1' : version.slice(1)
}

/** Returns whether a size is confidential. These need images and settings of their own, which AKS nodes do not have. */
export function isConfidential({ family, subfamily }: VmSizeName): boolean {
  return subfamily.startsWith('C') && (family === 'D' || family === 'E')
}

const unfit: ReadonlySet<string> = new Set(
  (
    'Standard_A0 Standard_A1 Standard_A1_v2 Standard_B1s Standard_B1ms Standard_F1 Standard_F1s ' +
    'Basic_A0 Basic_A1 Basic_A2 Basic_A3 Basic_A4 Standard_E64i_v3 Standard_E64is_v3'
  ).split(' '),
)

/** Returns whether AKS accepts a size for no node at all, whatever it contains (reference/azure-provider.md 3.2). */
export function isUnfit(name: string): boolean {
  return unfit.has(name)
}
