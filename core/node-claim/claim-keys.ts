import { labels } from '../requirements/labels.ts'

/** A label domain whose keys no NodePool and no NodeClaim may name, except for the allowed ones. */
interface RestrictedDomain {
  readonly domain: string
  readonly allowed: readonly string[]
}

const azure = 'karpenter.azure.com'
const azureKeys = [
  'aksnodeclass',
  'sku-name',
  'sku-family',
  'sku-series',
  'sku-version',
  'sku-cpu',
  'sku-memory',
  'sku-networking-accelerated',
  'sku-storage-premium-capable',
  'sku-storage-ultra-ssd',
  'sku-storage-ephemeralos-maxsize',
  'sku-gpu-name',
  'sku-gpu-manufacturer',
  'sku-gpu-count',
  'placement-scope',
  'capacity-reservation-id',
]

const aks = 'kubernetes.azure.com'
const aksKeys = [
  'mode',
  'scalesetpriority',
  'priority',
  'fips_enabled',
  'os-sku',
  'cluster',
  'sku-cpu',
  'sku-memory',
  'ebpf-dataplane',
  'ebpf-host-routing',
  'network-policy',
  'hostedvm',
]

const within = (domain: string, names: readonly string[]) => names.map((name) => `${domain}/${name}`)

/**
 * The rules of the CRDs about label keys by domain (reference/karpenter-core.md 1.1, reference/azure-provider.md 1.7). `capacity-reservation-id` is
 * Joiner's: upstream's Azure provider has no reservations.
 */
export const restrictedDomains: readonly RestrictedDomain[] = [
  { domain: 'karpenter.sh', allowed: [labels.capacityType, labels.nodePool] },
  { domain: azure, allowed: within(azure, azureKeys) },
  { domain: aks, allowed: within(aks, aksKeys) },
]

/** Keys without a domain that AKS sets by itself. */
export const aksOwnKeys: readonly string[] = ['agentpool', 'storageprofile', 'storagetier', 'accelerator']

/** Returns why the CRD of NodeClaims refuses a requirement of this key, in the CRD's words; undefined when it does not. */
export function refusedKey(key: string): string | undefined {
  if (key === labels.hostname) return hostnameRefusal
  if (aksOwnKeys.includes(key)) return aksOwnRefusal(key)
  const owner = key.split('/')[0] ?? ''
  const restricted = restrictedDomains.find(({ domain, allowed }) => owner.endsWith(domain) && !allowed.includes(key))
  return restricted && domainRefusal(restricted.domain)
}

export const hostnameRefusal = `label "${labels.hostname}" is restricted`
export const domainRefusal = (domain: string): string => `label domain "${domain}" is restricted`
export const aksOwnRefusal = (key: string): string => `label "${key}" is restricted: AKS alone sets it`
