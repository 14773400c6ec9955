export type ProvisioningOutcome =
  /** NodeClaims were created and their lifecycles started. `claims` holds at most 20 of the names. */
  | {
      readonly kind: 'planned'
      readonly pods: number
      readonly nodeClaims: number
      readonly unschedulable: number
      readonly claims: readonly string[]
    }
  /** Nothing to do for half an hour: the loop checkpoints. */
  | { readonly kind: 'idle' }
  /** The loop was paused while this waited; nothing was written. */
  | { readonly kind: 'paused' }

export interface ProvisioningActivities {
  /** Waits for pending pods and for static NodePools that lack nodes, plans and creates NodeClaims. */
  nextProvisioning(): Promise<ProvisioningOutcome>
}
