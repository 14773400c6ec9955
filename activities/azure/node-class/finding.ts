import type { NodeClass } from '../../../api/objects.ts'
import { type ConditionChange, isTrueAt } from '../../../core/conditions.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'

/** What one part of a look at an AKSNodeClass found. What is absent stays as it was; an error is reported once all parts have run. */
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
 * The finding of what could not be read: what was read before, of the same spec, stays, since an outage is no reason to stop. Without that
 * nothing is known: Unknown, not False, which would end launches.
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
