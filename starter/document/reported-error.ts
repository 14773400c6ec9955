import { printable } from '../../core/values/printable.ts'

/** Why a command cannot go on, and what to do: its message is printed without a stack trace. Each text is one line, whatever names it holds. */
export class ReportedError extends Error {
  constructor(...lines: readonly string[]) {
    super(lines.map(printable).join('\n'))
  }
}
