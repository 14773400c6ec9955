import type { PauseRequest } from '../../../core/pauses/pause-requests.ts'
import { applyUpdate } from '../../../workflows/messages.ts'
import { askNode, findLifecycle, type NodeAsking } from '../../cli/node/run.ts'
import { type Asking, askLoop, requestDisruption } from '../../cli/operate/ask-loop.ts'
import { answerLines } from '../../cli/operate/request-answer.ts'
import { applyMs } from '../../cli/operate/requests.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import type { ActionAnswer, ActionRequest } from '../contract.ts'
import { RouteError } from '../server/api.ts'

/** Who acts, and when. */
export interface Acting {
  /** As Kubernetes knows them. */
  readonly by: string
  /** Epoch ms. */
  readonly now: number
}

type ActionOf<Kind extends ActionRequest['kind']> = Extract<ActionRequest, { readonly kind: Kind }>

/**
 * Does what the commands pause, resume, node hold, node release and apply do. Errors: `CommandError` with a refusal, or where nobody can be asked;
 * Temporal's.
 */
export function act(access: TemporalAccess, request: ActionRequest, acting: Acting): Promise<ActionAnswer> {
  switch (request.kind) {
    case 'pause':
    case 'resume':
      return changePause(access, request, acting)
    case 'hold':
    case 'release':
      return changeHold(access, request, acting)
    case 'apply':
      return apply(access, request, acting)
  }
}

async function changePause(
  access: TemporalAccess,
  request: ActionOf<'pause' | 'resume'>,
  { by, now }: Acting,
): Promise<ActionAnswer> {
  const { loop, nodePool } = request
  if (loop === 'provisioning' && nodePool !== undefined)
    throw new RouteError(400, 'provisioning is paused as a whole; leave the NodePool out')
  const scope: Pick<PauseRequest, 'scope'> = nodePool === undefined ? {} : { scope: { nodePool } }
  const asking: Asking =
    request.kind === 'pause'
      ? { what: 'pause', request: { ...scope, by, reason: request.reason, ...untilOf(request.forMs, now) } }
      : { what: 'resume', request: { ...scope, by } }
  const asked = await askLoop(access, loop, asking)
  return asked.kind === 'done'
    ? { isDone: true, message: asked.answer.message }
    : { isDone: false, message: asked.message }
}

async function changeHold(
  access: TemporalAccess,
  request: ActionOf<'hold' | 'release'>,
  { by, now }: Acting,
): Promise<ActionAnswer> {
  const asking: NodeAsking =
    request.kind === 'hold'
      ? { what: 'hold', request: { by, reason: request.reason, ...untilOf(request.forMs, now) } }
      : { what: 'release', request: { by } }
  const asked = await askNode(access, await findLifecycle(access, request.key), asking)
  return { isDone: asked.kind === 'done', message: asked.message }
}

async function apply(access: TemporalAccess, { plan }: ActionOf<'apply'>, { by }: Acting): Promise<ActionAnswer> {
  const answer = await requestDisruption(access, { update: applyUpdate, request: { id: plan, by }, limitMs: applyMs })
  return { isDone: answer.kind === 'done', message: answerLines(answer, 'nothing was begun').join('\n') }
}

function untilOf(forMs: number | undefined, now: number): { readonly until?: string } {
  return forMs === undefined ? {} : { until: new Date(now + forMs).toISOString() }
}
