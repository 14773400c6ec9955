import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { PlannedPool, PlannedWorkload } from './plan.ts'

/** A NodePool as operators have made it. */
export interface StagedPool extends PlannedPool {
  /** Changed to make its nodes drift. */
  readonly revision: number
  /** Of a static one: that it may have no more than its nodes, so that none of them can be replaced. */
  readonly isFull?: boolean
}

/** The AKSNodeClass as operators have made it. */
export interface StagedClass {
  /** A tag of its VMs. */
  readonly revision: number
  readonly isOtherFamily: boolean
}

/** The AKSNodeClass of all NodePools. */
export function classObject({ revision, isOtherFamily }: StagedClass) {
  const imageFamily = isOtherFamily ? 'AzureLinux' : 'Ubuntu'
  return { ...nodeClass(), spec: { imageFamily, tags: { revision: String(revision) } } }
}

/** A NodePool as a plan has it. `revision`: a label of its nodes. */
export function poolObject({ revision, ...pool }: StagedPool) {
  const { spec, ...object } = nodePool({
    name: pool.name,
    budget: pool.budget,
    consolidateAfter: pool.consolidateAfter,
    ...(pool.expireAfter === undefined ? {} : { expireAfter: pool.expireAfter }),
    requirements: [
      { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
      { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: pool.cpus },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: pool.capacityTypes },
    ],
  })
  return {
    ...object,
    spec: {
      ...spec,
      template: {
        metadata: { labels: { 'example.com/revision': String(revision) } },
        spec: {
          ...spec.template.spec,
          ...(pool.terminationGracePeriod === undefined ? {} : { terminationGracePeriod: pool.terminationGracePeriod }),
        },
      },
      disruption: { ...spec.disruption, consolidationPolicy: pool.policy },
      ...(pool.nodes === undefined ? {} : { replicas: pool.nodes }),
      ...limitsOf({ ...pool, revision }),
    },
  }
}

/** A static NodePool may limit its nodes alone. */
function limitsOf(pool: StagedPool): { readonly limits?: { readonly cpu: string } | { readonly nodes: string } } {
  if (pool.nodes !== undefined) return { limits: { nodes: String(nodeLimitOf(pool)) } }
  return pool.cpuLimit === undefined ? {} : { limits: { cpu: String(pool.cpuLimit) } }
}

/** How many nodes a NodePool may have, those that go counted; infinity: as many as its pods want. */
export function nodeLimitOf({
  nodes = Number.POSITIVE_INFINITY,
  isFull = false,
}: Pick<StagedPool, 'nodes' | 'isFull'>): number {
  return isFull ? nodes : nodes + 1
}

/** The objects of a workload. */
export function workloadObjects(workload: PlannedWorkload): readonly unknown[] {
  const { name, replicas, cpu, pool, spread, maxUnavailable } = workload
  const made = deployment({
    name,
    replicas,
    cpu: `${cpu}m`,
    apart: spread === 'nodes',
    nodeSelector: pool === undefined ? {} : { 'karpenter.sh/nodepool': pool },
  })
  const { spec } = made
  const selector = { matchLabels: { app: name } }
  const zones = {
    maxSkew: 1,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: selector,
  }
  const template =
    spread === 'zones'
      ? { ...spec.template, spec: { ...spec.template.spec, topologySpreadConstraints: [zones] } }
      : spec.template
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable, selector },
  }
  return [{ ...made, spec: { ...spec, template } }, ...(maxUnavailable === undefined ? [] : [budget])]
}
