import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client'
import type { LifeResult } from '../../core/history/result.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import type { World } from '../world.ts'

/** How a lifecycle ended. */
export interface LifecycleEnd extends LifeResult {
  readonly status: string
  /** Type and message of its failure. */
  readonly type?: string
  readonly message?: string
}

/** Waits for the end of the latest lifecycle of a NodeClaim of this name. */
export async function endOf(world: World, nodeClaim: string): Promise<LifecycleEnd> {
  const id = await world.until(`Temporal lists the lifecycle of ${nodeClaim}`, async () => {
    const listed = await world.lifecycles(`WorkflowId STARTS_WITH 'nodeclaim/${clusterName}/${nodeClaim}-'`)
    return listed.find((one) => one.nodeClaim === nodeClaim)?.id
  })
  const handle = world.temporal.workflow.getHandle(id)
  const ended = await handle.result().then(
    (result) => result as LifeResult,
    (error: unknown) => failure(error),
  )
  return { ...ended, status: (await handle.describe()).status.name }
}

function failure(error: unknown): Omit<LifecycleEnd, 'status'> {
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error
  const { type, message, details } = error.cause
  return { ...(details?.[0] as LifeResult), type: type ?? '', message }
}
