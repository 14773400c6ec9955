import { type Job, msOf, normalQueue, type Payload, timestamp } from './protocol.ts'
import type { Run, RunLimits } from './run.ts'
import { namespace } from './workflow-host.ts'

/** What a run begins with. */
export interface RunStart {
  readonly workflowType: string
  readonly workflowId: string
  readonly taskQueue: string
  readonly input: readonly Payload[]
  readonly memo: Record<string, Payload>
  readonly searchAttributes: Record<string, Payload>
  readonly limits?: RunLimits
}

type Duration = Parameters<typeof msOf>[0]

export const limitsOf = (
  workflowRunTimeout: Duration,
  workflowExecutionTimeout: Duration,
): { readonly limits: RunLimits } => ({
  limits: { runMs: msOf(workflowRunTimeout), executionMs: msOf(workflowExecutionTimeout) },
})

/** Records the start of a run. Returns what its workflow begins with. */
export function startOf(run: Run, input: readonly Payload[], nowMs: number): Job {
  const { runId, workflowId, workflowType, taskQueue, firstRunId, continuedFromRunId, parent, startMs, seed } =
    run.identity
  const shown = { memo: { fields: run.memo }, searchAttributes: { indexedFields: run.searchAttributes } }
  const { runMs, executionMs } = run.limits
  const timeouts = {
    workflowTaskTimeout: { seconds: 10 as never },
    ...(runMs === undefined ? {} : { workflowRunTimeout: timestamp(runMs) }),
    ...(executionMs === undefined ? {} : { workflowExecutionTimeout: timestamp(executionMs) }),
  }
  const same = { ...shown, ...timeouts, identity: 'client', attempt: 1 }
  run.history.add(nowMs, {
    workflowExecutionStartedEventAttributes: {
      ...same,
      workflowId,
      workflowType: { name: workflowType },
      taskQueue: normalQueue(taskQueue),
      input: { payloads: [...input] },
      originalExecutionRunId: runId,
      firstExecutionRunId: firstRunId,
      ...(continuedFromRunId === undefined ? {} : { continuedExecutionRunId: continuedFromRunId }),
      ...(parent === undefined ? {} : { parentWorkflowNamespace: namespace, parentWorkflowExecution: parent }),
    },
  })
  return {
    initializeWorkflow: {
      ...same,
      workflowId,
      workflowType,
      arguments: [...input],
      randomnessSeed: seed as never,
      firstExecutionRunId: firstRunId,
      startTime: timestamp(startMs),
      ...(continuedFromRunId === undefined ? {} : { continuedFromExecutionRunId: continuedFromRunId }),
      ...(parent === undefined ? {} : { parentWorkflowInfo: { ...parent, namespace } }),
    },
  }
}

export const startedMemo = ({ history }: Run): Record<string, Payload> =>
  history.of('workflowExecutionStartedEventAttributes')[0]?.memo?.fields ?? {}
