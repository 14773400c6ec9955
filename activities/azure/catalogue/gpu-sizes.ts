/** Operating systems of node images that have a driver for a GPU size. */
type GpuImage = 'Ubuntu' | 'AzureLinux2' | 'AzureLinux3'

export interface GpuSize {
  readonly vendor: 'nvidia' | 'amd'
  readonly images: readonly GpuImage[]
}

const azureLinux3: readonly GpuImage[] = ['Ubuntu', 'AzureLinux3']
const everywhere: readonly GpuImage[] = ['Ubuntu', 'AzureLinux2', 'AzureLinux3']
const ubuntuOnly: readonly GpuImage[] = ['Ubuntu']

// GPU sizes that AKS node images support (reference/azure-provider.md 3.2); {a,b} stands for one name each.
const rows: readonly (readonly [GpuSize['vendor'], readonly GpuImage[], string])[] = [
  ['nvidia', azureLinux3, 'nc{8,16,32}ads_a10_v4 nv{6,12,18,36,72}ads_a10_v5 nv36adms_a10_v5'],
  ['nvidia', azureLinux3, 'nc{24,48,96}ads_a100_v4 nd{112,120}asr_a100_v4 nd{96,112,120}amsr_a100_v4 nd96asr_v4'],
  ['nvidia', azureLinux3, 'nd96ams_v4 nd96ams_a100_v4 nd96ams_a100_flex_v4 nd96ams{f,rf}_a100_v4'],
  ['nvidia', azureLinux3, 'nc40ads_h100_v5 nc80adis_h100_v5 nd96is{,r,f,rf}_h{100,200}_v5 nd96is_{noib,flex}_h100_v5'],
  ['nvidia', everywhere, 'nc{4,8,16,64}as_t4_v3 nc{6,12,24}s_v3 nc24rs_v3 nd40rs_v2 nd40s_v3'],
  ['nvidia', ubuntuOnly, 'nc{6,12,24,24r} nc{6,12,24}s_v2 nc24rs_v2 nd{6,12,24}s nd24rs'],
  ['nvidia', ubuntuOnly, 'nv{6,12,24,24r} nv{12,24,48}s_v3 nd128isr_ndr_gb200_v6 nd128isr_gb300_v6'],
  ['nvidia', ubuntuOnly, 'nc{24,36,72,144,288}lds_xl_rtxpro6000bse_v6 nc{36,72,144,288}ds_xl_rtxpro6000bse_v6'],
  ['amd', ubuntuOnly, 'nv{4,8,12,24}ads_v710_v5 nv28adms_v710_v5 nd96is{,r}_mi300x_v5'],
]

const table: ReadonlyMap<string, GpuSize> = new Map(
  rows.flatMap(([vendor, images, names]) =>
    names
      .split(' ')
      .flatMap(expand)
      .map((name) => [name, { vendor, images }]),
  ),
)

function expand(pattern: string): readonly string[] {
  const match = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern)
  if (match === null) return [pattern]
  const [, before = '', choices = '', after = ''] = match
  return choices.split(',').flatMap((choice) => expand(`${before}${choice}${after}`))
}

/** Returns whether a node can install the GPU's driver at boot: only NVIDIA's has an installer. */
export function hasInstallableDriver({ vendor }: GpuSize): boolean {
  return vendor === 'nvidia'
}

/** Returns what AKS supports of a GPU size; undefined when it has no GPU, or none that node images drive. */
export function gpuSize(skuName: string): GpuSize | undefined {
  return table.get(
    skuName
      .toLowerCase()
      .replace(/^standard_/, '')
      .replace(/_promo$/, ''),
  )
}
