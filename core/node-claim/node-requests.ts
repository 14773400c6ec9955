import {
  type Checked,
  fieldsOf,
  isGiven,
  longestText,
  objectOf,
  shown,
  textRefusal,
} from '../pauses/operator-requests.ts'
import { whyText } from '../values/texts.ts'
import { unreadableWhy } from '../values/unreadable.ts'
import { timeIn } from './hold.ts'

/** The payload of `retryNow`. */
export interface RetryRequest {
  readonly reason?: string
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
}

/** The payload of `hold`. */
export interface HoldRequest {
  readonly reason?: string
  /** RFC 3339 time at which it ends by itself; unset until it is released. */
  readonly until?: string
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
  /** Delays expiry as well. */
  readonly expiry?: boolean
}

/** The payload of `release`. */
export interface ReleaseRequest {
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
}

/** The payload of `forceFinish`. */
export interface ForceFinishRequest {
  readonly reason: string
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
  /** Ends the lifecycle although its VM exists, and leaves the VM to garbage collection. */
  readonly leaveVm?: boolean
}

/** Returns why a `retryNow` cannot be carried out as requested; undefined when it can. */
export function retryRefusal(request: unknown): string | undefined {
  const read = readFields(request, 'retryNow', ['reason', 'by', 'at'])
  return read.kind === 'refused' ? read.message : undefined
}

/** Returns why a `hold` cannot be carried out as requested; undefined when it can. `now`: epoch ms. */
export function holdRefusal(request: unknown, now: number): string | undefined {
  const read = readFields(request, 'hold', ['reason', 'until', 'by', 'at', 'expiry'])
  if (read.kind === 'refused') return read.message
  const { until, expiry } = read.value
  if (isGiven(expiry) && typeof expiry !== 'boolean') return `hold: expiry ${shown(expiry)}: not true or false`
  if (!isGiven(until)) return undefined
  const untilMs = typeof until === 'string' ? timeIn(until) : undefined
  if (untilMs === undefined)
    return `hold: until ${shown(until)}: not an RFC 3339 time; write it as 2026-12-01T06:00:00Z, or leave it out`
  if (untilMs <= now)
    return `hold: until ${shown(until)}: lies in the past (it is ${new Date(now).toISOString()}); give a later time, or leave it out`
  return undefined
}

/** Returns why a `release` cannot be carried out as requested; undefined when it can. */
export function releaseRefusal(request: unknown): string | undefined {
  const read = readFields(request, 'release', ['by', 'at'])
  return read.kind === 'refused' ? read.message : undefined
}

/** Returns why a `forceFinish` cannot be carried out as requested; undefined when it can. */
export function forceFinishRefusal(request: unknown): string | undefined {
  const read = readFields(request, 'forceFinish', ['reason', 'by', 'at', 'leaveVm'])
  if (read.kind === 'refused') return read.message
  const { reason, leaveVm } = read.value
  if (typeof reason !== 'string' || reason.trim() === '')
    return 'forceFinish: reason: state why the lifecycle is ended early; an event records it'
  if (isGiven(leaveVm) && typeof leaveVm !== 'boolean')
    return `forceFinish: leaveVm ${shown(leaveVm)}: not true or false`
  return undefined
}

/** A hold as a lifecycle writes it. */
export interface WantedHold {
  readonly untilMs?: number
  readonly reason?: string
  readonly by?: string
  readonly expiry: boolean
}

/**
 * Returns the hold that a payload requests, for any payload: a signal cannot be answered. Unreadable parts are left out and recorded in the reason. A
 * hold is a brake, so an unreadable end means none.
 */
export function holdAskedFor(request: unknown): WantedHold {
  const { until, expiry, ...texts } = objectOf(request)
  const untilMs = typeof until === 'string' ? timeIn(until) : undefined
  const { reason, by } = textsOf(texts)
  const unread = unreadableWhy(request)
  const odd = unread === undefined ? [] : [`what it says cannot be read (${unread}): no end`]
  if (isGiven(until) && untilMs === undefined) odd.push(`until ${shown(until)} is not an RFC 3339 time: no end`)
  const why = [...(reason === undefined ? [] : [reason]), ...odd].join('; ')
  return {
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(why === '' ? {} : { reason: why }),
    ...(by === undefined ? {} : { by }),
    expiry: expiry === true,
  }
}

/** Returns reason and requester of a payload, as far as they are texts. */
export function textsOf(request: unknown): { readonly reason?: string; readonly by?: string } {
  const { reason, by } = objectOf(request)
  return {
    ...(typeof reason === 'string' && reason.trim() !== '' ? { reason: reason.slice(0, longestText) } : {}),
    ...(typeof by === 'string' && by.trim() !== '' ? { by: by.slice(0, longestText) } : {}),
  }
}

/** Returns ` by alice: its disk hangs` or ` by alice, no reason given`, to follow the action in a text. */
export function askedText({ by, reason }: ReturnType<typeof textsOf>): string {
  return `${by === undefined ? '' : ` by ${by}`}${whyText(reason)}`
}

function readFields(
  request: unknown,
  name: string,
  known: readonly string[],
): Checked<Readonly<Record<string, unknown>>> {
  const fields = fieldsOf(request, name, known)
  if (fields.kind === 'refused') return fields
  const { reason, by } = fields.value
  const message = textRefusal(name, { reason, by })
  return message === undefined ? fields : { kind: 'refused', message }
}
