// Objects that suites on real servers apply.

export interface PoolOptions {
  readonly name?: string
  readonly requirements?: readonly {
    readonly key: string
    readonly operator: string
    readonly values: readonly string[]
  }[]
  readonly consolidateAfter?: string
  readonly nodeClass?: string
  readonly expireAfter?: string
  /** How many nodes may be disrupted at a time. */
  readonly budget?: string
}

/** A NodePool of on-demand D sizes that frees idle nodes soon. */
export function nodePool({
  name = 'general',
  consolidateAfter = '1s',
  nodeClass = 'default',
  budget = '100%',
  expireAfter = 'Never',
  requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  ],
}: PoolOptions = {}) {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: {
          requirements,
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: nodeClass },
          expireAfter,
        },
      },
      disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter, budgets: [{ nodes: budget }] },
    },
  }
}

export function nodeClass(name = 'default') {
  return { apiVersion: 'karpenter.azure.com/v1beta1', kind: 'AKSNodeClass', metadata: { name }, spec: {} }
}

/** A NodeClaim that no NodePool made; `spec` says what differs from one for a small node that never expires. */
export function standaloneClaim(name: string, spec: object = {}) {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name },
    spec: {
      requirements: [
        { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      ],
      resources: { requests: { cpu: '1' } },
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      expireAfter: 'Never',
      ...spec,
    },
  }
}

export interface DeploymentOptions {
  readonly name?: string
  readonly replicas?: number
  readonly cpu?: string
  readonly memory?: string
  /** Each pod asks for a node of its own. */
  readonly apart?: boolean
  readonly nodeSelector?: Readonly<Record<string, string>>
}

export function deployment({
  name = 'inflate',
  replicas = 0,
  cpu = '1',
  memory,
  apart = false,
  nodeSelector = {},
}: DeploymentOptions = {}) {
  const selector = { matchLabels: { app: name } }
  const antiAffinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: selector },
      ],
    },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector,
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          nodeSelector,
          ...(apart ? { affinity: antiAffinity } : {}),
          containers: [
            {
              name: 'main',
              image: 'pause',
              resources: { requests: { cpu, ...(memory === undefined ? {} : { memory }) } },
            },
          ],
        },
      },
    },
  }
}
