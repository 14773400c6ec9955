import { nodeClassNameErrors } from '../node-claim/node-names.ts'
import { parseGoDuration } from '../values/duration.ts'
import type { FieldError } from '../values/field-error.ts'
import { parseQuantity, type Quantity } from '../values/quantity.ts'
import { quoted } from '../values/texts.ts'

type Path = FieldError['path']

const millisecond = 1_000_000n
const second = 1_000_000_000n
const mebibyte = 1_048_576n * second
const maxInt32 = 2n ** 31n - 1n

/**
 * Returns errors of an AKSNodeClass that its CRD accepts: values with which a node would never join, because kubelet or the node image refuses them.
 */
export function nodeClassErrors(name: string, spec: JudgedNodeClassSpec): readonly FieldError[] {
  return [
    ...nodeClassNameErrors(name).map((message) => ({ path: ['metadata', 'name'], message })),
    ...subnetErrors(spec.vnetSubnetID),
    ...kubeletErrors(spec.kubelet),
    ...swapErrors(spec.linuxOSConfig?.swapFileSize),
    ...localDnsErrors(spec.localDNS),
  ]
}

// Azure's own rules (https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules).
const subnetId =
  /^\/subscriptions\/[-A-Za-z0-9]+\/resourceGroups\/[-\p{L}\p{N}_.()]{1,90}\/providers\/Microsoft\.Network\/virtualNetworks\/[A-Za-z0-9][-\w.]{0,79}\/subnets\/[A-Za-z0-9][-\w.]{0,79}$/iu

function subnetErrors(value: string | undefined): readonly FieldError[] {
  if (value === undefined || subnetId.test(value)) return []
  const message = `${quoted(value)} is not the id of a subnet; copy what this prints: az network vnet subnet show --query id`
  return [{ path: ['spec', 'vnetSubnetID'], message }]
}

function kubeletErrors(kubelet: JudgedNodeClassSpec['kubelet'] = {}): readonly FieldError[] {
  const { allowedUnsafeSysctls: sysctls = [], cpuCFSQuotaPeriod: period, containerLogMaxSize } = kubelet
  const at = (...path: Path) => ['spec', 'kubelet', ...path]
  return [
    ...sysctls.flatMap((text, index) => {
      const error = sysctlError(text)
      const message = `${quoted(text)} ${error}`
      return error === undefined ? [] : [{ path: at('allowedUnsafeSysctls', index), message }]
    }),
    ...(period !== undefined && !isPeriod(period)
      ? [{ path: at('cpuCFSQuotaPeriod'), message: `${quoted(period)} is not a duration from 1ms to 1s; use 100ms` }]
      : []),
    ...sizeErrors(containerLogMaxSize, at('containerLogMaxSize')),
  ]
}

/** Zero means kubelet's own period. */
function isPeriod(text: string): boolean {
  const nanoseconds = parseGoDuration(text)
  return nanoseconds !== undefined && (nanoseconds === 0n || (nanoseconds >= millisecond && nanoseconds <= second))
}

/** Nodes take the size in whole MiB, as a number of 32 bits. */
function swapErrors(value: string | undefined): readonly FieldError[] {
  const path = ['spec', 'linuxOSConfig', 'swapFileSize']
  const tooSmallOrLarge = ({ nano }: Quantity) => nano < mebibyte || nano / mebibyte > maxInt32
  return sizeErrors(value, path, tooSmallOrLarge)
}

/** The CRD accepts the suffix K, which Kubernetes does not have. */
function sizeErrors(
  value: string | undefined,
  path: Path,
  isWrong: (size: Quantity) => boolean = () => false,
): readonly FieldError[] {
  if (value === undefined) return []
  const parsed = parseQuantity(value)
  if (parsed.kind === 'quantity' && !isWrong(parsed.quantity)) return []
  return [{ path, message: `${quoted(value)} is not a size that nodes take; write it in Mi or Gi, such as 64Mi` }]
}

function localDnsErrors(localDns: JudgedNodeClassSpec['localDNS'] = {}): readonly FieldError[] {
  return (['vnetDNSOverrides', 'kubeDNSOverrides'] as const).flatMap((list) =>
    (localDns[list] ?? []).flatMap((zone, index) =>
      (['cacheDuration', 'serveStaleDuration'] as const).flatMap((field) => {
        const text = zone[field]
        const isWrong = text !== undefined && (parseGoDuration(text) ?? second ** 9n) / second > maxInt32
        const message = `${quoted(text ?? '')} is longer than a node can count; use at most 596523h`
        return isWrong ? [{ path: ['spec', 'localDNS', list, index, field], message }] : []
      }),
    ),
  )
}

// Values that kubelet accepts in allowedUnsafeSysctls (kubernetes/kubernetes, pkg/kubelet/sysctl/allowlist.go): with any other it does not start.

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const pattern = new RegExp(`^(${segment}[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)
const maxLength = 253

const namespaced = ['kernel.shm', 'kernel.msg', 'fs.mqueue.', 'net.']
const namespacedName = 'kernel.sem'

/** Returns the error in the name of an unsafe sysctl that pods may set, or in a prefix that ends in `*`; undefined when it is valid. */
function sysctlError(text: string): string | undefined {
  if (text.length > maxLength) return `has more than ${maxLength} characters; shorten it`
  if (!pattern.test(text)) return 'is no name of a sysctl; write it as net.core.somaxconn, or a prefix as net.core.*'
  const name = dotted(text).replace(/\*$/, '')
  if (name === namespacedName || namespaced.some((known) => name.startsWith(known))) return undefined
  return `is not namespaced, and kubelet does not start with it; use ${namespacedName} or names that begin with ${namespaced.join(', ')}`
}

/** Returns the name with dots between its parts. Where a slash comes first, slashes separate the parts and a dot belongs to a part. */
function dotted(text: string): string {
  if (/^[^./]*\//.exec(text) === null) return text
  return text.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'))
}

/** What of an AKSNodeClass's spec is judged here; `api/objects.ts` has all of it. Sizes and durations are Kubernetes texts. */
export interface JudgedNodeClassSpec {
  readonly vnetSubnetID?: string
  readonly kubelet?: {
    readonly allowedUnsafeSysctls?: readonly string[]
    readonly cpuCFSQuotaPeriod?: string
    readonly containerLogMaxSize?: string
  }
  readonly linuxOSConfig?: { readonly swapFileSize?: string }
  readonly localDNS?: {
    readonly vnetDNSOverrides?: readonly DnsCacheTimes[]
    readonly kubeDNSOverrides?: readonly DnsCacheTimes[]
  }
}

interface DnsCacheTimes {
  readonly cacheDuration?: string
  readonly serveStaleDuration?: string
}
