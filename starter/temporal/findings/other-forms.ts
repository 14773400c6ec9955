import type { Client } from '@temporalio/client'
import { listRuns, type WorkflowRun } from '../../../activities/workflow-runs.ts'
import { isOfThisForm } from '../../../core/workflow-forms.ts'
import { runningOthers } from '../../../core/workflow-queries.ts'
import type { Finding, LookContext } from './finding.ts'
import { describedSchedule } from './schedule.ts'

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

/** What the Schedules of earlier versions were called. Workers do not know what they start. */
const formerSchedules = ['garbageCollection', 'nodeClassStatus', 'inPlaceUpdates', 'catalogRefresh'] as const

/** Looks for runs of another form, and for Schedules of earlier versions: the first time, and whenever such a run shows that one may be there. */
export class OtherFormsLook {
  readonly #context: LookContext
  #mayHaveSchedules = true

  constructor(context: LookContext) {
    this.#context = context
  }

  async look(): Promise<readonly Finding[]> {
    const runs = await lookForOtherForms(this.#context)
    if (runs.length === 0 && !this.#mayHaveSchedules) return []
    const { client, cluster } = this.#context
    const found = await Promise.all(formerSchedules.map((name) => formerSchedule(client, `${name}/${cluster}`)))
    const schedules = found.flat()
    this.#mayHaveSchedules = schedules.length > 0
    return [...runs, ...schedules]
  }
}

async function formerSchedule(client: Client, scheduleId: string): Promise<readonly Finding[]> {
  if ((await describedSchedule(client, scheduleId)) === undefined) return []
  return [
    {
      object: `Schedule ${scheduleId}`,
      fault: 'of another form',
      remedy: `temporal schedule delete --schedule-id ${scheduleId} --namespace ${client.options.namespace}`,
      repair: { kind: 'deleteSchedule', scheduleId },
    },
  ]
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
