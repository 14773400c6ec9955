/** Settings of Joiner on Azure. Parsed from the environment by `api/config.ts`. */
export interface AzureConfig {
  readonly subscriptionId: string
  readonly location: string
  readonly cloud: 'AzurePublicCloud' | 'AzureUSGovernmentCloud' | 'AzureChinaCloud'
  /** Resource group of the AKS cluster itself; empty when it is not known. */
  readonly clusterResourceGroup: string
  /** The AKS node resource group (`MC_...`), which contains VMs, NICs and disks. */
  readonly nodeResourceGroup: string
  readonly clusterName: string
  /** UID of the Namespace kube-system, which distinguishes clusters of one name; empty outside of a cluster. */
  readonly clusterUid: string
  /** Host (and port, if not 443) of the API server, without a scheme. */
  readonly clusterEndpoint: string
  /** PEM of the API server's CA, base64. */
  readonly clusterCaBundle: string
  readonly subnetId: string
  /** Namespace of AKS' ConfigMap `upcoming-maintenance-window`, with its maintenance window. */
  readonly systemNamespace: string
  /** ARM's address. Unset: the public cloud. */
  readonly armEndpoint?: string
  /** Audience of access tokens. Unset: ARM of the public cloud. */
  readonly tokenAudience?: string
  /** The retail price API. Unset: the cloud has none, and prices are estimated. */
  readonly pricesEndpoint?: string
  readonly nodeIdentities: readonly string[]
  readonly kubeletIdentityClientId: string
  readonly tenantId: string
  readonly adminUsername: string
  readonly sshPublicKey: string
  readonly networkPlugin: 'azure' | 'none'
  readonly networkPluginMode: 'overlay' | ''
  readonly networkDataplane: 'cilium' | 'azure' | ''
  readonly networkPolicy: string
  /** resourceGuid of the cluster's VNET, for overlay's node label. Errors: throws LaunchBlocked while it is unknown. */
  readonly vnetGuid?: () => string
  readonly clusterDnsServiceIp: string
  /** Share of a VM's memory that hypervisor and firmware keep, such as 0.075. */
  readonly vmMemoryOverheadPercent: number
  /** Tags of every resource, below those of the node class. */
  readonly additionalTags: Readonly<Record<string, string>>
  readonly diskEncryptionSetId?: string
  /** Set where images come from AKS' shared galleries instead of the community's; `tokenServerUrl` issues the token for their tenant. */
  readonly sharedGallery?: { readonly subscriptionId: string; readonly tokenServerUrl: string }
  /** Whether NodeClaims of AKS machines are managed, those of node auto-provisioning for instance. Unset: they are left alone. */
  readonly managesMachines?: boolean
  /** Set where nodes are made as machines of this agent pool, whose mode is `Machines`. Unset: nodes are VMs. */
  readonly makesMachines?: { readonly pool: string; readonly inBatches: boolean }
  /** Whether each VM gets AKS' billing extension, which costs one more PUT. */
  readonly billingExtension: boolean
  /** Whether Azure keeps the serial log of each VM, in storage that it manages. Unset: it does. */
  readonly bootDiagnostics?: boolean
  /** Whether sizes of families that are not known to work as nodes are chosen like others. Unset: only when nothing else fits. */
  readonly untestedSizes?: boolean
  /** Which versions of node images are used: none older than `minVersion`, none published less than `minAgeMs` ago. Unset: any. */
  readonly imageFloor?: { readonly minVersion: string; readonly minAgeMs: number }
  /** API versions by resource type in lower case, before the table of `api-versions.ts`. */
  readonly apiVersions?: ReadonlyMap<string, string>
  /** CAs that nodes trust besides Azure's own, as PEMs in base64, and an HTTP proxy. */
  readonly customCaCerts: readonly string[]
  readonly httpProxy?: {
    readonly httpProxy: string
    readonly httpsProxy: string
    readonly noProxy: readonly string[]
    /** PEM in base64. */
    readonly trustedCa?: string
  }
}
