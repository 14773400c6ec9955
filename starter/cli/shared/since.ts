import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseGoDuration } from '../../../core/values/duration.ts'
import { printableStart } from '../../../core/values/printable.ts'

const dayMs = 86_400_000

/** Adds `--since`, whose value is epoch ms. */
export function sinceOption(command: Command, otherwise: string, now: () => number = Date.now): Command {
  return command.addOption(
    new Option('--since <duration or time>', 'beginning: a duration such as 7d or 12h, or a time such as 2026-12-01')
      .argParser((text: string) => sinceMs(text, now()))
      .default(sinceMs(otherwise, now()), otherwise),
  )
}

/** Returns epoch ms of a text such as `7d`, `12h30m` or `2026-12-01T06:00:00Z`. Errors: `InvalidArgumentError`. */
function sinceMs(text: string, now: number): number {
  const [, days, rest = ''] = /^(?:(\d{1,5})d)?(.*)$/.exec(text) ?? []
  const nanoseconds = days !== undefined && rest === '' ? 0n : parseGoDuration(rest)
  const durationMs = Number(days ?? 0) * dayMs + Number((nanoseconds ?? 0n) / 1_000_000n)
  if (nanoseconds !== undefined) {
    if (durationMs > 0 && durationMs <= now) return now - durationMs
    throw new InvalidArgumentError('It has to be some time ago, such as 90m, 12h or 7d.')
  }
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.test(text)
  // A day alone would be taken for midnight in Greenwich; what has no zone is this machine's time.
  const ms = isTime ? Date.parse(text.includes(':') ? text : `${text}T00:00`) : Number.NaN
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      `"${printableStart(text, 40)}" is neither a duration such as 7d, 12h or 90m, nor a time such as 2026-12-01T06:00:00Z.`,
    )
  if (ms >= now) throw new InvalidArgumentError('It lies in the future.')
  return ms
}
