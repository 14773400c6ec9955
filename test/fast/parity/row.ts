import type { Client, WorkflowHandle, WorkflowStartOptions } from '@temporalio/client'

/** Something that a client does a while after the start. */
export interface Act {
  readonly afterMs: number
  /** Whether a workflow task may be under way. */
  readonly isInTask?: true
  readonly what: (handle: WorkflowHandle, client: Client) => Promise<unknown>
}

export interface Row {
  readonly name: string
  readonly workflow: string
  readonly args: readonly unknown[]
  readonly options?: Pick<WorkflowStartOptions, 'workflowRunTimeout' | 'workflowExecutionTimeout'>
  readonly acts?: readonly Act[]
}

export const nudge = (afterMs: number, ...args: readonly string[]): Act => ({
  afterMs,
  what: (handle) => handle.signal('nudge', ...args),
})

export const signalWithStart = (afterMs: number, text: string): Act => ({
  afterMs,
  what: ({ workflowId }, { workflow }) =>
    workflow.signalWithStart('collectSignals', {
      workflowId,
      taskQueue: 'parity',
      args: [3],
      signal: 'nudge',
      signalArgs: [text],
    }),
})
