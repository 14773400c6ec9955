import { aksLabels, azureLabels, labels } from '../requirements/labels.ts'

/** A label domain whose keys no NodePool and no NodeClaim may name, except for the allowed ones. */
interface RestrictedDomain {
  readonly domain: string
  readonly allowed: readonly string[]
}

/** The rules of the CRDs about label keys by domain (reference/karpenter-core.md 1.1, reference/azure-provider.md 1.7). */
export const restrictedDomains: readonly RestrictedDomain[] = [
  { domain: 'karpenter.sh', allowed: [labels.capacityType, labels.nodePool] },
  { domain: 'karpenter.azure.com', allowed: azureLabels },
  { domain: 'kubernetes.azure.com', allowed: aksLabels },
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
