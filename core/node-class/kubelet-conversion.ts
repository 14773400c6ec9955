import { parseGoDuration } from '../values/duration.ts'
import { canonicalIp } from '../values/ip.ts'
import { isDeeper, mostLevels } from '../values/json.ts'
import { compareQuantity, parseQuantity, zero } from '../values/quantity.ts'
import { shortened } from '../values/texts.ts'

/** Annotation in which the conversion keeps the `kubelet` of a v1beta1 template, as JSON (Karpenter 1.0). */
export const kubeletAnnotation = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion'

type Texts = Readonly<Record<string, string>>

/** Settings of kubelet as v1beta1 had them. Amounts, thresholds and durations are Kubernetes texts. */
export interface KubeletConversion {
  readonly clusterDNS?: readonly string[]
  readonly maxPods?: number
  readonly podsPerCore?: number
  readonly systemReserved?: Texts
  readonly kubeReserved?: Texts
  readonly evictionHard?: Texts
  readonly evictionSoft?: Texts
  readonly evictionSoftGracePeriod?: Texts
  readonly evictionMaxPodGracePeriod?: number
  readonly imageGCHighThresholdPercent?: number
  readonly imageGCLowThresholdPercent?: number
  readonly cpuCFSQuota?: boolean
}

type ParsedKubelet =
  | { readonly kind: 'none' }
  | { readonly kind: 'kubelet'; readonly kubelet: KubeletConversion }
  | { readonly kind: 'error'; readonly errors: readonly string[] }

/** Returns undefined for a valid value, else a text of what it should be. */
type Check = (value: unknown) => string | undefined

const resourceNames: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pid'])
const signals: ReadonlySet<string> = new Set([
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
])

const maxInt32 = 2 ** 31 - 1
const wholeNumber =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `a whole number from ${least} to ${most}`

const texts =
  (keys: ReadonlySet<string>, what: string, isValid: (text: string) => boolean): Check =>
  (value) => {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
    const ok =
      isMap && Object.entries(value).every(([key, text]) => keys.has(key) && typeof text === 'string' && isValid(text))
    return ok ? undefined : `an object of ${what} under the keys ${[...keys].join(', ')}`
  }

const isAmount = (text: string) => {
  const parsed = parseQuantity(text)
  return parsed.kind === 'quantity' && compareQuantity(parsed.quantity, zero) >= 0
}
const isPercent = (text: string) => /^(\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%$/.test(text)
const isThreshold = (text: string) => text === '' || isPercent(text) || isAmount(text)

const reserved = texts(resourceNames, 'amounts such as "100m" or "1Gi"', isAmount)
const thresholds = texts(signals, 'thresholds such as "500Mi" or "10%"', isThreshold)
const percentage = wholeNumber(0, 100)

const checks: { readonly [K in keyof Required<KubeletConversion>]: Check } = {
  clusterDNS: (value) =>
    Array.isArray(value) && value.every((one) => typeof one === 'string' && canonicalIp(one) !== undefined)
      ? undefined
      : 'a list of IP addresses',
  maxPods: wholeNumber(0, maxInt32),
  podsPerCore: wholeNumber(0, maxInt32),
  systemReserved: reserved,
  kubeReserved: reserved,
  evictionHard: thresholds,
  evictionSoft: thresholds,
  evictionSoftGracePeriod: texts(signals, 'durations such as "1m30s"', (text) => (parseGoDuration(text) ?? -1n) >= 0n),
  evictionMaxPodGracePeriod: wholeNumber(0, maxInt32),
  imageGCHighThresholdPercent: percentage,
  imageGCLowThresholdPercent: percentage,
  cpuCFSQuota: (value) => (typeof value === 'boolean' ? undefined : 'true or false'),
}

/**
 * Parses the kubelet settings in the annotations of a NodePool or NodeClaim. They replace the node class' own, as in Karpenter 1.0, which also
 * ignores unknown fields and nulls. Errors name annotation, field, value and remedy.
 */
export function parseKubelet(annotations: Readonly<Record<string, string>>): ParsedKubelet {
  const text = annotations[kubeletAnnotation]
  if (text === undefined) return { kind: 'none' }
  const json = parsedJson(text)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    const remedy = 'write the JSON object that v1beta1 had as kubelet, or remove the annotation'
    return { kind: 'error', errors: [`metadata.annotations[${kubeletAnnotation}] ${shortened(text)}: ${remedy}`] }
  }
  const given = Object.entries(json).filter(([field, value]) => Object.hasOwn(checks, field) && value !== null)
  const kubelet = Object.fromEntries(given) as KubeletConversion
  const errors = given.flatMap(([field, value]) => {
    const wanted = checks[field as keyof KubeletConversion](value)
    return wanted === undefined ? [] : [fieldError(field, value, wanted)]
  })
  if (errors.length === 0) errors.push(...relationErrors(kubelet))
  return errors.length === 0 ? { kind: 'kubelet', kubelet } : { kind: 'error', errors }
}

/** Returns the errors of `parseKubelet`, for the checks of a NodePool at run time. */
export function kubeletErrors(annotations: Readonly<Record<string, string>>): readonly string[] {
  const parsed = parseKubelet(annotations)
  return parsed.kind === 'error' ? parsed.errors : []
}

/** Returns the settings when there are valid ones. */
export function kubeletConversion(annotations: Readonly<Record<string, string>>): KubeletConversion | undefined {
  const parsed = parseKubelet(annotations)
  return parsed.kind === 'kubelet' ? parsed.kubelet : undefined
}

function relationErrors(kubelet: KubeletConversion): readonly string[] {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = kubelet
  const { evictionSoft = {}, evictionSoftGracePeriod = {} } = kubelet
  return [
    ...(high !== undefined && low !== undefined && high <= low
      ? [fieldError('imageGCHighThresholdPercent', high, `more than imageGCLowThresholdPercent ${low}`)]
      : []),
    ...missing(evictionSoft, evictionSoftGracePeriod).map((signal) =>
      fieldError(
        'evictionSoftGracePeriod',
        evictionSoftGracePeriod,
        `with an entry for ${signal}, as evictionSoft has`,
      ),
    ),
    ...missing(evictionSoftGracePeriod, evictionSoft).map((signal) =>
      fieldError('evictionSoft', evictionSoft, `with an entry for ${signal}, as evictionSoftGracePeriod has`),
    ),
  ]
}

const missing = (from: Texts, other: Texts) => Object.keys(from).filter((key) => !Object.hasOwn(other, key))

function fieldError(field: string, value: unknown, wanted: string): string {
  return `metadata.annotations[${kubeletAnnotation}]: ${field} ${shortened(JSON.stringify(value))} must be ${wanted}`
}

function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isDeeper(value, mostLevels) ? undefined : value
  } catch {
    return undefined
  }
}
