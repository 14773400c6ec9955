import {
  ActivityFailure,
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow'
import type { CommitOutcome, DisruptionProposal } from '../activities/disruption/contract.ts'
import { commandFacts, endedCommand, proposedFacts } from '../core/history/command-facts.ts'
import { type CommandFacts, factsKey } from '../core/history/life.ts'
import { oneLine } from '../core/history/record.ts'
import { markdownCode, markdownText } from '../core/values/markdown.ts'
import { timeText } from '../core/values/time.ts'
import { clusterWaits, commits, undoing } from './activities.ts'
import { type CommandStatus, commandStatusQuery, committedSignal } from './messages.ts'

export interface DisruptionCommandInput {
  readonly cluster: string
  readonly proposal: DisruptionProposal
  /** It is committed so many milliseconds after its start, if it still holds then. */
  readonly delayMs: number
}

/** How a command ended: its nodes are gone, everything done for it is undone, or nothing was done since it did not hold. */
export interface CommandResult {
  readonly outcome: 'done' | 'undone' | 'rejected'
  readonly why: string
  /** USD an hour. */
  readonly savings: number
}

type Committed = Extract<CommitOutcome, { readonly kind: 'committed' }>

/** Disrupts nodes, from the proposal to the end. */
export async function disruptionCommand(input: DisruptionCommandInput): Promise<CommandResult> {
  return new Command(input).run()
}

/**
 * One command: waits out its validation delay, is committed, waits for the replacements, deletes the candidates and waits until they are gone. Their
 * lifecycles drain them. Any failure before the first deletion undoes it.
 */
class Command {
  readonly #proposal: DisruptionProposal
  readonly #delayMs: number
  #facts: CommandFacts
  #committed: Committed | undefined
  #doing = ''
  #sinceMs = Date.now()

  constructor({ proposal, delayMs }: DisruptionCommandInput) {
    this.#proposal = proposal
    this.#delayMs = delayMs
    this.#facts = proposedFacts(proposal, workflowInfo().startTime.getTime(), delayMs)
    setHandler(commandStatusQuery, () => this.#status)
  }

  async run(): Promise<CommandResult> {
    await this.#untilDue()
    const outcome = await this.#commit()
    if (outcome.kind === 'rejected') return this.#end('rejected', outcome.message)
    if (outcome.kind === 'handedOver') return this.#end('done', 'the lifecycle of the node reboots its VM')
    this.#committed = outcome
    this.#facts = commandFacts({ ...this.#proposal, ...outcome }, this.#facts.startedMs)
    try {
      upsertMemo({ [factsKey]: this.#facts })
      await this.#report(outcome)
      return await this.#carryOut(outcome)
    } catch (error) {
      // Anything else, such as an answer that cannot be read, fails the workflow task, which is tried again.
      if (error instanceof ActivityFailure || isCancellation(error))
        await CancellationScope.nonCancellable(() => this.#undo(outcome, 'the command was cut short'))
      throw error
    }
  }

  async #untilDue(): Promise<void> {
    if (this.#delayMs === 0) return
    const nodes = namesOf(this.#proposal.candidates).join(', ')
    this.#enter(`waiting to be validated again, in case pods are about to land on ${nodes}`)
    await sleep(this.#delayMs, { summary: oneLine(`${nodes}: until validated again`) })
  }

  /** A commit writes, so its outcome is awaited, whoever cancels the command. */
  #commit(): Promise<CommitOutcome> {
    this.#enter('being committed')
    const summary = `commit ${counted(this.#proposal.candidates.length, 'node')}`
    return CancellationScope.nonCancellable(() =>
      commits().commitDisruption.executeWithOptions({ summary }, [this.#proposal]),
    )
  }

  /** Tells the pass that an operator asked for, which waits to say what it has begun. One that has ended need not know. */
  async #report({ candidates, replacements, savings }: Committed): Promise<void> {
    const { parent } = workflowInfo()
    if (parent === undefined) return
    const { id, reason } = this.#proposal
    const nodes = candidates.map(({ nodeName }) => nodeName)
    const began = { id, reason, nodes, replacements: namesOf(replacements), savings }
    try {
      await getExternalWorkflowHandle(parent.workflowId).signal(committedSignal, began)
    } catch (error) {
      if (isCancellation(error)) throw error
    }
  }

  async #carryOut(committed: Committed): Promise<CommandResult> {
    const { candidates, replacements, readyByMs, committedMs } = committed
    if (replacements.length > 0) {
      this.#enter(`waiting until ${namesOf(replacements).join(', ')} can take pods`)
      const waited = await clusterWaits().awaitReplacements.executeWithOptions(
        { summary: `until ${counted(replacements.length, 'replacement')} can take pods` },
        [{ replacements, readyByMs, idleSinceMs: committedMs }],
      )
      if (waited.kind !== 'ready') return this.#undo(committed, waited.message)
    }
    this.#enter(`deleting ${namesOf(candidates).join(', ')}`)
    const deleted = await clusterWaits().deleteCandidates.executeWithOptions(
      { summary: `delete ${counted(candidates.length, 'NodeClaim')}` },
      [this.#work(committed)],
    )
    if (deleted.kind === 'refused') return this.#undo(committed, deleted.message)
    return this.#close('done', `${counted(candidates.length, 'node')} removed`)
  }

  async #undo(committed: Committed, why: string): Promise<CommandResult> {
    this.#enter(`undoing: ${why}`)
    const summary = `undo: ${why}`.slice(0, 200)
    await undoing().undoCommand.executeWithOptions({ summary }, [this.#work(committed)])
    return this.#close('undone', why)
  }

  #work({ candidates, replacements, savings }: Committed) {
    const { id, method, decision, repair } = this.#proposal
    return { commandId: id, method, decision, candidates, replacements, savings, ...(repair && { repair }) }
  }

  /** The end of a command that was committed: its memo says how it ended. */
  #close(outcome: 'done' | 'undone', why: string): CommandResult {
    upsertMemo({ [factsKey]: endedCommand(this.#facts, Date.now(), { outcome, why }) })
    return this.#end(outcome, why)
  }

  #end(outcome: CommandResult['outcome'], why: string): CommandResult {
    this.#enter(outcome === 'done' ? 'done' : `${outcome}: ${why}`)
    return { outcome, why, savings: outcome === 'done' ? this.#facts.savings : 0 }
  }

  #enter(what: string): void {
    this.#doing = what
    this.#sinceMs = Date.now()
    setCurrentDetails(detailsOf(this.#proposal, this.#status))
  }

  get #status(): CommandStatus {
    const { replacements = [], readyByMs } = this.#committed ?? {}
    const isValidating = this.#committed === undefined && this.#delayMs > 0
    return {
      doing: this.#doing,
      sinceMs: this.#sinceMs,
      reason: this.#proposal.reason,
      candidates: namesOf((this.#committed ?? this.#proposal).candidates),
      replacements: namesOf(replacements),
      ...(isValidating && this.#facts.dueMs !== undefined ? { dueMs: this.#facts.dueMs } : {}),
      ...(readyByMs === undefined ? {} : { readyByMs }),
    }
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function namesOf(refs: readonly { readonly name: string }[]): readonly string[] {
  return refs.map(({ name }) => name)
}

function detailsOf(
  { method, decision, candidates }: DisruptionProposal,
  { reason, doing, sinceMs, candidates: names, replacements, readyByMs }: CommandStatus,
): string {
  const list = (title: string, found: readonly string[]) =>
    found.length === 0 ? [] : [`**${title}**`, '', ...found.map((name) => `- ${markdownText(name)}`), '']
  const isLimited = replacements.length > 0 && readyByMs !== undefined
  return [
    `**${reason}** (${method}, ${decision}): ${markdownText(doing)} since ${timeText(sinceMs)}`,
    '',
    ...list('Nodes', names),
    ...list('Replacements', replacements),
    ...(isLimited ? [`Replacements have until ${timeText(readyByMs)}.`] : []),
    '',
    '**To type**',
    '',
    ...candidates.slice(0, 3).map(({ nodeName }) => `- ${markdownCode(`joiner why node ${nodeName}`)}`),
  ].join('\n')
}
