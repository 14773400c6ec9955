// What a process that is gone had in hand. Temporal gives an attempt at an activity up after its heartbeat timeout, which is long where it only waits:
// who knows that the process is gone ends its attempts at once, and living ones take them up.
import type { Client } from '@temporalio/client'
import proto from '@temporalio/proto'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import type { Logger } from 'pino'
import { pauseOf } from '../../activities/abortable-wait.ts'
import { forEachOf } from '../../activities/concurrency.ts'
import type { CommandStarter } from '../../activities/disruption/command-starter.ts'
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { listRuns } from '../../activities/workflow-runs.ts'
import { isTrue } from '../../core/conditions.ts'
import type { NodeRules } from '../../core/node-claim/node-health.ts'
import { disruptionCommandId, lifecycleId, singletonIds } from '../../core/task-queues.ts'
import { busyLifecycles } from '../../core/workflow-queries.ts'
import { grpcCode, grpcCodes } from '../temporal/grpc-code.ts'
import { isSettled } from './object-facts.ts'

const { PENDING_ACTIVITY_STATE_STARTED: started, PENDING_ACTIVITY_STATE_CANCEL_REQUESTED: cancelRequested } =
  proto.temporal.api.enums.v1.PendingActivityState

/** Activities that harm nothing when two processes are at them. Their attempts are not counted: each of the others would lose one of its few. */
const waits: ReadonlySet<string> = new Set([
  'awaitNode',
  'awaitInitialization',
  'awaitReboot',
  'awaitReplacements',
  'drain',
  'deleteInstance',
  'deleteCandidates',
])
/** Likewise, but for one process at a time. */
const acts: ReadonlySet<string> = new Set(['launch', 'prepareReboot', 'undoCommand', 'commitDisruption'])

const everyMs = 1000
/**
 * Most rounds. Polls that a process has left open with the server take next attempts, at most ten for each queue and for a minute; a process that only
 * seems to be gone loses no more than this many attempts.
 */
const mostRounds = 10
const concurrency = 20

export interface GoneProcessesInput {
  readonly deps: {
    readonly cluster: string
    /** Of Joiner's own Pods. */
    readonly namespace: string
    readonly cache: ClusterCache
    readonly nodeRules: NodeRules
    readonly commands: Pick<CommandStarter, 'listed'>
    readonly now: () => number
    readonly log: Logger
  }
  readonly client: Client
  /** Only a leader looks after others. */
  readonly isLeader: () => boolean
  /** Name of this process: that of its Pod. */
  readonly name: string
  readonly signal: AbortSignal
}

/** Takes from processes that are gone what they had in hand. */
export class GoneProcesses {
  readonly #input: GoneProcessesInput
  /** Identity of this process's workers: its name, which its predecessor in the Pod had too, and when it started. */
  readonly identity: string

  /** What this process works on. */
  readonly #inHand = new Set<string>()

  constructor(input: GoneProcessesInput) {
    this.#input = input
    this.identity = `${input.name}/${input.deps.now()}`
  }

  /** For this process's workers: keeps what they work on. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        const key = keyOf(info.workflowExecution?.workflowId ?? '', info)
        this.#inHand.add(key)
        try {
          return await next(input)
        } finally {
          this.#inHand.delete(key)
        }
      },
    },
  })

  /** Looks after its own predecessor at once, and after Pods from now on. Returns what ends that. */
  start(): () => void {
    const { deps, name, isLeader } = this.#input
    void this.isGone(name)
    return deps.cache.onChange(({ kind, before, after }) => {
      const { namespace = '', name: pod = '' } = kind === 'Pod' && after === undefined ? (before?.metadata ?? {}) : {}
      if (namespace === deps.namespace && isLeader()) void this.isGone(pod)
    })
  }

  /** A process of this name has ended. Returns how many attempts it had in hand. */
  isGone(name: string): Promise<number> {
    return this.#take((activity) => this.#isOf(name, activity), name)
  }

  /** The Lease of a process of this name ran out: it has ended, or is frozen, or the API server was away. Returns how many waits it had in hand. */
  isSilent(name: string): Promise<number> {
    const { cluster, cache } = this.#input.deps
    const launched = [...cache.nodeClaims.values()].filter(({ status }) => isTrue(status.conditions, 'Launched'))
    // Once it has its VM, a launch only waits for the Node.
    const joining = new Set(launched.map(({ metadata }) => lifecycleId(cluster, metadata)))
    const isWait = ({ activityType }: PendingActivity, workflowId: string) =>
      waits.has(activityType?.name ?? '') || (activityType?.name === 'launch' && joining.has(workflowId))
    return this.#take((activity, workflowId) => this.#isOf(name, activity) && isWait(activity, workflowId), name)
  }

  #isOf(name: string, { lastWorkerIdentity }: PendingActivity): boolean {
    return lastWorkerIdentity?.startsWith(`${name}/`) === true && lastWorkerIdentity !== this.identity
  }

  /** A connection to Temporal is gone, and with it what the server had handed to it. Returns how many attempts these were. */
  async connectionIsGone(): Promise<number> {
    // An answer to a poll of the new connection may be on its way.
    await pauseOf(2 * everyMs, this.#input.signal)
    return this.#take(
      (activity, workflowId) =>
        activity.lastWorkerIdentity === this.identity &&
        !this.#inHand.has(keyOf(workflowId, { activityId: activity.activityId ?? '', attempt: activity.attempt ?? 0 })),
      this.identity,
    )
  }

  async #take(isLost: IsLost, process: string): Promise<number> {
    const { deps, signal } = this.#input
    let ended = 0
    for (let round = 1; round <= mostRounds && !signal.aborted; round++) {
      try {
        const found = await this.#endAll(isLost)
        ended += found
        if (found === 0 && round > 1) break
      } catch (error) {
        deps.log.debug({ err: error }, 'failed to interrupt waits of a process that is gone, retrying')
      }
      await pauseOf(everyMs, signal)
    }
    if (ended > 0) deps.log.info({ process, attempts: ended }, 'took over what a process had in hand')
    return ended
  }

  async #endAll(isLost: IsLost): Promise<number> {
    const { client } = this.#input
    const { namespace } = client.options
    let ended = 0
    await forEachOf([...(await this.#workflows())], concurrency, async (workflowId) => {
      const found = await unlessGone(
        client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
      )
      for (const activity of found?.pendingActivities ?? []) {
        const { activityId, activityType } = activity
        const type = activityType?.name ?? ''
        if (!(waits.has(type) || acts.has(type)) || !isLost(activity, workflowId)) continue
        const attempt = { namespace, workflowId, activityId: activityId ?? '', identity: this.identity }
        if (await endAttempt(client, attempt, activity)) ended += 1
      }
    })
    return ended
  }

  /**
   * Ids of those that may have an activity under way: lifecycles of nodes at rest have none. A NodeClaim may be at rest or gone before the activity that
   * wrote so has ended, of which only its lifecycle knows.
   */
  async #workflows(): Promise<ReadonlySet<string>> {
    const { deps, client } = this.#input
    const busy = await workflowIds(client, busyLifecycles(deps.cluster)).catch(() => [])
    // Where the list cannot be read, attempts of commands end by their time limits.
    const commands = await deps.commands.listed().catch(() => [])
    const claims = [...deps.cache.nodeClaims.values()].filter((claim) => !isSettled(deps, claim))
    const singletons = Object.values(singletonIds).map((id) => id(deps.cluster))
    return new Set([
      ...busy,
      ...claims.map(({ metadata }) => lifecycleId(deps.cluster, metadata)),
      ...singletons,
      ...[...commands].map((id) => disruptionCommandId(deps.cluster, id)),
    ])
  }
}

async function workflowIds(client: Client, query: string): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { workflowId } of listRuns(client, query)) ids.push(workflowId)
  return ids
}

type PendingActivity = proto.temporal.api.workflow.v1.IPendingActivityInfo
type IsLost = (activity: PendingActivity, workflowId: string) => boolean

const keyOf = (
  workflowId: string,
  { activityId, attempt }: { readonly activityId: string; readonly attempt: number },
) => `${workflowId} ${activityId} ${attempt}`

interface Attempt {
  readonly namespace: string
  readonly workflowId: string
  readonly activityId: string
  readonly identity: string
}

/**
 * Ends an attempt, unless none is under way. One whose cancellation is asked for ends as cancelled: a failure would be its activity's last.
 * https://docs.temporal.io/encyclopedia/retry-policies#per-error-next-retry-delay: without a delay of its own it waits as long as the attempt's number says.
 */
async function endAttempt({ workflowService }: Client, attempt: Attempt, { state }: PendingActivity): Promise<boolean> {
  if (state === cancelRequested)
    return (await unlessGone(workflowService.respondActivityTaskCanceledById(attempt))) !== undefined
  if (state !== started) return false
  const failure = {
    message: 'its process is gone',
    applicationFailureInfo: { type: 'ProcessGone', nextRetryDelay: { nanos: 100_000_000 } },
  }
  return (await unlessGone(workflowService.respondActivityTaskFailedById({ ...attempt, failure }))) !== undefined
}

/** Undefined: what is asked for has ended. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (grpcCode(error) === grpcCodes.notFound) return undefined
    throw error
  }
}
