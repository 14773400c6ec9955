import { noReason } from '../values/texts.ts'
import { unreadableWhy } from '../values/unreadable.ts'
import { type Checked, fieldsOf, longestText, objectOf, shown, textRefusal } from './operator-requests.ts'
import { isScopeName, type LoopName, type Pause, type PauseScope, pausableReasons, wholeLoop } from './pauses.ts'

/** An operator's scope: one of the fields, or none for the whole loop. */
interface ScopeRequest {
  readonly nodePool?: string
  /** Name of the Node or of its NodeClaim. */
  readonly node?: string
  /** A disruption reason: Empty, Drifted or Underutilized. */
  readonly reason?: string
}

/** The payload of `pause`. */
export interface PauseRequest {
  /** The reason, shown with the pause. */
  readonly reason?: string
  /** RFC 3339 time at which the pause ends by itself. */
  readonly until?: string
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
  readonly scope?: ScopeRequest
}

/** The payload of `resume`. */
export interface ResumeRequest {
  readonly scope?: ScopeRequest
  /** Lifts the pauses of every scope. */
  readonly all?: boolean
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i
const scopeRemedy = `use {"nodePool": NAME}, {"node": NAME}, {"reason": one of ${pausableReasons.join(', ')}}, or none for the whole loop`

/** Returns a requested scope. Refused: more than one scope, an unknown one, and any scope of a loop that can only be paused as a whole. */
function readScope(scope: unknown, loop: LoopName): Checked<PauseScope> {
  const given = scope === null || scope === undefined ? {} : scope
  const refused = (why: string) => ({ kind: 'refused' as const, message: `scope ${shown(scope)}: ${why}` })
  if (typeof given !== 'object' || Array.isArray(given)) return refused(`is not an object; ${scopeRemedy}`)
  const fields = Object.entries(given).filter(([, value]) => value !== undefined && value !== null)
  const [field] = fields
  if (field === undefined) return { kind: 'ok', value: wholeLoop }
  if (fields.length > 1) return refused(`more than one field; ${scopeRemedy}`)
  if (loop === 'provisioning') return refused('provisioning is paused as a whole; leave the scope out')
  const [kind, value] = field
  const reason = pausableReasons.find((each) => each === value)
  if (kind === 'reason')
    return reason === undefined
      ? refused(`not a disruption reason; use ${pausableReasons.join(', ')}`)
      : { kind: 'ok', value: { kind, reason } }
  if (kind !== 'nodePool' && kind !== 'node') return refused(`not a kind of scope; ${scopeRemedy}`)
  if (typeof value !== 'string' || !isScopeName(value)) return refused('not the name of an object in Kubernetes')
  return { kind: 'ok', value: { kind, name: value } }
}

/** Returns why a `pause` cannot be carried out as requested; undefined when it can. `now`: epoch ms. */
export function pauseRefusal(request: unknown, loop: LoopName, now: number): string | undefined {
  const fields = fieldsOf(request, 'pause', ['reason', 'until', 'by', 'at', 'scope'])
  if (fields.kind === 'refused') return fields.message
  const { reason, until, by, scope } = fields.value
  const texts = textRefusal('pause', { reason, by })
  if (texts !== undefined) return texts
  if (until !== undefined && until !== null) {
    const untilMs = typeof until === 'string' && rfc3339.test(until) ? Date.parse(until) : Number.NaN
    if (Number.isNaN(untilMs))
      return `pause: until ${shown(until)}: not an RFC 3339 time; write it as 2026-12-01T06:00:00Z, or leave it out`
    if (untilMs <= now)
      return `pause: until ${shown(until)}: lies in the past (it is ${new Date(now).toISOString()}); give a later time, or leave it out`
  }
  const read = readScope(scope, loop)
  return read.kind === 'refused' ? `pause: ${read.message}` : undefined
}

/** Returns why a `resume` cannot be carried out as requested; undefined when it can. */
export function resumeRefusal(request: unknown, loop: LoopName): string | undefined {
  const fields = fieldsOf(request, 'resume', ['scope', 'all', 'by', 'at'])
  if (fields.kind === 'refused') return fields.message
  const { scope, all, by } = fields.value
  const texts = textRefusal('resume', { by })
  if (texts !== undefined) return texts
  if (all !== undefined && typeof all !== 'boolean') return `resume: all ${shown(all)}: not true or false`
  const read = readScope(scope, loop)
  if (read.kind === 'refused') return `resume: ${read.message}`
  if (all === true && read.value.kind !== 'cluster')
    return 'resume: all: lifts the pauses of every scope; leave out the scope, or leave out all'
  return undefined
}

/**
 * Returns the pause that a payload requests, for any payload: a signal cannot be answered, and its handler must not fail. Unreadable parts are left
 * out and recorded in the reason. A pause is a brake, so an unreadable scope means the whole loop.
 */
export function pauseAskedFor(request: unknown, loop: LoopName, now: number): Pause {
  const { reason, until, by, scope } = objectOf(request)
  const untilMs = typeof until === 'string' ? Date.parse(until) : Number.NaN
  const read = readScope(scope, loop)
  const why = typeof reason === 'string' && reason.trim() !== '' ? reason.slice(0, longestText) : noReason
  const unread = unreadableWhy(request)
  const ignored = [
    ...(unread === undefined ? [] : [`what it says cannot be read (${unread}): all is paused`]),
    ...(until !== undefined && until !== null && Number.isNaN(untilMs)
      ? [`until ${shown(until)} is not an RFC 3339 time: no end`]
      : []),
    ...(read.kind === 'refused' ? [`${read.message}: all is paused`] : []),
  ]
  return {
    reason: [why, ...ignored].join('; '),
    sinceMs: now,
    ...(Number.isNaN(untilMs) ? {} : { untilMs }),
    ...(typeof by === 'string' ? { by: by.slice(0, longestText) } : {}),
    scope: read.kind === 'ok' ? read.value : wholeLoop,
  }
}

/** Pauses that a `resume` lifts: a scope, or `all`. */
export interface Lift {
  readonly scope: PauseScope
  readonly all: boolean
  readonly by?: string
}

/** Returns the pauses that a payload lifts; undefined when its scope cannot be read: then the brake stays. */
export function liftAskedFor(request: unknown, loop: LoopName): Lift | undefined {
  const { scope, all, by } = objectOf(request)
  const read = readScope(scope, loop)
  if (read.kind === 'refused') return undefined
  return { scope: read.value, all: all === true, ...(typeof by === 'string' ? { by: by.slice(0, longestText) } : {}) }
}
