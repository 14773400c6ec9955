// Messages of a test to a run, in values instead of payloads.
import { keyword, payloadsOf, valueOf } from './protocol.ts'
import { taskQueues } from './queues.ts'
import type { Run } from './run.ts'
import type { RunStart } from './run-start.ts'
import type { TemporalServer } from './temporal-server.ts'

/** The start of a NodeClaim's lifecycle in the cluster `test`. */
export function lifecycleStart(workflowId: string, claim: { readonly name: string; readonly uid: string }): RunStart {
  return {
    workflowType: 'nodeClaimLifecycle',
    workflowId,
    taskQueue: taskQueues[0],
    input: payloadsOf([{ cluster: 'test', ...claim, attributes: { nodePhase: 'Launching' } }]),
    memo: {},
    searchAttributes: { NodePhase: keyword('Launching') },
  }
}

export function signal(server: TemporalServer, run: Run, signalName: string, ...args: readonly unknown[]): void {
  server.signalRun(run, { signalName, input: payloadsOf(args) })
}

/** Sends an update. Returns its result, or the message of its failure behind `failed: `. */
export async function update(
  server: TemporalServer,
  run: Run,
  name: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const id = `update-${run.updates.size + 1}`
  const outcome = await server.updateRun(run, { id, name, input: payloadsOf(args) })
  if (outcome === 'closed') return 'failed: the run has ended'
  if (outcome.failure != null) return `failed: ${outcome.failure.message}`
  return valueOf(outcome.success?.payloads?.[0])
}

/** The phase of a lifecycle at rest; undefined while a workflow task runs or no worker serves it. */
export function phaseOf(server: TemporalServer, run: Run): string | undefined {
  if (run.past.length === 0 || run.task !== undefined || !server.isServed(run.identity.taskQueue)) return undefined
  return (valueOf(server.queryRun(run, 'status', [])) as { readonly phase: string }).phase
}
