import { listRuns } from '../../../activities/workflow-runs.ts'
import { runningOf } from '../../../core/workflow-queries.ts'
import { grpcCode, grpcCodes } from '../grpc-code.ts'
import type { Finding, LookContext } from './finding.ts'

/** What the server reports of a run that cannot go on: its history asks for another code, the code throws, or a search attribute is not what it was. */
const problems = ['NonDeterministicError', 'WorkflowWorkerUnhandledFailure', 'BadSearchAttributes'].map(
  (cause) => `'cause=WorkflowTaskFailedCause${cause}'`,
)

/**
 * Finds the runs of this cluster that the workflow code cannot go on with: the server has seen five failures in a row. All that they knew can be rebuilt
 * from Kubernetes objects, so a run that is started again costs time and no node (ADR 12). Errors: what Temporal says.
 */
export async function lookForStuckRuns({ client, cluster }: LookContext): Promise<readonly Finding[]> {
  const query = `${runningOf(cluster)} AND TemporalReportedProblems IN (${problems.join(', ')})`
  const found: Finding[] = []
  try {
    for await (const { workflowId, runId } of listRuns(client, query))
      found.push({
        object: `workflow ${workflowId}`,
        fault: 'workflow task fails',
        detail: `run ${runId} cannot go on`,
        remedy: `have it started again: temporal workflow terminate --workflow-id ${workflowId} --namespace ${client.options.namespace}`,
        repair: { kind: 'restart', workflowId, runId, why: 'cannot go on with it in this version' },
      })
  } catch (error) {
    if (!isUnknownToServer(error)) throw error
    return [
      {
        object: "Temporal's server",
        fault: 'server too old',
        detail: 'it does not say which workflows cannot go on (1.30 and newer do)',
        remedy: 'upgrade Temporal; until then end such workflows by hand (docs/workflow-versions.md)',
      },
    ]
  }
  return found
}

/** The search attribute is as old as Temporal 1.30. */
function isUnknownToServer(error: unknown): boolean {
  return grpcCode(error) === grpcCodes.invalidArgument && String(error).includes('TemporalReportedProblems')
}
