import { inCoresOrder, type Job, shapeOf } from './protocol.ts'
import type { PastActivation, Run } from './run.ts'
import type { HostedWorkflow, WorkflowHost } from './workflow-host.ts'

/** The workflow's code does not repeat what its history says. */
export class NonDeterminism extends Error {}

/** Brings a workflow to where its history ends. Errors: NonDeterminism, with the first difference. */
export function replayInto(workflow: HostedWorkflow, run: Run): void {
  for (const [at, past] of run.past.entries()) {
    const place = `${run.workflowId}, activation ${at + 1}`
    const { nowMs, historyLength, historySize, continueAsNewSuggested, usedFlags: flags } = past
    let again: readonly string[]
    try {
      const jobs = replayedJobs(past)
      const done = workflow.activate({
        nowMs,
        historyLength,
        historySize,
        continueAsNewSuggested,
        flags,
        isReplaying: true,
        jobs,
      })
      again = done.commands.map(shapeOf)
    } catch (error) {
      workflow.dispose()
      throw new NonDeterminism(`${place}: ${String(error)}`, { cause: error })
    }
    const recorded = past.commands.map(shapeOf)
    const longest = Math.max(recorded.length, again.length)
    for (let n = 0; n < longest; n++) {
      if (recorded[n] === again[n]) continue
      workflow.dispose()
      throw new NonDeterminism(
        `${place}: the history has ${recorded[n] ?? 'nothing'}, the code ${again[n] ?? 'nothing'}`,
      )
    }
  }
}

/** Core looks ahead for the markers of patches, and lets no validator judge an update again. */
function replayedJobs({ jobs, commands }: PastActivation): readonly Job[] {
  const patches = commands.flatMap(({ setPatchMarker }): Job[] =>
    setPatchMarker == null ? [] : [{ notifyHasPatch: { patchId: setPatchMarker.patchId ?? '' } }],
  )
  const repeated = jobs.map((job) =>
    job.doUpdate == null ? job : { doUpdate: { ...job.doUpdate, runValidator: false } },
  )
  return inCoresOrder([...repeated, ...patches])
}

let replays = 0

/** Replays a whole run with a host's code and leaves the run alone. Errors: NonDeterminism. */
export function replay(run: Run, host: WorkflowHost): void {
  replays += 1
  const identity = { ...run.identity, runId: `${run.identity.runId}-replay-${replays}` }
  const workflow = host.begin(identity, run.past[0]?.nowMs ?? run.identity.startMs)
  replayInto(workflow, run)
  workflow.dispose()
}
