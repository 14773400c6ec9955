/** A scheduling scenario as JSON: what the API holds, what the cloud offers, the options. See test/vectors/golden/scheduling.md. */
export interface Scenario {
  readonly name: string
  readonly description: string
  readonly now: string
  readonly options: {
    readonly preferencePolicy: 'Respect' | 'Ignore'
    readonly minValuesPolicy: 'Strict' | 'BestEffort'
  }
  readonly wellKnownLabels: readonly string[]
  readonly instanceTypes: readonly InstanceTypeJson[]
  readonly objects: readonly ObjectJson[]
}

export type Labels = Readonly<Record<string, string>>
export type Amounts = Readonly<Record<string, string>>

export interface ObjectJson {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

export interface RequirementJson {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

interface OfferingJson {
  readonly requirements: readonly RequirementJson[]
  readonly price: number
  readonly available: boolean
}

export interface InstanceTypeJson {
  readonly name: string
  readonly requirements: readonly RequirementJson[]
  readonly offerings: readonly OfferingJson[]
  readonly capacity: Amounts
  readonly overhead: { readonly kubeReserved: Amounts; readonly evictionThreshold?: Amounts }
}

export const now = '2026-01-01T00:00:00Z'
export const zoneKey = 'topology.kubernetes.io/zone'
export const hostnameKey = 'kubernetes.io/hostname'
export const capacityTypeKey = 'karpenter.sh/capacity-type'
export const archKey = 'kubernetes.io/arch'

export const isOneOf = (key: string, ...values: readonly string[]): RequirementJson => ({ key, operator: 'In', values })

interface PodOptions {
  readonly name: string
  readonly uid: string
  readonly labels?: Labels
  readonly requests: Amounts
  /** Further fields of its spec. */
  readonly spec?: Readonly<Record<string, unknown>>
}

/** A pod that waits for a node; with `nodeName` in its spec, one that runs. */
export function podJson({ name, uid, labels = {}, requests, spec = {} }: PodOptions): ObjectJson {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels, uid, creationTimestamp: now },
    spec: { containers: [{ name: 'main', image: 'pause', resources: { requests } }], ...spec },
  }
}

interface NodePoolOptions {
  readonly name?: string
  readonly weight?: number
  readonly labels?: Labels
  readonly requirements?: readonly RequirementJson[]
  readonly taints?: readonly Readonly<Record<string, string>>[]
  readonly limits?: Amounts
  readonly nodeClassRef?: NodeClassRef
  readonly disruption?: Readonly<Record<string, unknown>>
}

interface NodeClassRef {
  readonly group: string
  readonly kind: string
  readonly name: string
}

const azureNodeClass: NodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }

export function nodePoolJson({
  name = 'default',
  weight,
  labels,
  requirements = [],
  taints,
  limits,
  nodeClassRef = azureNodeClass,
  disruption = { consolidateAfter: 'Never' },
}: NodePoolOptions) {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, creationTimestamp: now },
    spec: {
      template: {
        metadata: labels === undefined ? {} : { labels },
        spec: { requirements, nodeClassRef, expireAfter: 'Never', ...(taints === undefined ? {} : { taints }) },
      },
      disruption,
      ...(weight === undefined ? {} : { weight }),
      ...(limits === undefined ? {} : { limits }),
    },
  }
}

interface NodeOptions {
  readonly name: string
  readonly nodePool: string
  readonly type: InstanceTypeJson
  readonly zone: string
  readonly capacityType: string
  readonly labels?: Labels
  readonly allocatable: Amounts
  readonly nodeClassRef?: NodeClassRef
  readonly taints?: readonly Readonly<Record<string, string>>[]
  readonly created?: string
  /** Conditions that its NodeClaim has beside those of every node in use. */
  readonly conditions?: readonly string[]
}

/** A node in use, and its NodeClaim. */
export function nodeJson({
  name,
  nodePool,
  type,
  zone,
  capacityType,
  labels,
  allocatable,
  nodeClassRef = azureNodeClass,
  taints,
  created,
  conditions = [],
}: NodeOptions): ObjectJson[] {
  const providerID = `bench:///${name}`
  const single = type.requirements.flatMap(({ key, values = [] }) =>
    values.length === 1 ? [[key, values[0] ?? '']] : [],
  )
  const common = {
    ...Object.fromEntries(single),
    ...labels,
    'karpenter.sh/nodepool': nodePool,
    [`${nodeClassRef.group}/${nodeClassRef.kind.toLowerCase()}`]: nodeClassRef.name,
    [capacityTypeKey]: capacityType,
    [zoneKey]: zone,
  }
  const amounts = { capacity: type.capacity, allocatable }
  const isTrue = (type: string) => ({ type, status: 'True', reason: type, lastTransitionTime: created ?? now })
  const own = (kind: string) => (created === undefined ? {} : { uid: `${kind}-${name}`, creationTimestamp: created })
  return [
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: `${name}-claim`, labels: common, ...own('claim') },
      spec: { requirements: [], nodeClassRef, ...(taints === undefined ? {} : { taints }) },
      status: {
        providerID,
        nodeName: name,
        ...amounts,
        conditions: ['Launched', 'Registered', 'Initialized', ...conditions, 'Ready'].map(isTrue),
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        ...own('node'),
        labels: {
          ...common,
          [hostnameKey]: name,
          'karpenter.sh/registered': 'true',
          'karpenter.sh/initialized': 'true',
        },
      },
      spec: { providerID, ...(taints === undefined ? {} : { taints }) },
      status: { ...amounts, conditions: [isTrue('Ready')] },
    },
  ]
}

/** A DaemonSet of one container. */
export function daemonSetJson(
  name: string,
  requests: Amounts,
  spec: Readonly<Record<string, unknown>> = {},
): ObjectJson {
  const labels = { daemon: name }
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'main', image: 'pause', resources: { requests } }], ...spec },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system' },
    spec: { selector: { matchLabels: labels }, template },
  }
}

export function spreadOver(topologyKey: string, matchLabels: Labels, maxSkew = 1) {
  const constraint = { maxSkew, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels } }
  return { topologySpreadConstraints: [constraint] }
}

export function apartBy(topologyKey: string, matchLabels: Labels) {
  const term = { labelSelector: { matchLabels }, topologyKey }
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
}

export function togetherBy(topologyKey: string, matchLabels: Labels) {
  const term = { labelSelector: { matchLabels }, topologyKey }
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
}

export const standardOptions = { preferencePolicy: 'Respect', minValuesPolicy: 'Strict' } as const
