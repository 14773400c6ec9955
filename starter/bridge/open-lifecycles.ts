import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import { listRuns } from '../../activities/workflow-runs.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { runningLifecycles } from '../../core/workflow-queries.ts'
import { pokeSignal } from '../../workflows/messages.ts'

/** How the lifecycles that run differ from those that should. */
export interface LifecycleDifference {
  /** NodeClaims whose lifecycle does not run. */
  readonly missing: readonly NodeClaim[]
  /** Ids of lifecycles that run without a NodeClaim. */
  readonly orphaned: readonly string[]
}

/**
 * Compares the lifecycles that Temporal lists as running with the NodeClaims. One list, a page for each thousand. The list lags: a difference
 * is a reason to start or to poke, which change nothing where all is well. Errors: what Temporal says.
 */
export async function compareLifecycles(
  client: Client,
  cluster: string,
  nodeClaims: Iterable<NodeClaim>,
): Promise<LifecycleDifference> {
  const orphaned = new Set<string>()
  for await (const { workflowId } of listRuns(client, runningLifecycles(cluster))) orphaned.add(workflowId)
  const missing: NodeClaim[] = []
  for (const claim of nodeClaims) if (!orphaned.delete(lifecycleId(cluster, claim.metadata))) missing.push(claim)
  return { missing, orphaned: [...orphaned] }
}

/** Pokes a lifecycle without starting it: it reads that its NodeClaim is gone, and ends. One that has ended already is fine. */
export async function pokeOrphan(client: Client, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).signal(pokeSignal, 'the NodeClaim is gone')
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}
