import type { RequestAnswer, StartedCommand } from '../../../workflows/messages.ts'
import { isForPrograms, note, say, structured } from '../../document/print.ts'
import { counted, few, monthly } from '../../document/words.ts'
import type { OutputFormat } from '../shared/options.ts'
import type { Ended } from './follow.ts'
import { follow } from './follow.ts'
import type { TemporalAccess } from './temporal-access.ts'

interface Options {
  readonly output: OutputFormat
  /** Whether the commands are followed to their end. */
  readonly wait: boolean
  /** What is said when there are no commands. */
  readonly nothing: string
}

/** Prints what came of a request, follows its commands to their end, and returns the exit code. */
export async function carryOut(access: TemporalAccess, answer: RequestAnswer, options: Options): Promise<number> {
  const { output } = options
  const isRead = !isForPrograms(output)
  const tell = isRead ? say : note
  const print = answer.kind === 'done' ? tell : note
  if (isRead) print(...answerLines(answer, options.nothing))
  const started = answer.kind === 'done' ? answer.started : []
  const ended = options.wait ? await follow(access, started, tell) : []
  const json = { ...answer, ...(options.wait ? { ended } : {}) }
  if (isForPrograms(output)) process.stdout.write(await structured(output, json))
  else if (!options.wait && started.length > 0) tell('they go on by themselves; joiner status shows them')
  return exitCode(answer, ended)
}

/** What came of a request, for people. */
export function answerLines(answer: RequestAnswer, nothing: string): readonly string[] {
  if (answer.kind === 'refused') return [answer.message]
  const changes = answer.changes.map((change) => `CHANGED  ${change}`)
  if (answer.kind === 'changed') return [...changes, 'nothing was done; make a new plan with joiner plan']
  const { started, rejected, pauses } = answer
  return [
    ...changes,
    ...pauses.map((pause) => `PAUSED   ${pause}`),
    ...rejected.map(({ id, nodes, message }) => `REJECTED ${id} (${few(nodes, 5)}): ${message}`),
    ...started.map((command) => `BEGUN    ${startedText(command)}`),
    ...(started.length + rejected.length === 0 ? [nothing] : []),
  ]
}

function startedText({ id, reason, nodes, replacements, savings }: StartedCommand): string {
  const comes = replacements.length === 0 ? '' : `, ${few(replacements, 3)} for ${nodes.length === 1 ? 'it' : 'them'}`
  const saves = savings > 0 ? `, ${monthly(savings)} USD a month saved` : ''
  return `${id}: ${reason}, ${counted(nodes.length, 'node')} (${few(nodes, 5)})${comes}${saves}`
}

/** Refused, changed, rejected or undone is not what was asked for. */
export function exitCode(answer: RequestAnswer, ended: readonly Ended[]): number {
  if (answer.kind !== 'done' || answer.rejected.length > 0 || answer.changes.length > 0) return 1
  return ended.every(({ outcome }) => outcome === 'done') ? 0 : 1
}
