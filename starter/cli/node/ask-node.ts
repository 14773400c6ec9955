import type { UpdateDefinition } from '@temporalio/common'
import { similarName } from '../../../api/rules/similar-name.ts'
import type {
  ForceFinishRequest,
  HoldRequest,
  ReleaseRequest,
  RetryRequest,
} from '../../../core/node-claim/node-requests.ts'
import {
  forceFinishUpdate,
  holdUpdate,
  type NodeAnswer,
  releaseUpdate,
  retryNowUpdate,
} from '../../../workflows/messages.ts'
import { noAnswer, requestTime, updateAnswer } from '../operate/ask-loop.ts'
import type { TemporalAccess } from '../operate/temporal-access.ts'
import { CommandError } from '../shared/command-error.ts'
import { findLifecycles } from './read.ts'
import type { LifecycleFacts } from './report.ts'

/** A lifecycle answers within a second, also where it writes to the API server. */
const answerMs = 15_000
/** Asking Azure, tagging a VM and removing finalizers, each perhaps more than once. */
const forceMs = 150_000

export type NodeAsking =
  | { readonly what: 'retryNow'; readonly request: RetryRequest }
  | { readonly what: 'hold'; readonly request: HoldRequest }
  | { readonly what: 'release'; readonly request: ReleaseRequest }
  | { readonly what: 'forceFinish'; readonly request: ForceFinishRequest }

/** What came of asking; `waiting`: nobody answers now, and the message waits with Temporal. */
export type NodeAsked = NodeAnswer | { readonly kind: 'waiting'; readonly message: string }

/** The lifecycle of the Node or NodeClaim of that name. Errors: there is none, or more than one. */
export async function findLifecycle(access: TemporalAccess, name: string): Promise<LifecycleFacts> {
  const [lifecycle, ...others] = await findLifecycles(access, name)
  if (lifecycle === undefined) {
    const all = await findLifecycles(access)
    const meant = similarName(
      name,
      all.flatMap((one) => [one.nodeName ?? [], one.name].flat()),
    )
    throw new CommandError(`${missing(access, name)}${meant === undefined ? '' : `. Did you mean "${meant}"?`}`)
  }
  if (others.length > 0)
    throw new CommandError(
      `several lifecycles are of "${name}"; give the NodeClaim's name: ${[lifecycle, ...others].map((one) => one.name).join(', ')}`,
    )
  return lifecycle
}

/**
 * Asks a lifecycle by an update. When no answer comes the same is left as a signal, which Temporal keeps, except for what cannot be taken back. Errors:
 * a refusal of what was asked, and a lifecycle that has ended.
 */
export async function askNode(
  access: TemporalAccess,
  lifecycle: LifecycleFacts,
  asking: NodeAsking,
): Promise<NodeAsked> {
  const at = requestTime()
  const answer = await answerOf(access, lifecycle, asking)
  if (answer !== undefined) return answer
  const { client, connection, cluster } = access
  const check = 'Check: kubectl get pods --namespace joiner, then joiner status'
  if (asking.what === 'forceFinish')
    throw new CommandError(`${noAnswer(cluster, forceMs)} ${check}. It may still be carried out`)
  const handle = client.workflow.getHandle(lifecycle.workflowId)
  // A brake holds however long the outage is.
  const left = asking.what === 'hold' ? asking.request : { ...asking.request, at }
  await connection.withDeadline(Date.now() + answerMs, () => handle.signal(asking.what, left))
  const until = asking.what === 'hold' ? '' : ' within two minutes; later it is refused'
  return {
    kind: 'waiting',
    message: `${noAnswer(cluster, answerMs)} The message waits with Temporal and is carried out once a worker is back${until}. ${check}`,
  }
}

function answerOf(
  access: TemporalAccess,
  lifecycle: LifecycleFacts,
  asking: NodeAsking,
): Promise<NodeAnswer | undefined> {
  const to = { workflowId: lifecycle.workflowId, missing: missing(access, lifecycle.name) }
  const send = <Request>(update: UpdateDefinition<NodeAnswer, [Request]>, request: Request, limitMs = answerMs) =>
    updateAnswer(access, to, { update, request, limitMs })
  switch (asking.what) {
    case 'retryNow':
      return send(retryNowUpdate, asking.request)
    case 'hold':
      return send(holdUpdate, asking.request)
    case 'release':
      return send(releaseUpdate, asking.request)
    case 'forceFinish':
      return send(forceFinishUpdate, asking.request, forceMs)
  }
}

function missing({ cluster, namespace, address }: TemporalAccess, name: string): string {
  return (
    `no lifecycle of a Node or NodeClaim "${name}" of cluster "${cluster}" runs in the namespace "${namespace}" of Temporal at ${address}. ` +
    'Check the name (joiner node list; kubectl get nodeclaims), --cluster-name and --temporal-namespace; a running Joiner starts a missing lifecycle within 5 minutes'
  )
}
