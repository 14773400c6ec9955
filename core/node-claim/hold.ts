import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { noReason, whyText } from '../values/texts.ts'
import { timeText } from '../values/time.ts'

/** An operator's hold on a NodeClaim: disruption leaves its node alone. */
export interface Hold {
  /** Epoch ms; unset until it is released. */
  readonly untilMs?: number
  /** Why there is no end although the annotation sets one. */
  readonly odd?: string
  readonly reason?: string
  readonly by?: string
  /** Whether it delays the node's expiry as well. */
  readonly expiry: boolean
}

/** In the annotation, a hold without end. */
const untilReleased = 'released'

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/

/** Parses an RFC 3339 time to epoch ms; undefined when the text is none. */
export function timeIn(text: string): number | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Returns the hold of a NodeClaim that is in force; an expired one counts as none. An unreadable value holds without end, since a hold is a brake.
 * `now`: epoch ms.
 */
export function holdOf({ metadata }: Pick<NodeClaim, 'metadata'>, now: number): Hold | undefined {
  const own = metadata.annotations
  const text = own[annotations.holdUntil]?.trim()
  if (text === undefined) return undefined
  const untilMs = timeIn(text)
  if (untilMs !== undefined && untilMs <= now) return undefined
  const [reason, by] = [own[annotations.holdReason], own[annotations.holdBy]]
  return {
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(untilMs === undefined && text !== untilReleased ? { odd: oddity(text) } : {}),
    ...(reason ? { reason } : {}),
    ...(by ? { by } : {}),
    expiry: own[annotations.holdExpiry] === 'true',
  }
}

function oddity(text: string): string {
  return `${JSON.stringify(text.slice(0, 80))} is no RFC 3339 time such as 2026-12-01T06:00:00Z, and not "${untilReleased}"; it holds without end`
}

/** `held until 2026-12-01T06:00:00Z by alice, with its expiry: debugging`. */
export function holdText({ untilMs, odd, reason, by, expiry }: Hold): string {
  const until = untilMs === undefined ? 'until released' : `until ${timeText(untilMs)}`
  const who = by === undefined ? '' : ` by ${by}`
  const why = [
    ...(reason === undefined || reason === noReason ? [] : [reason]),
    ...(odd === undefined ? [] : [odd]),
  ].join('; ')
  return `held ${until}${who}${expiry ? ', with its expiry' : ''}${why === '' ? whyText(reason) : `: ${why}`}`
}

/** Returns the annotations of a hold. */
export function holdAnnotations({
  untilMs,
  reason,
  by,
  expiry,
}: Omit<Hold, 'odd'>): Readonly<Record<string, string | null>> {
  return {
    [annotations.holdUntil]: untilMs === undefined ? untilReleased : timeText(untilMs),
    [annotations.holdReason]: reason ?? null,
    [annotations.holdBy]: by ?? null,
    [annotations.holdExpiry]: expiry ? 'true' : null,
  }
}

/** Patch that removes the annotations of a hold. */
export const noHoldAnnotations: Readonly<Record<string, null>> = {
  [annotations.holdUntil]: null,
  [annotations.holdReason]: null,
  [annotations.holdBy]: null,
  [annotations.holdExpiry]: null,
}

/** Whether the holds of two versions of a NodeClaim differ. */
export function isHeldOtherwise(before: Pick<NodeClaim, 'metadata'>, after: Pick<NodeClaim, 'metadata'>): boolean {
  return Object.keys(noHoldAnnotations).some(
    (key) => before.metadata.annotations[key] !== after.metadata.annotations[key],
  )
}
