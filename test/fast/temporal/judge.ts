import { optionalTsToMs } from '@temporalio/common/lib/time.js'
import type { coresdk } from '@temporalio/proto'
import { Worker } from '@temporalio/worker'
import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js'
import { quietRuntime } from '../../runner/quiet-runtime.ts'
import { jobKind, timestamp } from './protocol.ts'
import type { Run } from './run.ts'
import type { WorkflowHost } from './workflow-host.ts'

type Activate = (this: BaseVMWorkflow, activation: CoreActivation) => ReturnType<BaseVMWorkflow['activate']>
type CoreActivation = coresdk.workflow_activation.IWorkflowActivation

/**
 * Replays histories with Core, without a server, in the context of a host, which has loaded the bundle already. Returns what it objects to, one text
 * for each run that it refuses.
 */
export async function objections(host: WorkflowHost, runs: readonly Run[]): Promise<readonly string[]> {
  quietRuntime()
  function* histories() {
    for (const { workflowId, history } of runs) yield { workflowId, history: history.exported() }
  }
  // What a replay asks the pinned version for, in place of a context of its own with a hook on every promise of this process.
  const workflowBundle = { code: '' }
  class HostedWorker extends Worker {}
  Object.assign(HostedWorker, {
    getOrCreateBundle: () => Promise.resolve(workflowBundle),
    createWorkflowCreator: () =>
      Promise.resolve({ createWorkflow: host.createWorkflow.bind(host), destroy: () => Promise.resolve() }),
  })
  const found: string[] = []
  let count = 0
  for await (const { workflowId, error } of HostedWorker.runReplayHistories({ workflowBundle }, histories())) {
    if (error !== undefined) found.push(`${count} ${workflowId}: ${error.message}`)
    count += 1
  }
  if (count !== runs.length) found.push(`${count} of ${runs.length} histories were replayed`)
  return found
}

/** Activations that Core makes when it replays a run, and those that the simulated server made: a line each. */
export async function activations(
  code: string,
  run: Run,
): Promise<{ readonly core: readonly string[]; readonly own: readonly string[] }> {
  quietRuntime()
  const seen: CoreActivation[] = []
  const { prototype } = BaseVMWorkflow
  const activate: Activate = Reflect.get<BaseVMWorkflow, 'activate'>(prototype, 'activate')
  prototype.activate = function (this: BaseVMWorkflow, activation: CoreActivation) {
    seen.push(activation)
    return activate.call(this, activation)
  }
  const startMs = run.identity.startMs
  try {
    const options = { workflowBundle: { code }, debugMode: true }
    await Worker.runReplayHistory(options, run.history.exported(), run.workflowId)
  } finally {
    prototype.activate = activate
    globalHandlers.uninstall()
  }
  const own = run.past.map(({ nowMs, usedFlags, jobs, ...state }) => ({
    ...state,
    timestamp: timestamp(nowMs),
    availableInternalFlags: [...usedFlags],
    jobs: [...jobs],
  }))
  const lines = (all: readonly CoreActivation[]) => all.map((activation) => lineOf(activation, startMs))
  return { core: lines(seen), own: lines(own) }
}

function lineOf(activation: CoreActivation, startMs: number): string {
  const { historyLength, continueAsNewSuggested, availableInternalFlags, jobs } = activation
  const atMs = (optionalTsToMs(activation.timestamp) ?? 0) - startMs
  const news = (jobs ?? []).map((job) => {
    const kind = jobKind(job)
    const { seq, signalName, name, result, patchId } = job[kind] as Partial<Record<string, unknown>>
    const outcome = Object.entries(result ?? {}).find(([, value]) => value != null)?.[0]
    return [kind, seq, signalName ?? name, patchId, outcome]
      .filter((part) => part !== undefined && part !== '')
      .join(' ')
  })
  const suggestion = continueAsNewSuggested === true ? ', a new run suggested' : ''
  return `${atMs} ms, ${historyLength} events${suggestion}, flags [${[...(availableInternalFlags ?? [])].join()}]: ${news.join(' + ')}`
}
