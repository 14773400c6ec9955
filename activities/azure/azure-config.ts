/** Where and how Joiner works on Azure. Parsed from the environment by `api/config.ts`. */
export interface AzureConfig {
  readonly subscriptionId: string
  readonly location: string
  readonly cloud: 'AzurePublicCloud' | 'AzureUSGovernmentCloud' | 'AzureChinaCloud'
  /** Resource group of the AKS cluster itself; empty when it is not known. */
  readonly clusterResourceGroup: string
  /** The AKS node resource group (`MC_...`): VMs, NICs and disks live there. */
  readonly nodeResourceGroup: string
  readonly clusterName: string
  /** UID of the Namespace kube-system, which tells clusters of one name apart; empty outside of a cluster. */
  readonly clusterUid: string
  /** Host (and port, if not 443) of the API server, without a scheme. */
  readonly clusterEndpoint: string
  /** PEM of the API server's CA, base64. */
  readonly clusterCaBundle: string
  readonly subnetId: string
  /** Where AKS says when its maintenance window is: the namespace of the ConfigMap `upcoming-maintenance-window`. */
  readonly systemNamespace: string
  /** ARM's address; absent: the public cloud. */
  readonly armEndpoint?: string
  /** For whom access tokens are; absent: ARM of the public cloud. */
  readonly tokenAudience?: string
  /** The retail price API; absent: the cloud has none, and prices are estimated. */
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
  /** resourceGuid of the cluster's VNET, for overlay's node label. Errors: throws LaunchBlocked while nobody knows it. */
  readonly vnetGuid?: () => string
  readonly clusterDnsServiceIp: string
  /** Share of a VM's memory that hypervisor and firmware keep, such as 0.075. */
  readonly vmMemoryOverheadPercent: number
  /** Tags of every resource, below those of the node class. */
  readonly additionalTags: Readonly<Record<string, string>>
  /** Disk encryption set of the OS disks. */
  readonly diskEncryptionSetId?: string
  /** Images come from AKS' shared galleries instead of the community's; `tokenServerUrl` hands out the token for their tenant. */
  readonly sharedGallery?: { readonly subscriptionId: string; readonly tokenServerUrl: string }
  /** Whether each VM gets AKS' billing extension, which costs one more PUT. */
  readonly billingExtension: boolean
  /** What nodes trust and go through besides Azure's own: PEMs of CAs in base64, and an HTTP proxy. */
  readonly customCaCerts: readonly string[]
  readonly httpProxy?: {
    readonly httpProxy: string
    readonly httpsProxy: string
    readonly noProxy: readonly string[]
    /** PEM in base64. */
    readonly trustedCa?: string
  }
  /** How many processes with the azure role share the subscription's request budgets. */
  readonly azureReplicas: number
}
