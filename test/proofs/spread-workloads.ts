/** A Deployment whose pods keep apart, and what its PodDisruptionBudget asks, if it has one. */
export interface SpreadWorkload {
  readonly name: string
  readonly replicas: number
  readonly cpu: string
  readonly memory: string
  readonly spread: 'none' | 'zone' | 'hostname' | 'both'
  /** The NodePool that it asks for, whose nodes may be for such workloads only; absent: any. */
  readonly nodePool?: string
  readonly budget?: { readonly maxUnavailable: number } | { readonly minAvailable: number | string }
}

/** The taint of nodes that are for one NodePool's own workloads only. */
export const dedicatedKey = 'dedicated'

/** The Deployment and its PodDisruptionBudget. */
export function objectsOf(workload: SpreadWorkload): readonly object[] {
  const { name, replicas, budget } = workload
  const selector = { matchLabels: { app: name } }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector,
      // Pods that are replaced by smaller ones make room for them first.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '50%' } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(workload, selector) },
    },
  }
  const disruptionBudget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { selector, ...budget },
  }
  return budget === undefined ? [deployment] : [deployment, disruptionBudget]
}

function podSpec({ cpu, memory, spread, nodePool }: SpreadWorkload, labelSelector: object) {
  const keys = {
    none: [],
    zone: ['topology.kubernetes.io/zone'],
    hostname: ['kubernetes.io/hostname'],
    both: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
  }[spread]
  return {
    terminationGracePeriodSeconds: 1,
    ...(nodePool === undefined
      ? {}
      : {
          nodeSelector: { 'karpenter.sh/nodepool': nodePool },
          tolerations: [{ key: dedicatedKey, value: nodePool, effect: 'NoSchedule' }],
        }),
    topologySpreadConstraints: keys.map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector,
    })),
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu, memory } } }],
  }
}

/** How many pods of a workload have to be healthy at all times, whatever is disrupted. */
export function demandOf({ replicas, budget }: SpreadWorkload): number {
  if (budget === undefined) return 0
  if ('maxUnavailable' in budget) return replicas - budget.maxUnavailable
  const { minAvailable } = budget
  return typeof minAvailable === 'number'
    ? minAvailable
    : Math.ceil((Number.parseInt(minAvailable, 10) * replicas) / 100)
}
