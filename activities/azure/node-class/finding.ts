import type { NodeClass } from '../../../api/objects.ts'
import { type ConditionChange, isTrueAt } from '../../../core/conditions.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'

/** Result of one part of validating an AKSNodeClass. Unset fields stay as they were; an error is reported once all parts have run. */
export interface Finding {
  readonly conditions?: readonly ConditionChange[]
  readonly status?: {
    readonly images?: NodeClass['status']['images']
    readonly kubernetesVersion?: string
    readonly localDnsState?: NonNullable<NodeClass['status']['localDnsState']>
  }
  readonly error?: unknown
}

/**
 * Returns the finding after a failed read: an earlier result for the same spec stays, since an outage is no reason to stop. Without one the
 * result is Unknown, not False, which would end launches.
 */
export function unread(
  nodeClass: NodeClass,
  { type, reason, what }: { readonly type: string; readonly reason: string; readonly what: string },
  error: unknown,
): Finding {
  if (isTrueAt(nodeClass.status.conditions, type, nodeClass.metadata.generation)) return { error }
  const message = `AKSNodeClass ${nodeClass.metadata.name}: ${what} could not be read: ${scrubbedMessage(error)}; it is tried again`
  return { conditions: [{ type, status: 'Unknown', reason, message }], error }
}
