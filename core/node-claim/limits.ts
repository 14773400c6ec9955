const minute = 60_000

/**
 * Time limits of a lifecycle's steps, in milliseconds. Workflows pass them to their activities, so a test shortens them by a table of its own in the
 * workflow bundle. All stand still while no worker could take up or report an attempt (`time-away.ts`).
 */
export const limits: Limits = {
  launch: {
    /** One attempt to launch, from its start. */
    attemptMs: 5 * minute,
    /** All attempts of one NodeClaim together, from its creation. */
    claimMs: 15 * minute,
  },
  /** From Launched=True until the Node has joined. */
  registrationMs: 15 * minute,
  reboot: {
    /** Until a request is carried out for a NodeClaim that has no Node. */
    issueMs: 5 * minute,
    /** Until the VM has booted and its Node is ready (reference/karpenter-1.15.md 5.8). */
    recoveryMs: 20 * minute,
  },
}

export interface Limits {
  readonly launch: { readonly attemptMs: number; readonly claimMs: number }
  readonly registrationMs: number
  readonly reboot: { readonly issueMs: number; readonly recoveryMs: number }
}
