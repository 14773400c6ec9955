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
