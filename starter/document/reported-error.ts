import { printable } from '../../core/values/printable.ts'

/** Why a command cannot go on, and what to do: its message is printed without a stack trace. Each text is one line, whatever names it holds. */
export class ReportedError extends Error {
  constructor(...lines: readonly string[]) {
    super(lines.map(printable).join('\n'))
  }
}

/** Why a command cannot go on, and what to do: printed as it stands. */
export class CommandError extends ReportedError {}

/** Bad input: the command ends with its messages. */
export class InputError extends ReportedError {}

/** What would be asked for, were it no dry run. */
export class DryRun extends CommandError {}
