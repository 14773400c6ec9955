import proto from '@temporalio/proto'
import { forEachOf } from '../../activities/concurrency.ts'
import { listRuns } from '../../activities/workflow-runs.ts'
import { claimOfLifecycle } from '../../core/task-queues.ts'
import { defined } from '../../core/values/defined.ts'
import { ofNodeOrClaim, runningLifecycles } from '../../core/workflow-queries.ts'
import { type LifecycleStatus, lifecycleStatusQuery } from '../../workflows/messages.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import type { TemporalAccess } from '../temporal/connect.ts'
import { type Described, innermost } from './from-temporal.ts'

/** A step that Temporal tries again and again. */
interface Retried {
  /** Name of the activity. */
  readonly step: string
  readonly attempt: number
  readonly failure: string
  /** Epoch ms; absent: it is being tried now. */
  readonly againMs?: number
}

/** The lifecycle of a NodeClaim, as far as Temporal says. */
export interface LifecycleFacts {
  readonly workflowId: string
  /** Name and UID of its NodeClaim, of which the id of the workflow has the first eight characters. */
  readonly name: string
  readonly uid: string
  /** As the search attributes say. */
  readonly phase: string
  readonly nodeName?: string
  readonly nodePool?: string
  /** What the lifecycle itself says; `silent`: it was asked and no worker answered; absent: it was not asked, since it rests. */
  readonly status?: LifecycleStatus | 'silent'
  readonly retried: readonly Retried[]
}

/** What a lifecycle says of itself; undefined: it was not asked, or does not answer. */
export function answerOf(lifecycle: LifecycleFacts | undefined): LifecycleStatus | undefined {
  return lifecycle?.status === 'silent' ? undefined : lifecycle?.status
}

/** A lifecycle answers at once; longer means that nobody works for it. */
const queryMs = 3000
const listMs = 15_000
/** Lives that are asked what they do; a restless cluster has no more at a time, and each question costs a worker some milliseconds. */
const mostAsked = 200
const askedAtOnce = 20
/** All questions together: lifecycles that nobody works for would each take their time. */
const askingMs = 10_000

/** The lifecycles that run, those that do not rest with what they say. `only`: of the Node or NodeClaim of that name, asked in any case. */
export async function readLifecycles(access: TemporalAccess, only?: string): Promise<readonly LifecycleFacts[]> {
  const lifecycles = await findLifecycles(access, only)
  const isAsked = ({ phase }: LifecycleFacts) => only !== undefined || phase !== 'Ready'
  const asked = lifecycles.filter(isAsked).slice(0, mostAsked)
  const answers = new Map<string, LifecycleFacts>()
  const giveUpAt = Date.now() + askingMs
  await forEachOf(asked, askedAtOnce, async (lifecycle) => {
    answers.set(
      lifecycle.workflowId,
      Date.now() < giveUpAt ? await ask(access, lifecycle) : { ...lifecycle, status: 'silent' },
    )
  })
  return lifecycles.map((lifecycle) => answers.get(lifecycle.workflowId) ?? lifecycle)
}

/** The lifecycles that run, as their search attributes say. `only`: of the Node or NodeClaim of that name. */
export function findLifecycles(access: TemporalAccess, only?: string): Promise<readonly LifecycleFacts[]> {
  return access.connection.withDeadline(Date.now() + listMs, () => listLives(access, only))
}

async function listLives(
  { client, cluster }: TemporalAccess,
  only: string | undefined,
): Promise<readonly LifecycleFacts[]> {
  const named = only === undefined ? '' : ` AND ${ofNodeOrClaim(cluster, only)}`
  const query = `${runningLifecycles(cluster)}${named}`
  const lifecycles: LifecycleFacts[] = []
  for await (const { workflowId, attribute } of listRuns(client, query)) {
    const nodeName = attribute(searchAttributes.nodeName.name)
    const claim = claimOfLifecycle(cluster, workflowId)
    // The query matches longer names too.
    if (claim === undefined || (only !== undefined && claim.name !== only && nodeName !== only)) continue
    const nodePool = attribute(searchAttributes.nodePool.name)
    lifecycles.push({
      workflowId,
      ...claim,
      phase: attribute(searchAttributes.nodePhase.name) ?? 'Unknown',
      ...defined({ nodeName, nodePool }),
      retried: [],
    })
  }
  return lifecycles
}

async function ask({ client, connection }: TemporalAccess, lifecycle: LifecycleFacts): Promise<LifecycleFacts> {
  const handle = client.workflow.getHandle(lifecycle.workflowId)
  const limited = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + queryMs, work)
  const [status, retried] = await Promise.all([
    limited(() => handle.query(lifecycleStatusQuery)).catch(() => 'silent' as const),
    limited(() => handle.describe()).then(
      ({ raw }) => retriedSteps(raw),
      () => [],
    ),
  ])
  return { ...lifecycle, status, retried }
}

function retriedSteps({ pendingActivities }: Described): readonly Retried[] {
  return (pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure, state, nextAttemptScheduleTime }) => {
    if (!lastFailure) return []
    const waits = state === proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    const seconds = Number(nextAttemptScheduleTime?.seconds ?? 0)
    return [
      {
        step: activityType?.name ?? 'a step',
        attempt: attempt ?? 1,
        failure: innermost(lastFailure),
        ...(waits && seconds > 0 ? { againMs: seconds * 1000 } : {}),
      },
    ]
  })
}
