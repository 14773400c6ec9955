/** Annotations by which Cluster Autoscaler is told what to leave alone. */
export const autoscalerAnnotations = {
  /** On a pod: `"false"` keeps its node. */
  safeToEvict: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  /** On a Node: `"true"` keeps it. */
  scaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
} as const
