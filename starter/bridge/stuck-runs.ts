import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import { listRuns } from '../../activities/workflow-runs.ts'
import { onQueueOf } from '../../core/workflow-queries.ts'

/** What the server reports of a run that cannot go on: its history asks for another code, the code throws, or a search attribute is not what it was. */
const problems = ['NonDeterministicError', 'WorkflowWorkerUnhandledFailure', 'BadSearchAttributes'].map(
  (cause) => `'cause=WorkflowTaskFailedCause${cause}'`,
)

export interface StuckRunsInput {
  readonly client: Client
  readonly cluster: string
  readonly log: Logger
}

/**
 * Ends the runs of this cluster that the workflow code cannot go on with, after the server has seen five failures in a row. All that they knew
 * can be rebuilt from Kubernetes objects, so a run that is started again costs time and no node (ADR 12). Returns the ids of their workflows.
 */
export async function endStuckRuns({ client, cluster, log }: StuckRunsInput): Promise<readonly string[]> {
  const query = `ExecutionStatus = 'Running' AND ${onQueueOf(cluster)} AND TemporalReportedProblems IN (${problems.join(', ')})`
  const ended: string[] = []
  for await (const { workflowId, runId, type } of listRuns(client, query)) {
    log.warn({ workflowId, runId, workflowType: type }, 'restarting workflow run that this version cannot replay')
    // Of this run alone: another replica may have begun the next one.
    await client.workflow
      .getHandle(workflowId, runId)
      .terminate('this version of the workflow code cannot go on with it; started again (docs/workflow-versions.md)')
      .catch((error: unknown) => log.debug({ workflowId, err: error }, 'stuck run had already ended'))
    ended.push(workflowId)
  }
  return ended
}
