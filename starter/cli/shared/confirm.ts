import { noReason } from '../../../core/values/texts.ts'
import { CommandError } from '../../document/reported-error.ts'

/** A person who can be asked. */
interface Person {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

const atTerminal = (): Person => ({ input: process.stdin, output: process.stderr })

/** Returns why somebody does something: as given, as typed where a person can be asked, else that no reason was given. */
export async function reasonFor(what: string, given: string | undefined, person = atTerminal()): Promise<string> {
  if (given !== undefined || person.input.isTTY !== true) return given ?? noReason
  return (await answerTo(`Why ${what}? It shows wherever it is looked at: `, person)) || noReason
}

/** Errors: `CommandError` where the person ends the command instead. */
async function answerTo(question: string, { input, output }: Person): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input, output })
  try {
    return (await terminal.question(question)).trim()
  } catch (error) {
    // Ctrl-C or Ctrl-D.
    if (error instanceof Error && error.name === 'AbortError') throw new CommandError('interrupted; nothing was done')
    throw error
  } finally {
    terminal.close()
  }
}

/**
 * Asks a person on the terminal for a yes. `flag` is what says yes where nobody can be asked; without it nobody is asked there and the answer is
 * `unasked`.
 */
export async function confirmed(question: string, flag: boolean): Promise<'yes' | 'no' | 'unasked'> {
  if (flag) return 'yes'
  if (!process.stdin.isTTY) return 'unasked'
  return ['y', 'yes'].includes((await answerTo(`${question} [y/N] `, atTerminal())).toLowerCase()) ? 'yes' : 'no'
}

/** Asks for a yes, and says that nothing was done without one. Errors: `CommandError` with the remedy where nobody can be asked. */
export async function isWanted(question: string, yes: true | undefined, remedy = 'give it to go on'): Promise<boolean> {
  const answer = await confirmed(question, yes === true)
  if (answer === 'unasked') throw new CommandError(`--yes: nobody can be asked here; ${remedy}`)
  if (answer === 'no') console.error('nothing was done')
  return answer === 'yes'
}
