import { rootCause, WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import { condition, executeChild, ParentClosePolicy, setHandler, startChild, uuid4 } from '@temporalio/workflow'
import type { DisruptionProposal, PlanSummary } from '../activities/disruption/contract.ts'
import type { ApplyRequest, ConsolidateRequest, PlanRequest } from '../core/disruption/plan/plan-requests.ts'
import { commandSummary, proposedFacts } from '../core/history/command-facts.ts'
import { factsKey } from '../core/history/life.ts'
import { disruptionCommandId, disruptionPassId } from '../core/task-queues.ts'
import { plans } from './activities.ts'
import { type CommandResult, disruptionCommand } from './disruption-command.ts'
import { committedSignal, type RequestAnswer, type StartedCommand } from './messages.ts'
import { commandAttributes } from './search-attributes.ts'

/** What an operator asks of disruption. */
export type PassRequest =
  | { readonly kind: 'consolidate'; readonly request: ConsolidateRequest; readonly pauses: readonly string[] }
  | { readonly kind: 'apply'; readonly request: ApplyRequest }
  | { readonly kind: 'plan'; readonly request: PlanRequest }

/** Whose pass it is. */
export interface Disrupting {
  readonly cluster: string
  /** The namespace has no search attributes for commands. */
  readonly withoutAttributes?: true
}

interface DisruptionPassInput extends Disrupting {
  readonly asked: PassRequest
}

/** What a pass came to, in a word and a line, and as reported to the operator. */
export type PassResult =
  | { readonly outcome: 'planned'; readonly why: string; readonly plan: PlanSummary }
  | { readonly outcome: 'begun' | 'nothing' | 'refused'; readonly why: string; readonly answer: RequestAnswer }

/** How long an operator waits for the commit of a command. */
const longestWait = '5 minutes'
const paused = 'disruption is paused; joiner status says by whom'
const summaries = { consolidate: 'consolidate now', apply: 'apply a plan', plan: 'plan' } as const

/** For the loop: runs a pass as a workflow of its own, and returns its result. Errors: the child's. */
export function askedPass({ cluster, withoutAttributes }: Disrupting, asked: PassRequest): Promise<PassResult> {
  const { by } = asked.request
  return executeChild(disruptionPass, {
    workflowId: disruptionPassId(cluster, uuid4().slice(0, 8)),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    args: [{ cluster, asked, ...(withoutAttributes && { withoutAttributes }) }],
    staticSummary: `${summaries[asked.kind]}${by == null ? '' : `, by ${by}`}`.slice(0, 200),
  })
}

/** One pass that an operator asked for: evaluates, or compares a plan, starts the commands, and ends once each is committed or rejected. */
export async function disruptionPass({ cluster, asked, withoutAttributes }: DisruptionPassInput): Promise<PassResult> {
  const committed = new Map<string, StartedCommand>()
  setHandler(committedSignal, (command) => void committed.set(command.id, command))
  if (asked.kind === 'plan') {
    const plan = await plans().planDisruption.executeWithOptions({ summary: 'plan' }, [asked.request])
    return { outcome: 'planned', why: `plan ${plan.id}: ${plan.commands} commands`, plan }
  }
  const found = await (asked.kind === 'apply' ? check(asked.request) : evaluate(asked))
  if (found.kind !== 'proposed') return resultOf(found)
  const { proposals, changes, pauses } = found
  const decided = await Promise.all(
    proposals.map(async (proposal) => {
      const result = await begin({ cluster, isPlain: withoutAttributes === true, proposal, committed })
      return { proposal, result, command: committed.get(proposal.id) }
    }),
  )
  return resultOf({
    kind: 'done',
    started: decided.flatMap(({ command }) => (command === undefined ? [] : [command])),
    rejected: decided.flatMap(({ proposal: { id, candidates }, result, command }) =>
      // A reboot is handed over to the lifecycle of its node: no command goes on.
      command !== undefined || result?.outcome === 'done'
        ? []
        : [{ id, nodes: candidates.map(({ nodeName }) => nodeName), message: result?.why ?? '' }],
    ),
    changes,
    pauses,
  })
}

type Found =
  | {
      readonly kind: 'proposed'
      readonly proposals: readonly DisruptionProposal[]
      readonly changes: readonly string[]
      readonly pauses: readonly string[]
    }
  | Exclude<RequestAnswer, { readonly kind: 'done' }>

async function evaluate({ request, pauses }: Extract<PassRequest, { readonly kind: 'consolidate' }>): Promise<Found> {
  const { at: _, ...limits } = request
  const outcome = await plans().consolidateNow.executeWithOptions({ summary: 'consolidate now' }, [limits])
  if (outcome.kind === 'paused') return { kind: 'refused', message: paused }
  return { kind: 'proposed', proposals: outcome.proposals, changes: [], pauses }
}

async function check(request: ApplyRequest): Promise<Found> {
  const found = await plans().checkPlan.executeWithOptions({ summary: `plan ${request.id}` }, [request])
  return found.kind === 'holds'
    ? { kind: 'proposed', proposals: found.proposals, changes: found.changes, pauses: [] }
    : found
}

interface Beginning {
  readonly cluster: string
  readonly isPlain: boolean
  readonly proposal: DisruptionProposal
  readonly committed: ReadonlyMap<string, StartedCommand>
}

/** Starts a command and waits until it is committed, or has ended: its result then. */
async function begin({ cluster, isPlain, proposal, committed }: Beginning): Promise<CommandResult | undefined> {
  const { id, candidates } = proposal
  try {
    const child = await startChild(disruptionCommand, {
      workflowId: disruptionCommandId(cluster, id),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [{ cluster, proposal, delayMs: 0 }],
      memo: { [factsKey]: proposedFacts(proposal, Date.now(), 0) },
      staticSummary: commandSummary(proposal),
      ...(isPlain ? {} : { typedSearchAttributes: commandAttributes(candidates) }),
    })
    let ended: CommandResult | undefined
    child.result().then(
      (result) => {
        ended = result
      },
      (error) => {
        ended = { outcome: 'undone', why: rootCause(error) ?? 'its workflow was ended', savings: 0 }
      },
    )
    if (await condition(() => ended !== undefined || committed.has(id), longestWait)) return ended
    return { outcome: 'rejected', why: `not committed within ${longestWait}; it goes on by itself`, savings: 0 }
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return { outcome: 'rejected', why: 'a command for the same nodes is under way', savings: 0 }
  }
}

function resultOf(answer: RequestAnswer): PassResult {
  switch (answer.kind) {
    case 'refused':
      return { outcome: 'refused', why: answer.message, answer }
    case 'changed':
      return { outcome: 'refused', why: `the plan does not hold any more: ${answer.changes.join('; ')}`, answer }
    case 'done': {
      const { started, rejected, pauses } = answer
      const why = [
        started.length === 0 ? 'nothing to do' : `${started.length} commands begun`,
        ...rejected.map(({ nodes, message }) => `${nodes.join(', ')}: ${message}`),
        ...pauses,
      ].join('; ')
      return { outcome: started.length === 0 ? 'nothing' : 'begun', why, answer }
    }
  }
}
