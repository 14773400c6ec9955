import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseGoDuration } from '../../../core/values/duration.ts'
import { printableStart } from '../../../core/values/printable.ts'

const dayMs = 86_400_000

/** Adds `--since`, whose value is epoch ms. */
export function sinceOption(command: Command, otherwise: string, now: () => number = Date.now): Command {
  return command.addOption(
    new Option(
      '--since <duration or time>',
      'beginning: a duration such as 1w or 12h, or a time such as 18:00 or 2026-12-01',
    )
      .argParser((text: string) => sinceMs(text, now()))
      .default(sinceMs(otherwise, now()), otherwise),
  )
}

/** Returns epoch ms of a text such as `7d`, `12h30m`, `18:00` or `2026-12-01T06:00:00Z`. Errors: `InvalidArgumentError`. */
function sinceMs(text: string, now: number): number {
  const lasted = durationMs(text)
  if (lasted !== undefined) {
    if (lasted > 0 && lasted <= now) return now - lasted
    throw new InvalidArgumentError('It has to be some time ago, such as 90m, 12h or 7d.')
  }
  const ms = timeMs(text, now, -1)
  if (ms === undefined)
    throw new InvalidArgumentError(
      `"${printableStart(text, 40)}" is neither a duration such as 7d, 12h or 90m, nor a time such as 18:00 or 2026-12-01T06:00:00Z.`,
    )
  if (ms >= now) throw new InvalidArgumentError('It lies in the future.')
  return ms
}

/** Returns the milliseconds of a duration such as `1w`, `7d12h` or `90m`; undefined: it is none. */
export function durationMs(text: string): number | undefined {
  const [, weeks, days, rest = ''] = /^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$/s.exec(text) ?? []
  const nanoseconds = (weeks ?? days) !== undefined && rest === '' ? 0n : parseGoDuration(rest)
  if (nanoseconds === undefined) return undefined
  return (Number(weeks ?? 0) * 7 + Number(days ?? 0)) * dayMs + Number(nanoseconds / 1_000_000n)
}

/**
 * Returns epoch ms of a time such as `18:00`, `2026-12-01` or `2026-12-01T06:00:00Z`; undefined: it is none. What has no zone is this machine's time.
 * `direction`: 18:00 is the next one (1) or the last one (-1) from `now` on, which is epoch ms.
 */
export function timeMs(text: string, now: number, direction: 1 | -1): number | undefined {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  if (hour !== undefined) {
    const at = new Date(now)
    at.setHours(Number(hour), Number(minute), 0, 0)
    if (direction * (at.getTime() - now) <= 0) at.setDate(at.getDate() + direction)
    return at.getTime()
  }
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.test(text)) return undefined
  // A day alone would be taken for midnight in Greenwich.
  const ms = Date.parse(text.includes(':') ? text : `${text}T00:00`)
  return Number.isNaN(ms) ? undefined : ms
}
