/** Label keys with a meaning to Kubernetes or Karpenter. */
export const labels = {
  nodePool: 'karpenter.sh/nodepool',
  initialized: 'karpenter.sh/initialized',
  registered: 'karpenter.sh/registered',
  doNotSyncTaints: 'karpenter.sh/do-not-sync-taints',
  capacityType: 'karpenter.sh/capacity-type',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  instanceType: 'node.kubernetes.io/instance-type',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  hostname: 'kubernetes.io/hostname',
  windowsBuild: 'node.kubernetes.io/windows-build',
  nodeClass: 'karpenter.azure.com/aksnodeclass',
  /** Names a capacity reservation, in offerings and on what was launched into it (docs/capacity-reservations.md). */
  reservationId: 'karpenter.azure.com/capacity-reservation-id',
  excludeFromBalancers: 'node.kubernetes.io/exclude-from-external-load-balancers',
} as const

/** Keys of Karpenter's core that a provider always defines (reference/karpenter-core.md 1.5). */
export const coreWellKnownLabels: ReadonlySet<string> = new Set([
  labels.nodePool,
  labels.zone,
  labels.region,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.capacityType,
  labels.windowsBuild,
])

const within = (domain: string, names: readonly string[]) => names.map((name) => `${domain}/${name}`)

/** Keys of Karpenter's provider for Azure that NodePools and NodeClaims may name. `capacity-reservation-id` is Joiner's: upstream has no reservations. */
export const azureLabels: readonly string[] = within('karpenter.azure.com', [
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
])

const aksWellKnown = within('kubernetes.azure.com', [
  'mode',
  'scalesetpriority',
  'priority',
  'fips_enabled',
  'os-sku',
  'cluster',
  'sku-cpu',
  'sku-memory',
])

/** Keys of AKS that NodePools and NodeClaims may name. */
export const aksLabels: readonly string[] = [
  ...aksWellKnown,
  ...within('kubernetes.azure.com', ['ebpf-dataplane', 'ebpf-host-routing', 'network-policy', 'hostedvm']),
]

/** Every key that a NodePool may leave undefined on Azure (reference/azure-provider.md 2.1). The CRDs refuse `sku-hyperv-generation` all the same. */
export const wellKnownLabels: ReadonlySet<string> = new Set([
  ...coreWellKnownLabels,
  ...azureLabels,
  'karpenter.azure.com/sku-hyperv-generation',
  ...aksWellKnown,
])

const booleans = ['true', 'false']

/**
 * The values of keys that have no others (reference/azure-provider.md 2.1): a requirement with nothing else is a mistake. Joiner makes Linux nodes
 * only.
 */
export const knownValues: ReadonlyMap<string, readonly string[]> = new Map([
  [labels.capacityType, ['on-demand', 'spot', 'reserved']],
  ['karpenter.azure.com/sku-networking-accelerated', booleans],
  ['karpenter.azure.com/sku-storage-premium-capable', booleans],
  ['karpenter.azure.com/sku-gpu-manufacturer', ['nvidia', 'amd']],
  ['karpenter.azure.com/placement-scope', ['zonal', 'regional']],
  ['kubernetes.azure.com/mode', ['system', 'user']],
  ['kubernetes.azure.com/scalesetpriority', ['regular', 'spot']],
  ['kubernetes.azure.com/priority', ['regular', 'spot']],
  ['kubernetes.azure.com/os-sku', ['Ubuntu', 'AzureLinux']],
  ['kubernetes.azure.com/fips_enabled', ['true']],
])

/** The zone label of Azure's disk driver, on Nodes and in the node affinity of volumes. */
const diskZone = 'topology.disk.csi.azure.com/zone'

const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'failure-domain.beta.kubernetes.io/zone': labels.zone,
    'failure-domain.beta.kubernetes.io/region': labels.region,
    'beta.kubernetes.io/arch': labels.arch,
    'beta.kubernetes.io/os': labels.os,
    'beta.kubernetes.io/instance-type': labels.instanceType,
    [diskZone]: labels.zone,
  }),
)

/** Returns the stable name of a label key that is an older or a driver's own one. */
export function normalizedLabel(key: string): string {
  return aliases.get(key) ?? key
}

/** Returns a label's value under the stable name of its key. The disk driver calls the region without a zone "" (reference/azure-provider.md 2.1). */
export function normalizedValue(key: string, value: string): string {
  return key === diskZone && value === '' ? '0' : value
}

/** Returns the domain of a label key: the part before the slash. */
function labelDomain(key: string): string {
  const slash = key.indexOf('/')
  return slash < 0 ? '' : key.slice(0, slash)
}

/** Whether users may not set a key: those of Karpenter's own domain, and the hostname (reference/karpenter-core.md 1.5). */
export function isRestrictedLabel(key: string, wellKnown: ReadonlySet<string>): boolean {
  if (wellKnown.has(key)) return false
  const domain = labelDomain(key)
  return key === labels.hostname || domain === 'karpenter.sh' || domain.endsWith('.karpenter.sh')
}

export const taintKeys = {
  disrupted: 'karpenter.sh/disrupted',
  unregistered: 'karpenter.sh/unregistered',
  rebooting: 'karpenter.sh/rebooting',
} as const

export const annotations = {
  doNotDisrupt: 'karpenter.sh/do-not-disrupt',
  nodePoolHash: 'karpenter.sh/nodepool-hash',
  nodePoolHashVersion: 'karpenter.sh/nodepool-hash-version',
  nodeClassHash: 'karpenter.azure.com/aksnodeclass-hash',
  nodeClassHashVersion: 'karpenter.azure.com/aksnodeclass-hash-version',
  inPlaceUpdateHash: 'karpenter.azure.com/in-place-update-hash',
  /** On a NodeClaim of node auto-provisioning: the resource id of its machine. */
  aksMachine: 'karpenter.azure.com/aks-machine-resource-id',
  /** On a NodeClaim whose AKS machine Joiner manages: its own UID. */
  adoptedMachine: 'joiner.sh/adopted-machine',
  /** On a NodeClaim that was made again for the VM of a lost one: the UID of the lost one, or `unknown` where the VM's tags have none. */
  adoptedFrom: 'joiner.sh/adopted-from',
  terminationTimestamp: 'karpenter.sh/nodeclaim-termination-timestamp',
  /** On a Node: `true` forbids its repair. */
  doNotRepair: 'karpenter.sh/do-not-repair',
  /** On a NodeClaim whose VM is to reboot: how long its pods have to leave, a Go duration. Unset: as long as they need. */
  rebootBound: 'karpenter.sh/reboot-termination-grace-period',
  /** On a NodeClaim whose VM reboots: the boot ID of its Node before. */
  rebootPreBootId: 'karpenter.sh/reboot-pre-boot-id',
  /** On a NodeClaim whose VM is about to be restarted: what Azure reported of the VM before it was asked to. */
  rebootRequest: 'joiner.sh/reboot-request',
  /** On a NodeClaim: when no worker could take up or report its steps, as `start/end`, separated by commas (`core/node-claim/time-away.ts`). */
  timeAway: 'joiner.sh/time-away',
  /** On a NodeClaim: when the last reboots of its VM began, RFC 3339, separated by commas. */
  reboots: 'joiner.sh/reboots',
  disruptionCommand: 'joiner.sh/disruption-command',
  /** On a NodeClaim that was created for a command: the command's id. */
  replacementFor: 'joiner.sh/replacement-for',
  /** On a NodeClaim that was created for a command: the NodeClaims that leave, the first few, separated by commas. */
  replaces: 'joiner.sh/replaces',
  /** On a NodeClaim that was planned for pods: how many. */
  plannedPods: 'joiner.sh/planned-pods',
  /** On a NodeClaim that was planned for pods: the classes that these are of, the first few, separated by commas (`activities/scheduler-thread/pod-fingerprint.ts`). */
  plannedClasses: 'joiner.sh/planned-pod-classes',
  /** On a NodeClaim that was created for a static NodePool: its replicas at that time. */
  forReplicas: 'joiner.sh/for-replicas',
  /** On a NodeClaim that a static NodePool had too many, just before its deletion: the replicas. */
  scaledDownTo: 'joiner.sh/scaled-down-to',
  /** On a NodeClaim whose lifecycle was cancelled in Temporal, just before its deletion: when, RFC 3339. */
  cancelledAt: 'joiner.sh/cancelled-at',
  /** On a NodeClaim that keeps room for CapacityBuffers: the first few, as `namespace/name`, separated by commas. */
  plannedBuffers: 'joiner.sh/planned-buffers',
  /** On a launched NodeClaim: USD an hour of its VM at the launch. A tilde marks an estimate, from before any price list was read. */
  pricePerHour: 'joiner.sh/price-per-hour',
  /** On a launched NodeClaim: when Azure accepted its VM, RFC 3339 with milliseconds. Its condition is written later, and in whole seconds. */
  acceptedAt: 'joiner.sh/accepted-at',
  /** On a NodeClaim that an operator holds: until when. The other three hold the details (`core/node-claim/hold.ts`). */
  holdUntil: 'joiner.sh/hold-until',
  holdReason: 'joiner.sh/hold-reason',
  holdBy: 'joiner.sh/hold-by',
  holdExpiry: 'joiner.sh/hold-expiry',
  /** On a registered Node: its own uid. A Node that was made again from a copy has another one, and has to be registered again. */
  nodeUid: 'joiner.sh/node-uid',
  /** On a NodePool: NodeClaims that ended lately because their Nodes were gone (`core/node-claim/node-gone.ts`). */
  endedWithoutNode: 'joiner.sh/ended-without-node',
  /** Names of the tags that Joiner set on the claim's VM and NIC, as a JSON list. */
  tagNames: 'joiner.sh/tag-names',
  /** On a NodeClaim whose VM Azure is about to end: the condition of the Node that announced it. */
  interrupted: 'joiner.sh/interrupted',
  /** On a NodeClaim whose sick Node is replaced, just before its deletion: the Node's condition, such as `Ready is False`. */
  repairedFor: 'joiner.sh/repaired-for',
  billingExtension: 'joiner.sh/billing-extension',
  /** On an AKSNodeClass: the version of node images that its nodes get, such as `202512.18.0`. */
  imageVersion: 'joiner.sh/image-version',
  /** On an AKSNodeClass: `true` keeps the versions of its node images. */
  holdImages: 'joiner.sh/hold-images',
  /** On an AKSNodeClass: ARM ids of the capacity reservation groups that its VMs may use, separated by commas. */
  reservationGroups: 'joiner.sh/capacity-reservation-groups',
  /** On a NodeClaim that was launched into a capacity reservation: the ARM id of its group. */
  reservationGroup: 'joiner.sh/capacity-reservation-group',
  /** On a NodeClaim: sizes that its plan left out because Azure had refused them, separated by commas. They count for the price of a fallback. */
  leftOut: 'joiner.sh/left-out-sizes',
  /** On a NodePool: how many times the cheapest offering's price a node may cost after a lack of capacity. Unset: any. */
  maxFallbackPriceFactor: 'joiner.sh/max-fallback-price-factor',
  /** W3C traceparent of a NodeClaim's creation, while traces are on. */
  traceParent: 'joiner.sh/traceparent',
} as const

/** Finalizer of NodeClaims and their Nodes. */
export const terminationFinalizer = 'karpenter.sh/termination'

/** Finalizer of AKSNodeClasses (reference/azure-provider.md 1.1). */
export const nodeClassFinalizer = 'karpenter.azure.com/termination'
