import { type Command, type CommandKind, commandKind } from './protocol.ts'
import type { PastActivation } from './run.ts'

const endings: ReadonlySet<CommandKind> = new Set([
  'completeWorkflowExecution',
  'failWorkflowExecution',
  'cancelWorkflowExecution',
  'continueAsNewWorkflowExecution',
])

export const endsRun = (command: Command) => endings.has(commandKind(command))

/** What is begun and cancelled in the same task never reaches the server. Returns the test for such commands. */
export function elided(commands: readonly Command[]): (command: Command) => boolean {
  const both = (begin: CommandKind, cancel: CommandKind) => {
    const seqsOf = (kind: CommandKind) =>
      commands.flatMap((command) => (command[kind] as { readonly seq?: number } | null | undefined)?.seq ?? [])
    const cancelled = new Set(seqsOf(cancel))
    return new Set(seqsOf(begin).filter((seq) => cancelled.has(seq)))
  }
  const timers = both('startTimer', 'cancelTimer')
  const activities = both('scheduleActivity', 'requestCancelActivity')
  return ({ startTimer, cancelTimer, scheduleActivity, requestCancelActivity }) =>
    timers.has((startTimer ?? cancelTimer)?.seq ?? -1) ||
    activities.has((scheduleActivity ?? requestCancelActivity)?.seq ?? -1)
}

function refusedUpdates(commands: readonly Command[]): ReadonlySet<string> {
  const answers = commands.flatMap(({ updateResponse }) => updateResponse ?? [])
  const accepted = new Set(answers.filter((one) => one.accepted != null).map((one) => one.protocolInstanceId))
  // One that was accepted and then failed has a `rejected` as its outcome.
  const refused = answers.filter((one) => one.rejected != null && !accepted.has(one.protocolInstanceId))
  return new Set(refused.map(({ protocolInstanceId }) => protocolInstanceId ?? ''))
}

/** An update that its validator refused is in no history, so no replay sees it. */
export function withoutRefusedUpdates(activation: PastActivation): PastActivation {
  const refused = refusedUpdates(activation.commands)
  if (refused.size === 0) return activation
  return {
    ...activation,
    jobs: activation.jobs.filter(({ doUpdate }) => !refused.has(doUpdate?.protocolInstanceId ?? '')),
    commands: activation.commands.filter(
      ({ updateResponse }) => !refused.has(updateResponse?.protocolInstanceId ?? ''),
    ),
  }
}

/** Whether a task did nothing but refuse updates: it leaves no event. */
export const isTraceless = (activations: readonly PastActivation[]) =>
  activations.length > 0 &&
  activations.every(({ commands }) => commands.every(({ updateResponse }) => updateResponse?.rejected != null))
