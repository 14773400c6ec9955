import type { PauseRequest } from '../../../core/pauses/pause-requests.ts'
import { isScopeName, type LoopName } from '../../../core/pauses/pauses.ts'
import { durationMs, timeMs } from '../shared/since.ts'

/** What a pause or resume is about, as it stands on the command line. */
export interface ScopeOptions {
  readonly nodepool?: string
  readonly disruptionReason?: string
  readonly provisioning?: true
}

export interface PauseTarget {
  readonly loop: LoopName
  readonly scope?: NonNullable<PauseRequest['scope']>
}

type Read<T> = { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'error'; readonly message: string }

/** The loop and the scope that are meant. Error: more than one of the options. */
export function targetOf({ nodepool, disruptionReason, provisioning }: ScopeOptions): Read<PauseTarget> {
  const given = { nodepool, 'disruption-reason': disruptionReason, provisioning }
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  if (named.length > 1)
    return {
      kind: 'error',
      message: `${named.map(([name]) => `--${name}`).join(' and ')}: one scope at a time; run the command once for each`,
    }
  if (nodepool !== undefined && !isScopeName(nodepool))
    return { kind: 'error', message: `--nodepool "${nodepool}": not the name of an object in Kubernetes` }
  if (provisioning === true) return { kind: 'ok', value: { loop: 'provisioning' } }
  const scope =
    nodepool !== undefined
      ? { nodePool: nodepool }
      : disruptionReason !== undefined
        ? { reason: disruptionReason }
        : undefined
  return { kind: 'ok', value: { loop: 'disruption', ...(scope === undefined ? {} : { scope }) } }
}

/** The end of a pause or hold as an RFC 3339 time; undefined: when it is lifted. `until`: a duration or a time. `now`: epoch ms. */
export function endOf(until: string | undefined, now: number): Read<string | undefined> {
  const error = (message: string) => ({ kind: 'error' as const, message })
  if (until === undefined) return { kind: 'ok', value: undefined }
  const lasts = durationMs(until)
  if (lasts !== undefined)
    return lasts > 0
      ? { kind: 'ok', value: new Date(now + lasts).toISOString() }
      : error(`--until "${until}": has to last; write it as 90m, 2h or 1h30m`)
  const untilMs = timeMs(until, now, 1)
  if (untilMs === undefined)
    return error(
      `--until "${until}": neither a duration nor a time; write it as 2h, as 2026-12-01T06:00:00Z, or as 18:00 for this machine's zone`,
    )
  if (untilMs <= now) return error(`--until "${until}": is ${new Date(untilMs).toISOString()}, which lies in the past`)
  return { kind: 'ok', value: new Date(untilMs).toISOString() }
}
