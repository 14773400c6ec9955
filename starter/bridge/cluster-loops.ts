import { type Client, WorkflowIdConflictPolicy, WorkflowNotFoundError } from '@temporalio/client'
import { singletonIds, taskQueue } from '../../core/task-queues.ts'
import type { disruptionLoop, provisioningLoop } from '../../workflows/index.ts'

/** Memo of the two loops: UID of the cluster's Namespace kube-system. It carries over when a loop continues as new. */
const clusterUidMemo = 'clusterUid'

/** Whose a cluster's name is in a namespace of Temporal. */
export type NameOwner =
  | { readonly kind: 'ours' }
  | { readonly kind: 'unused' }
  /** The loop of that id carries another UID, or none. */
  | { readonly kind: 'foreign'; readonly workflowId: string; readonly runId: string; readonly uid: string | undefined }

export interface LoopsInput {
  /** Without a codec: the memo must be readable to other clusters, which have other keys. */
  readonly client: Pick<Client, 'workflow'>
  readonly cluster: string
  readonly clusterUid: string
  /** Whether the namespace has the search attributes of disruption commands. Default: yes. */
  readonly withAttributes?: boolean
}

/** The loops of a cluster, by their names in `singletonIds`. */
export const loops = ['provisioningLoop', 'disruptionLoop'] as const

/** Reads whose the name is. Errors: what Temporal says. */
export async function nameOwner(input: LoopsInput): Promise<NameOwner> {
  const found = await Promise.all(loops.map((loop) => ownerOfLoop(input, loop)))
  return found.find(({ kind }) => kind === 'foreign') ?? found.find(({ kind }) => kind === 'ours') ?? { kind: 'unused' }
}

/**
 * Starts the two loops unless they run. The first one decides whose the name is: of two clusters that start it at once Temporal lets one through, and
 * the other finds that one's UID. Returns the owner; nothing was started or changed where it is somebody else. Errors: what Temporal says.
 */
export async function startLoops(input: LoopsInput): Promise<NameOwner> {
  const before = await nameOwner(input)
  if (before.kind === 'foreign') return before
  for (const loop of loops) {
    await startLoop(input, loop)
    const owner = await ownerOfLoop(input, loop)
    if (owner.kind === 'foreign') return owner
  }
  return { kind: 'ours' }
}

/** Describes a loop's run; undefined where it does not run. Errors: what Temporal says. */
export async function runningLoop(
  { client, cluster }: Pick<LoopsInput, 'client' | 'cluster'>,
  loop: (typeof loops)[number],
) {
  try {
    const run = await client.workflow.getHandle(singletonIds[loop](cluster)).describe()
    return run.status.name === 'RUNNING' ? run : undefined
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}

/** Ends the loops that another cluster left under the name. Returns their ids. Errors: what Temporal says. */
export async function freeName(input: LoopsInput): Promise<readonly string[]> {
  const ended: string[] = []
  for (const loop of loops) {
    const owner = await ownerOfLoop(input, loop)
    if (owner.kind !== 'foreign') continue
    await input.client.workflow
      .getHandle(owner.workflowId, owner.runId)
      .terminate(`the cluster with the UID ${input.clusterUid} took over its name (joiner admin takeover --temporal)`)
    ended.push(owner.workflowId)
  }
  return ended
}

/** Why this cluster does no work, with the remedy. Undefined: the name is this cluster's, or nobody's. */
export function nameProblem(
  owner: NameOwner,
  input: Omit<LoopsInput, 'client'>,
  namespace: string,
): string | undefined {
  if (owner.kind !== 'foreign') return undefined
  const { cluster, clusterUid } = input
  const other =
    owner.uid === undefined ? 'a cluster that did not leave its UID' : `the cluster with the UID ${owner.uid}`
  return `CLUSTER_NAME "${cluster}" is in use in Temporal's namespace "${namespace}" by ${other} (workflow ${owner.workflowId}), and this cluster has the UID ${clusterUid}; set another cluster.name or temporal.namespace in the chart's values, or run when the other cluster is gone: joiner admin takeover --temporal --cluster-name ${cluster}`
}

async function ownerOfLoop(
  { client, cluster, clusterUid }: LoopsInput,
  loop: (typeof loops)[number],
): Promise<NameOwner> {
  const run = await runningLoop({ client, cluster }, loop)
  if (run === undefined) return { kind: 'unused' }
  const uid = run.memo?.[clusterUidMemo]
  if (uid === clusterUid) return { kind: 'ours' }
  const workflowId = singletonIds[loop](cluster)
  return { kind: 'foreign', workflowId, runId: run.runId, uid: typeof uid === 'string' ? uid : undefined }
}

async function startLoop(
  { client, cluster, clusterUid, withAttributes = true }: LoopsInput,
  loop: (typeof loops)[number],
): Promise<void> {
  await client.workflow.start<typeof provisioningLoop | typeof disruptionLoop>(loop, {
    workflowId: singletonIds[loop](cluster),
    taskQueue: taskQueue('core', cluster),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    // A pause is a brake: it must not wait behind the tasks of the many lifecycles whose making it is to stop.
    priority: { priorityKey: 1 },
    memo: { [clusterUidMemo]: clusterUid },
    args: [{ cluster, ...(loop === 'disruptionLoop' && !withAttributes && { withoutAttributes: true }) }],
    staticSummary:
      loop === 'provisioningLoop'
        ? 'pods that need a node -> NodeClaims'
        : 'nodes that are not needed -> disruption commands',
  })
}
