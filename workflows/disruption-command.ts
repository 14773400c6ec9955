import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow'
import type { CommandWork } from '../activities/kubernetes/contract.ts'
import type { DisruptionReason } from '../core/disruption/command.ts'
import { commandFacts, endedCommand } from '../core/history/command-facts.ts'
import { factsKey } from '../core/history/life.ts'
import { markdownCode, markdownText } from '../core/values/markdown.ts'
import { timeText } from '../core/values/time.ts'
import { clusterWaits, undoing } from './activities.ts'
import { commandStatusQuery } from './messages.ts'

export interface DisruptionCommandInput extends Omit<CommandWork, 'commandId'> {
  readonly cluster: string
  readonly id: string
  readonly reason: DisruptionReason
  /** Epoch ms until which the replacements have to be initialized. */
  readonly readyByMs: number
  /** Epoch ms of its commit. */
  readonly committedMs?: number
}

/** How a command ended: its nodes are gone, or everything done for it is undone. */
export interface CommandResult {
  readonly outcome: 'done' | 'undone'
  readonly message: string
}

/**
 * Runs one committed disruption: waits for the replacements, deletes the candidates and waits until they are gone. Their lifecycles drain them. Any
 * failure before the first deletion undoes the command.
 */
export async function disruptionCommand(input: DisruptionCommandInput): Promise<CommandResult> {
  const { id, reason, method, decision, candidates, replacements, savings, repair, readyByMs, committedMs } = input
  const names = { candidates: namesOf(candidates), replacements: namesOf(replacements) }
  let doing = ''
  let sinceMs = Date.now()
  const enter = (what: string) => {
    doing = what
    sinceMs = Date.now()
    setCurrentDetails(detailsOf(input, doing, sinceMs))
  }
  setHandler(commandStatusQuery, () => ({ doing, sinceMs, reason, ...names, readyByMs }))
  const facts = commandFacts(input, workflowInfo().startTime.getTime())
  const close = (result: CommandResult): CommandResult => {
    upsertMemo({ [factsKey]: endedCommand(facts, Date.now(), result) })
    return result
  }
  const work = { commandId: id, method, decision, candidates, replacements, savings, ...(repair && { repair }) }
  const undo = async (why: string): Promise<CommandResult> => {
    enter(`undoing: ${why}`)
    await undoing().undoCommand.executeWithOptions({ summary: `undo: ${why}`.slice(0, 200) }, [work])
    enter(`undone: ${why}`)
    return close({ outcome: 'undone', message: why })
  }
  try {
    if (replacements.length > 0) {
      enter(`waiting until ${names.replacements.join(', ')} can take pods`)
      const waited = await clusterWaits().awaitReplacements.executeWithOptions(
        { summary: `until ${replacements.length} replacements are initialized` },
        [{ replacements, readyByMs, ...(committedMs === undefined ? {} : { idleSinceMs: committedMs }) }],
      )
      if (waited.kind !== 'ready') return await undo(waited.message)
    }
    enter(`deleting ${names.candidates.join(', ')}`)
    const deleted = await clusterWaits().deleteCandidates.executeWithOptions(
      { summary: `delete ${candidates.length} NodeClaims` },
      [work],
    )
    if (deleted.kind === 'refused') return await undo(deleted.message)
    enter('done')
    return close({ outcome: 'done', message: `${candidates.length} nodes are gone` })
  } catch (error) {
    // Anything else, such as an answer that cannot be read, fails the workflow task, which is tried again.
    if (error instanceof ActivityFailure || isCancellation(error))
      await CancellationScope.nonCancellable(() => undo('the command was cut short'))
    throw error
  }
}

function namesOf(refs: readonly { readonly name: string }[]): readonly string[] {
  return refs.map(({ name }) => name)
}

function detailsOf(
  { reason, method, decision, candidates, replacements, readyByMs }: DisruptionCommandInput,
  doing: string,
  sinceMs: number,
): string {
  const list = (title: string, refs: readonly { readonly name: string }[]) =>
    refs.length === 0 ? [] : [`**${title}**`, '', ...refs.map(({ name }) => `- ${markdownText(name)}`), '']
  const limit = replacements.length === 0 ? [] : [`Replacements have until ${timeText(readyByMs)}.`]
  return [
    `**${reason}** (${method}, ${decision}): ${markdownText(doing)} since ${timeText(sinceMs)}`,
    '',
    ...list('Nodes', candidates),
    ...list('Replacements', replacements),
    ...limit,
    '',
    '**To type**',
    '',
    ...candidates.slice(0, 3).map(({ nodeName }) => `- ${markdownCode(`joiner why node ${nodeName}`)}`),
  ].join('\n')
}
