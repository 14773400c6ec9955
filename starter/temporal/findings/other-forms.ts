import { listRuns, type WorkflowRun } from '../../../activities/workflow-runs.ts'
import { isOfThisForm } from '../../../core/workflow-forms.ts'
import { runningOthers } from '../../../core/workflow-queries.ts'
import type { Finding, LookContext } from './finding.ts'

/**
 * Finds what runs under an id or a type that this version does not give: an earlier one began it. It is ended, and what it was for is begun anew from the
 * objects. `query`: where to look; what is no lifecycle by default, as those are looked at with their NodeClaims. Errors: what Temporal says.
 */
export async function lookForOtherForms(
  { client, cluster }: LookContext,
  query = runningOthers(cluster),
): Promise<readonly Finding[]> {
  const found: Finding[] = []
  for await (const run of listRuns(client, query)) if (!isOfThisForm(cluster, run)) found.push(ofAnotherForm(run))
  return found
}

/** Returns the finding of a run of another form. */
export function ofAnotherForm({ workflowId, runId, type }: WorkflowRun): Finding {
  return {
    object: `workflow ${workflowId}`,
    fault: 'of another form',
    detail: `of type ${type}`,
    remedy: 'a process with the role bridge ends it: kubectl get pods --namespace joiner',
    repair: { kind: 'restart', workflowId, runId, why: 'gives such workflows another id or type by now' },
  }
}
