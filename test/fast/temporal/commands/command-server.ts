import type { Clock } from '../../virtual-clock.ts'
import type { Attributes } from '../history.ts'
import type { Command, Job, Payload, ScheduledActivity } from '../protocol.ts'
import type { PendingActivity, Run, RunStatus } from '../run.ts'
import type { RunStart } from '../run-start.ts'

/** What the server does for commands. */
export interface CommandServer {
  readonly clock: Clock
  deliver(run: Run, happen: () => Job | undefined): void
  schedule(run: Run, command: ScheduledActivity, scheduledEventId: number): void
  cancelActivity(run: Run, activity: PendingActivity): void
  current(workflowId: string): Run | undefined
  begin(start: RunStart, of: { readonly continued?: Run; readonly parent?: Run }): Run
  cancelRun(run: Run, reason: string): void
  terminate(run: Run, reason: string): void
  signal(run: Run, signal: { readonly signalName: string; readonly input: readonly Payload[] }): void
  close(run: Run, outcome: { readonly status: RunStatus } & Partial<Pick<Run, 'result' | 'failure'>>): void
}

export interface Ids {
  readonly completedEventId: number
  readonly startedEventId: number
}

/** A command with the run it is for, and the event that it follows from. */
export interface Carried {
  readonly run: Run
  readonly command: Command
  readonly ids: Ids
  readonly add: (attributes: Attributes) => number
}
