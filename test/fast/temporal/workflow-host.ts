// The SDK's own workflow runtime, driven from here as its worker's thread drives it. The private parts that this takes are those of the pinned version;
// workflow-host.test.ts names them.
import vm from 'node:vm'
import { TypedSearchAttributes } from '@temporalio/common'
import proto from '@temporalio/proto'
import { type ReusableVMWorkflow, ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js'
import { type Command, type Job, timestamp } from './protocol.ts'

const { WorkflowActivation } = proto.coresdk.workflow_activation
const { WorkflowActivationCompletion } = proto.coresdk.workflow_completion

/** What a workflow hears of its history. It is the same in all activations of a workflow task. */
export interface HistoryState {
  readonly historyLength: number
  readonly historySize: number
  readonly continueAsNewSuggested: boolean
}

export interface Activation extends HistoryState {
  readonly nowMs: number
  readonly isReplaying: boolean
  /** Flags of the SDK that the history names. */
  readonly flags: readonly number[]
  readonly jobs: readonly Job[]
}

export interface Activated {
  /** The completion as a worker sends it: runs are compared by it. */
  readonly bytes: Uint8Array
  readonly commands: readonly Command[]
  readonly usedFlags: readonly number[]
}

/** The workflow's code threw where no workflow catches it. Temporal retries such a task. */
class ActivationError extends Error {}

/** Identity of a run, as its first event has it. */
export interface RunIdentity {
  readonly runId: string
  readonly workflowId: string
  readonly workflowType: string
  readonly taskQueue: string
  readonly firstRunId: string
  readonly continuedFromRunId?: string | undefined
  readonly parent?: { readonly workflowId: string; readonly runId: string } | undefined
  /** Epoch ms of the first run's start. */
  readonly startMs: number
  readonly seed: bigint
}

export const namespace = 'default'

// The SDK carries dates into the context by the name of their class, which a faked one does not have.
const RealDate = Date

// The SDK's own handler would end this process on any rejection that is not a workflow's.
Object.assign(ReusableVMWorkflowCreator, { unhandledRejectionHandlerHasBeenSet: true })

/** Loads a bundle once and hosts any number of runs of it in one context, as a worker does. */
export class WorkflowHost extends ReusableVMWorkflowCreator {
  /** `activityNames` are those of local activities: without them the runtime refuses to schedule one. */
  static load(code: string, activityNames: Iterable<string>): WorkflowHost {
    const filename = '/workflow-bundle.js'
    const sourceMap = { version: 3, file: filename, sources: [], names: [], mappings: '' }
    // Without a limit for an activation no watchdog thread is started for each, which would double its cost.
    const noLimit = undefined as unknown as number
    // Not `create()`: it installs a promise hook for the whole process.
    return new WorkflowHost(
      new vm.Script(code, { filename }),
      { code, sourceMap, filename },
      noLimit,
      new Set(activityNames),
    )
  }

  /** Begins a run's workflow. Errors: the bundle has no workflow of its type. */
  begin(run: RunIdentity, nowMs: number): HostedWorkflow {
    const seed = Buffer.alloc(8)
    seed.writeBigUInt64BE(run.seed)
    let failure: unknown
    // Async in name only: the workflow is there when the call returns.
    this.createWorkflow({
      info: infoOf(run, nowMs),
      randomnessSeed: [...seed],
      now: nowMs,
      showStackTraceSources: false,
      failureExceptionTypeNames: [],
    }).catch((error: unknown) => {
      failure = error
    })
    const workflow = ReusableVMWorkflowCreator.workflowByRunId.get(run.runId)
    if (workflow === undefined)
      throw new ActivationError(`no workflow of type ${run.workflowType} begins`, { cause: failure })
    return new HostedWorkflow(workflow)
  }
}

function infoOf({ startMs, parent, continuedFromRunId, ...run }: RunIdentity, nowMs: number) {
  return {
    workflowId: run.workflowId,
    runId: run.runId,
    workflowType: run.workflowType,
    taskQueue: run.taskQueue,
    namespace,
    firstExecutionRunId: run.firstRunId,
    originalExecutionRunId: run.runId,
    ...(continuedFromRunId === undefined ? {} : { continuedFromExecutionRunId: continuedFromRunId }),
    ...(parent === undefined ? {} : { parent: { ...parent, namespace } }),
    searchAttributes: {},
    typedSearchAttributes: new TypedSearchAttributes(),
    startTime: new RealDate(startMs),
    runStartTime: new RealDate(nowMs),
    taskTimeoutMs: 10_000,
    attempt: 1,
    historyLength: 3,
    historySize: 0,
    continueAsNewSuggested: false,
    targetWorkerDeploymentVersionChanged: false,
    currentBuildId: '',
    // The runtime replaces these inside of the context.
    unsafe: { now: () => nowMs, isReplaying: false, isReplayingHistoryEvents: false, random: (() => 0) as never },
  }
}

type Completion = Parameters<typeof WorkflowActivationCompletion.encode>[0]

/** One run's workflow in a host's context. */
export class HostedWorkflow {
  readonly #workflow: ReusableVMWorkflow
  #completion: Completion | undefined
  #thrown: unknown
  #reportBroken: (error: Error) => void = () => {}

  constructor(workflow: ReusableVMWorkflow) {
    this.#workflow = workflow
    const inside = workflow.workflowModule as unknown as Record<string, (...args: unknown[]) => unknown>
    // `activate` answers after a turn of the event loop, though all is known when its calls into the context are over.
    const watched =
      (name: string) =>
      (...args: unknown[]) => {
        try {
          const result = inside[name]?.(...args)
          if (name === 'concludeActivation') this.#completion = result as Completion
          return result
        } catch (error) {
          this.#thrown = error
          throw error
        }
      }
    Object.assign(workflow, { workflowModule: new Proxy({}, { get: (_, name) => watched(String(name)) }) })
  }

  /** Sets who hears of an error that comes after its activation has ended: a rejection that the workflow does not handle. */
  onBroken(report: (error: Error) => void): void {
    this.#reportBroken = report
  }

  /** Runs jobs until the workflow is at rest. Errors: ActivationError. */
  activate({ nowMs, historySize, flags, jobs, ...activation }: Activation): Activated {
    this.#completion = undefined
    this.#thrown = undefined
    const late = this.#workflow.activate(
      WorkflowActivation.fromObject({
        ...activation,
        runId: this.#workflow.runId,
        timestamp: timestamp(nowMs),
        historySizeBytes: historySize,
        availableInternalFlags: [...flags],
        jobs: [...jobs],
      }),
    )
    const completion = this.#completion as Completion | undefined
    void late.then(({ failed }) => {
      if (failed != null && completion !== undefined) this.#reportBroken(new ActivationError(messages(failed.failure)))
    })
    if (completion === undefined) throw new ActivationError(String(this.#thrown), { cause: this.#thrown })
    void this.#workflow.getAndResetSinkCalls()
    const bytes = WorkflowActivationCompletion.encode(completion).finish()
    const { successful } = WorkflowActivationCompletion.decode(bytes)
    return { bytes, commands: successful?.commands ?? [], usedFlags: successful?.usedInternalFlags ?? [] }
  }

  dispose(): void {
    void this.#workflow.dispose()
  }
}

function messages(failure: { message?: string | null; cause?: unknown } | null | undefined): string {
  if (failure == null) return 'an unknown failure'
  const cause = failure.cause as typeof failure | null | undefined
  return `${failure.message}${cause == null ? '' : `; ${messages(cause)}`}`
}
