/** The resources that Joiner reads or writes, by plural name. */
const groups = {
  pods: { prefix: '/api/v1', namespaced: true },
  nodes: { prefix: '/api/v1', namespaced: false },
  namespaces: { prefix: '/api/v1', namespaced: false },
  configmaps: { prefix: '/api/v1', namespaced: true },
  secrets: { prefix: '/api/v1', namespaced: true },
  events: { prefix: '/api/v1', namespaced: true },
  persistentvolumeclaims: { prefix: '/api/v1', namespaced: true },
  persistentvolumes: { prefix: '/api/v1', namespaced: false },
  services: { prefix: '/api/v1', namespaced: true },
  podtemplates: { prefix: '/api/v1', namespaced: true },
  replicationcontrollers: { prefix: '/api/v1', namespaced: true },
  deployments: { prefix: '/apis/apps/v1', namespaced: true },
  daemonsets: { prefix: '/apis/apps/v1', namespaced: true },
  replicasets: { prefix: '/apis/apps/v1', namespaced: true },
  statefulsets: { prefix: '/apis/apps/v1', namespaced: true },
  poddisruptionbudgets: { prefix: '/apis/policy/v1', namespaced: true },
  storageclasses: { prefix: '/apis/storage.k8s.io/v1', namespaced: false },
  csinodes: { prefix: '/apis/storage.k8s.io/v1', namespaced: false },
  volumeattachments: { prefix: '/apis/storage.k8s.io/v1', namespaced: false },
  customresourcedefinitions: { prefix: '/apis/apiextensions.k8s.io/v1', namespaced: false },
  leases: { prefix: '/apis/coordination.k8s.io/v1', namespaced: true },
  nodepools: { prefix: '/apis/karpenter.sh/v1', namespaced: false },
  nodeoverlays: { prefix: '/apis/karpenter.sh/v1alpha1', namespaced: false },
  capacitybuffers: { prefix: '/apis/autoscaling.x-k8s.io/v1beta1', namespaced: true },
  nodeclaims: { prefix: '/apis/karpenter.sh/v1', namespaced: false },
  aksnodeclasses: { prefix: '/apis/karpenter.azure.com/v1beta1', namespaced: false },
} as const

export type ResourceName = keyof typeof groups

/**
 * Returns the API path of a resource: all of it, of one namespace, or one object.
 * Errors: a namespaced object named without its namespace is a programming error.
 */
export function resourcePath(resource: ResourceName, name?: string, namespace?: string): string {
  const { prefix, namespaced } = groups[resource]
  if (namespaced && name !== undefined && namespace === undefined)
    throw new Error(`${resource} ${name}: namespace missing`)
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${prefix}${scope}/${resource}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}
