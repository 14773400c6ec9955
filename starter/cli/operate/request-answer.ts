import { disruptionCommandId } from '../../../core/task-queues.ts'
import type { CommandResult } from '../../../workflows/disruption-command.ts'
import { commandStatusQuery, type RequestAnswer, type StartedCommand } from '../../../workflows/messages.ts'
import { isForPrograms, note, say, structured } from '../../document/print.ts'
import { counted, few, monthly } from '../../document/words.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import type { OutputFormat } from '../shared/options.ts'

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
  const write = isRead ? say : note
  const print = answer.kind === 'done' ? write : note
  if (isRead) print(...answerLines(answer, options.nothing))
  const started = answer.kind === 'done' ? answer.started : []
  const ended = options.wait ? await follow(access, started, write) : []
  const json = { ...answer, ...(options.wait ? { ended } : {}) }
  if (isForPrograms(output)) process.stdout.write(await structured(output, json))
  else if (!options.wait && started.length > 0) write('they go on by themselves; joiner status shows them')
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

const lookEveryMs = 1000
const requestMs = 5000

/** How a command ended. `failed`: its workflow did, or was stopped by somebody. */
interface Ended {
  readonly id: string
  readonly outcome: CommandResult['outcome'] | 'failed'
  readonly message: string
}

/**
 * Looks at commands until all have ended. `say` hears of each step. Ctrl-C ends the looking, not the commands. Errors: Temporal does not
 * answer any more.
 */
async function follow(
  access: TemporalAccess,
  started: readonly StartedCommand[],
  say: (line: string) => void,
): Promise<readonly Ended[]> {
  const stop = () => {
    say('interrupted: the commands go on by themselves; joiner status shows them')
    process.exit(130)
  }
  process.once('SIGINT', stop)
  try {
    return await Promise.all(started.map(({ id }) => followOne(access, id, (line) => say(`${id}: ${line}`))))
  } finally {
    process.off('SIGINT', stop)
  }
}

async function followOne(
  { client, connection, cluster }: TemporalAccess,
  id: string,
  say: (line: string) => void,
): Promise<Ended> {
  const handle = client.workflow.getHandle(disruptionCommandId(cluster, id))
  const limited = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + requestMs, work)
  let last = ''
  for (;;) {
    const { status } = await limited(() => handle.describe())
    if (status.name === 'COMPLETED') {
      const { outcome, why } = (await limited(() => handle.result())) as CommandResult
      say(`${outcome}: ${why}`)
      return { id, outcome, message: why }
    }
    if (status.name !== 'RUNNING') {
      const message = `its workflow is ${status.name.toLowerCase()}; what it has done is taken back by the next evaluation`
      say(message)
      return { id, outcome: 'failed', message }
    }
    const doing = await limited(() => handle.query(commandStatusQuery)).then(
      (answer) => answer.doing,
      () => last,
    )
    if (doing !== last) say(doing)
    last = doing
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
}
