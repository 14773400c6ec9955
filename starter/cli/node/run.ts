import type { UpdateDefinition } from '@temporalio/common'
import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { similarName } from '../../../api/rules/similar-name.ts'
import type {
  ForceFinishRequest,
  HoldRequest,
  ReleaseRequest,
  RetryRequest,
} from '../../../core/node-claim/node-requests.ts'
import { defined } from '../../../core/values/defined.ts'
import {
  forceFinishUpdate,
  holdUpdate,
  type NodeAnswer,
  releaseUpdate,
  retryNowUpdate,
} from '../../../workflows/messages.ts'
import { isForPrograms, note, print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { eventsOfClaim } from '../../picture/events.ts'
import { listed, nodeClaims } from '../../picture/from-cluster.ts'
import type { Gaps } from '../../picture/gaps.ts'
import { findLifecycles, type LifecycleFacts, readLifecycles } from '../../picture/lifecycles.ts'
import { needed, noteGaps } from '../../picture/picture.ts'
import { type TemporalAccess } from '../../temporal/connect.ts'
import { pictureOf } from '../access/cluster.ts'
import { askLoop, failingStep, noAnswer, requestTime, updateAnswer } from '../operate/ask-loop.ts'
import { clusterFacts } from '../operate/operator.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { explained } from '../shared/explained.ts'
import type { ListFormat } from '../shared/options.ts'
import {
  detailsDocument,
  detailsJson,
  detailsOf,
  isWhole,
  listTable,
  type NodeFacts,
  nodeRows,
  rowJson,
  rowNamed,
} from './report.ts'

interface Shown extends TemporalOptions {
  readonly output: ListFormat
}

/** Prints all nodes. Returns the exit code. */
export async function listNodes(
  options: Shown & { readonly nodepool?: string; readonly selector?: string },
): Promise<number> {
  const facts = await readBoth(options)
  const now = Date.now()
  const { nodepool } = options
  const chosen = await namesWith(options.selector, options)
  const rows = nodeRows(facts, now).filter(
    ({ nodePool, nodeClaim }) =>
      (nodepool === undefined || nodePool === nodepool) && (chosen?.includes(nodeClaim) ?? true),
  )
  if (facts.claims === undefined && facts.lifecycles === undefined) return 1
  await print(options.output, { json: rows.map(rowJson), document: () => [[listTable(rows, now)]] })
  const isWhole = facts.claims !== undefined && facts.lifecycles?.every(({ status }) => status !== 'silent') === true
  return isWhole ? 0 : 1
}

/** Returns the NodeClaims with these labels. Errors: `CommandError`. */
async function namesWith(selector: string | undefined, options: Shown): Promise<readonly string[] | undefined> {
  if (selector === undefined) return undefined
  const parts = { claims: listed('nodeclaims', decodeNodeClaim, { labelSelector: selector }) }
  const { claims } = needed(await pictureOf(options, parts, Date.now()), parts)
  return claims.map(({ metadata }) => metadata.name)
}

/** Prints one node in full. Returns the exit code. */
export async function showNode(name: string, options: Shown): Promise<number> {
  const facts = await readBoth(options, name)
  const now = Date.now()
  // Other claims are not without a lifecycle: only those of this name were looked for.
  const row = rowNamed(nodeRows(facts, now), name)
  if (row === undefined) {
    const isKnown = facts.claims !== undefined && facts.lifecycles !== undefined
    console.error(`there is no Node and no NodeClaim "${name}"; joiner node list`)
    return isKnown ? 2 : 1
  }
  const picture = await explained(row.nodeClaim, options, now)
  const ofClaim = { events: eventsOfClaim({ name: row.nodeClaim, uid: row.uid }) }
  const { events, ...gaps } = picture ?? (await pictureOf(options, ofClaim, now))
  // A report names its own.
  if (picture === undefined) noteGaps(gaps as Gaps)
  const details = detailsOf(row, facts, defined({ picture, events }))
  await print(options.output, { json: detailsJson(details), document: () => detailsDocument(details, now) })
  return isWhole(details) ? 0 : 1
}

/** What Temporal and the cluster report, side by side; what does not answer is reported and left out. */
async function readBoth(options: TemporalOptions, only?: string): Promise<NodeFacts> {
  let lifecycles: readonly LifecycleFacts[] | undefined
  const [{ nodeClaims: claims, ...gaps }] = await Promise.all([
    pictureOf(options, { nodeClaims }, Date.now()),
    withTemporal(options, async (access) => {
      lifecycles = await readLifecycles(access, only)
      return 0
    }),
  ])
  if (lifecycles === undefined) console.error('note: without Temporal, phases come from the conditions of NodeClaims')
  noteGaps(gaps)
  if (claims === undefined) console.error('note: without NodeClaims, holds and conditions are missing')
  return { ...(claims && { claims }), ...(lifecycles && { lifecycles }) }
}

/** A pause of one node, as Temporal and older versions take it, holds it as well: it has the same end. */
async function endPauses(access: TemporalAccess, { name, nodeName }: LifecycleFacts, by: string): Promise<void> {
  for (const node of [name, ...(nodeName === undefined ? [] : [nodeName])]) {
    try {
      const asked = await askLoop(access, 'disruption', { what: 'resume', request: { by, scope: { node } } })
      if (asked.kind === 'done' && asked.answer.before.length > 0) note(asked.answer.message)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      note(`whether a pause holds ${node} is not known: ${error.message}`)
    }
  }
}

/** Asks the lifecycle of one node for something and prints what came of it. Returns the exit code. */
export async function askOne(
  name: string,
  options: Shown & { readonly by?: string },
  asking: NodeAsking,
): Promise<number> {
  return withTemporal(options, async (access) => {
    process.once('SIGINT', () => {
      console.error('interrupted; what was asked may be carried out all the same: joiner node show says')
      process.exit(130)
    })
    const lifecycle = await findLifecycle(access, name)
    const by = options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
    const answer = await askNode(access, lifecycle, { ...asking, request: { ...asking.request, by } } as NodeAsking)
    if (isForPrograms(options.output) || answer.kind === 'done')
      await print(options.output, {
        json: { nodeClaim: lifecycle.name, ...answer },
        document: () => [[answer.message]],
      })
    else note(answer.message)
    if (asking.what === 'release') await endPauses(access, lifecycle, by)
    return answer.kind === 'done' ? 0 : 1
  })
}

/** A lifecycle answers within a second, also where it writes to the API server. */
const answerMs = 15_000
/** Asking Azure, tagging a VM and removing finalizers, each perhaps more than once. */
const forceMs = 150_000

export type NodeAsking =
  | { readonly what: 'retryNow'; readonly request: RetryRequest }
  | { readonly what: 'hold'; readonly request: HoldRequest }
  | { readonly what: 'release'; readonly request: ReleaseRequest }
  | { readonly what: 'forceFinish'; readonly request: ForceFinishRequest }

const updates = {
  retryNow: retryNowUpdate,
  hold: holdUpdate,
  release: releaseUpdate,
  forceFinish: forceFinishUpdate,
} as const

/** What came of asking; `waiting`: it is not done, and is done later: nobody answers now, or what does it fails. */
type NodeAsked = NodeAnswer | { readonly kind: 'waiting'; readonly message: string }

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
  const answer = await updateAnswer(
    access,
    { workflowId: lifecycle.workflowId, missing: missing(access, lifecycle.name) },
    {
      update: updates[asking.what] as UpdateDefinition<NodeAnswer, [object]>,
      request: asking.request,
      limitMs: asking.what === 'forceFinish' ? forceMs : answerMs,
    },
  )
  if (answer !== undefined) return answer
  const { client, connection, cluster } = access
  const isHold = asking.what === 'hold' || asking.what === 'release'
  const failing = isHold ? await failingStep(access, lifecycle.workflowId, 'writeHold') : undefined
  if (failing !== undefined)
    return {
      kind: 'waiting',
      message: `it is not done: ${failing}. It is done once that succeeds. Check: joiner node show ${lifecycle.name}`,
    }
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

function missing({ cluster, namespace, address }: TemporalAccess, name: string): string {
  return (
    `no lifecycle of a Node or NodeClaim "${name}" of cluster "${cluster}" runs in the namespace "${namespace}" of Temporal at ${address}. ` +
    'Check the name (joiner node list; kubectl get nodeclaims), --cluster-name and --temporal-namespace; a running Joiner starts a missing lifecycle within 5 minutes'
  )
}
