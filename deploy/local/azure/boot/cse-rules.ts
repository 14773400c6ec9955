// How a variable of the provisioning scripts follows from the node configuration.
import type { NodeConfig } from './node-config.ts'

export type Rule = (config: NodeConfig) => string

export const fixed =
  (value: string): Rule =>
  () =>
    value
export const text =
  (path: string, absent = ''): Rule =>
  (config) =>
    config.text(path) || absent
export const number =
  (path: string, absent = 0): Rule =>
  (config) =>
    String(config.number(path, absent))
export const flag =
  (path: string, absent = false): Rule =>
  (config) =>
    String(config.flag(path, absent))
export const isSet =
  (...paths: readonly string[]): Rule =>
  (config) =>
    String(paths.some((path) => config.text(path) !== ''))
/** What an enumeration's name says after its prefix, in the words of the scripts. */
export const word =
  (path: string, prefix: string, words: readonly string[]): Rule =>
  (config) => {
    const value = config.text(path).slice(prefix.length).toLowerCase()
    return words.includes(value) ? value : ''
  }
export const joined =
  (path: string, separator = ','): Rule =>
  (config) =>
    config.list(path).join(separator)
export const sortedPairs =
  (path: string, separator: string, isDropped: (key: string, config: NodeConfig) => boolean = () => false): Rule =>
  (config) => {
    const map = config.message(path) ?? {}
    return Object.keys(map)
      .filter((key) => !isDropped(key, config))
      .sort()
      .map((key) => `${key}=${map[key] as string}`)
      .join(separator)
  }

/** A driver as the node image knows it, in `components.json`. */
interface GpuDriver {
  readonly type: string
  readonly version: string
  readonly image: string
}

const drivers: readonly (readonly [sizes: RegExp, driver: GpuDriver])[] = [
  [/^standard_nc\d+l?ds_xl_rtxpro6000bse_v6$/, { type: 'grid-v20', version: '595.58.03', image: '20260609172331' }],
  [/^standard_n(v\d+ad(m)?s_a10_v5|c\d+ads_a10_v4)$/, { type: 'grid', version: '570.211.01', image: '20260522192315' }],
  [/^standard_nc(?!.*_v)/, { type: 'cuda', version: '470.82.01', image: '20260629214430' }],
  [/^/, { type: 'cuda-lts', version: '580.159.04', image: '20260629214430' }],
]

/** The NVIDIA driver of a size. Sizes without a GPU have one as well; nothing on the node uses it (reference/bootstrap.md 7). */
export function gpuDriver(vmSize: string): GpuDriver {
  const size = vmSize.toLowerCase()
  const found = drivers.find(([sizes]) => sizes.test(size))
  if (found === undefined) throw new Error(`no driver for VM size "${vmSize}"`)
  return found[1]
}

/** Sizes of eight boards, whose links need NVIDIA's fabric manager. */
const fabricSizes =
  /^standard_nd(96asr_v4|96ams_v4|96ams_a100_v4|(112|120)asr_a100_v4|(96|112|120)amsr_a100_v4|(46|48|50)s_h100_v5|(92|96|100)isr?_h100_v5|96is(r|rf)?_h200_v5)$/

/** Whether the size's boards are linked through switches. */
export function needsFabricManager(vmSize: string): boolean {
  return fabricSizes.test(vmSize.toLowerCase())
}

export function isCustomCloud(config: NodeConfig): boolean {
  return config.text('custom_cloud_config.custom_cloud_env_name').toLowerCase() === 'akscustom'
}

const clouds = [
  { name: 'AzureChinaCloud', regions: /^china/, arm: 'https://management.chinacloudapi.cn/' },
  {
    name: 'AzureGermanCloud',
    regions: /^(germanynortheast|germanycentral)$/,
    arm: 'https://management.microsoftazure.de/',
  },
  { name: 'AzureUSGovernmentCloud', regions: /^(usgov|usdod)/, arm: 'https://management.usgovcloudapi.net/' },
  { name: 'AzurePublicCloud', regions: /^/, arm: 'https://management.azure.com/' },
] as const

function cloudAt(config: NodeConfig): (typeof clouds)[number] {
  const region = config.text('cluster_config.location').replaceAll(/\s/g, '').toLowerCase()
  return clouds.find(({ regions }) => regions.test(region)) ?? clouds[3]
}

export function cloudOf(config: NodeConfig): string {
  return cloudAt(config).name
}

export function armEndpoint(config: NodeConfig): string {
  if (!isCustomCloud(config)) return cloudAt(config).arm
  try {
    const content = config.text('custom_cloud_config.custom_env_json_content')
    const environment = JSON.parse(Buffer.from(content, 'base64').toString()) as {
      readonly resourceManagerEndpoint?: string
    }
    return environment.resourceManagerEndpoint ?? ''
  } catch {
    return ''
  }
}

/** Seconds; what lies outside of what is allowed counts as not said. */
export function timeout(config: NodeConfig): string {
  const seconds = config.number('cse_timeout')
  return String(seconds >= 1 && seconds <= 21_600 ? seconds : 900)
}
