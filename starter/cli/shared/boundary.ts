import { printableStart } from '../../../core/values/printable.ts'
import { ReportedError } from '../../document/reported-error.ts'

/** A bug of Joiner ends with this code, so that nobody takes it for an answer. */
const bugCode = 70
const longestMessage = 500

/** Whether traces are asked for. */
export function isDebugging(): boolean {
  return !['', '0', 'false', undefined].includes(process.env['JOINER_DEBUG'])
}

/** Prints what ended a command, in one line unless it was reported in several, and returns the exit code. */
export function complain(command: string, error: unknown): number {
  if (isDebugging()) console.error(error)
  if (error instanceof ReportedError) {
    if (!isDebugging()) console.error(error.message)
    return 1
  }
  const message = printableStart(error instanceof Error ? error.message : String(error), longestMessage)
  if (isOfSystem(error)) {
    console.error(`joiner ${command}: ${message}`)
    return 1
  }
  const remedy = isDebugging()
    ? 'please report it'
    : 'run it again with JOINER_DEBUG=1 for its trace, and please report it'
  console.error(`joiner ${command}: this is a bug of Joiner: ${message}; ${remedy}`)
  return bugCode
}

/** What the operating system refuses, such as a full disk, is no bug. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** Makes the process one that ends with a line and an exit code, whatever it is given. `command`: as the user named it. */
export function guardProcess(command: string): void {
  const end = (error: unknown) => process.exit(complain(command, error))
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as head, is no failure.
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0)
    end(error)
  })
  process.stderr.on('error', () => process.exit(process.exitCode ?? 1))
  // Signals end a process by themselves, but not the first one of a container.
  if (process.pid === 1) endBySignal()
}

function endBySignal(): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.on(signal, () => {
      // A command that has something to say or to undo listens as well, and ends by itself.
      if (process.listenerCount(signal) === 1) process.exit(code)
    })
}
