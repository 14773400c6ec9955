// Time in which no worker could take up or report a step of a lifecycle, because Temporal or Joiner was away. It counts towards no limit of a step.
import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

/** A time without a worker, epoch ms. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
}

/** What an attempt reports with each heartbeat: the next attempt reads it. */
export interface Beat {
  /** When it was sent. */
  readonly atMs: number
  /** The attempt ended with a failure that it could report: what follows is the back-off, which counts. */
  readonly hasEnded?: true
  /** Its number. */
  readonly attempt?: number
  /** The gaps of this attempt and those before it. */
  readonly gaps: readonly Gap[]
}

/** When an attempt began, epoch ms: it was scheduled by Temporal's clock, and started by the worker's. */
export interface AttemptTimes {
  /** Counted from 1. */
  readonly attempt: number
  /** When the first attempt was scheduled. */
  readonly firstScheduledMs: number
  /** When this one was scheduled, after the back-off. */
  readonly scheduledMs: number
  readonly startedMs: number
}

/** Shortest gap that is kept. With all services up each is shorter, so that limits are exact and cost no write. */
const shortestMs = 5000
/** Clocks may differ by this much. An earlier gap is not the claim's own: it came with a template or a copied object. */
const slackMs = 60_000
/** Most that a limit is extended by. Timers cannot run much longer. */
const longestMs = 20 * 24 * 3_600_000
/** Most gaps that a NodeClaim keeps. Of more, the two that are closest become one. */
const mostGaps = 16

/**
 * Returns the gaps of an activity up to the start of an attempt: between the end of the step before and the first attempt, between the last heartbeat of
 * a lost worker and the next attempt, and from the scheduling of each attempt to its start.
 */
export function gapsBefore(
  { attempt, firstScheduledMs, scheduledMs, startedMs }: AttemptTimes,
  { idleSinceMs, last }: { readonly idleSinceMs?: number | undefined; readonly last?: Beat | undefined },
): readonly Gap[] {
  const idle = Math.min(idleSinceMs ?? firstScheduledMs, firstScheduledMs)
  if (attempt === 1 || last === undefined) return long([{ fromMs: idle, toMs: startedMs }])
  const fromMs = last.hasEnded === true ? scheduledMs : Math.min(last.atMs, scheduledMs)
  return long([...last.gaps, { fromMs, toMs: startedMs }])
}

/**
 * Returns since when the time of an activity runs. A first attempt that began late waited for a worker, or Temporal's clock is behind: then it runs from
 * its own start, so that a clock that is minutes behind leaves an attempt its time.
 */
export function runsSince({ attempt, firstScheduledMs, startedMs }: AttemptTimes): number {
  return attempt === 1 && startedMs - firstScheduledMs >= shortestMs ? startedMs : firstScheduledMs
}

function long(gaps: readonly Gap[]): readonly Gap[] {
  return gaps.filter((gap) => lengthOf(gap) >= shortestMs)
}

/** Returns the length of all gaps together, in milliseconds. */
export function totalMs(gaps: readonly Gap[]): number {
  return merged(gaps).reduce((sum, gap) => sum + lengthOf(gap), 0)
}

/** Returns how long a claim was without a worker since a time, in milliseconds. */
export function awayMs(claim: Pick<NodeClaim, 'metadata'>, sinceMs: number): number {
  const later = gapsOf(claim).filter(({ toMs }) => toMs > sinceMs)
  const total = totalMs(later.map(({ fromMs, toMs }) => ({ fromMs: Math.max(fromMs, sinceMs), toMs })))
  return Math.min(total, longestMs)
}

/**
 * Returns the annotation of a claim with these gaps added; undefined when it has them already. It holds the gaps themselves, so that adding one twice
 * changes nothing, and each limit counts those since its own start.
 */
export function awayAnnotation(
  claim: Pick<NodeClaim, 'metadata'>,
  gaps: readonly Gap[],
): Readonly<Record<string, string>> | undefined {
  const text = textOf(fewest(merged([...gapsOf(claim), ...gaps])))
  return text === textOf(gapsOf(claim)) ? undefined : { [annotations.timeAway]: text }
}

/** Returns the gaps that a claim keeps. What is no interval of the claim's own time is ignored. */
function gapsOf({ metadata }: Pick<NodeClaim, 'metadata'>): readonly Gap[] {
  const gaps = (metadata.annotations[annotations.timeAway] ?? '').split(',').map((text) => {
    const [fromMs = Number.NaN, toMs = Number.NaN] = text.split('/').map((time) => Date.parse(time))
    return { fromMs, toMs }
  })
  const earliestMs = Date.parse(metadata.creationTimestamp) - slackMs
  return merged(gaps.filter((gap) => lengthOf(gap) > 0 && gap.fromMs >= earliestMs))
}

function textOf(gaps: readonly Gap[]): string {
  return gaps.map(({ fromMs, toMs }) => `${isoText(fromMs)}/${isoText(toMs)}`).join(',')
}

const isoText = (ms: number) => new Date(ms).toISOString()

const lengthOf = ({ fromMs, toMs }: Gap) => toMs - fromMs

/** Returns the gaps in order; those that overlap become one. */
function merged(gaps: readonly Gap[]): readonly Gap[] {
  const all: Gap[] = []
  for (const gap of [...gaps].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = all.at(-1)
    if (last === undefined || gap.fromMs > last.toMs) all.push(gap)
    else all[all.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, gap.toMs) }
  }
  return all
}

function fewest(gaps: readonly Gap[]): readonly Gap[] {
  if (gaps.length <= mostGaps) return gaps
  const between = gaps.slice(1).map(({ fromMs }, at) => fromMs - (gaps[at]?.toMs ?? 0))
  const at = between.indexOf(Math.min(...between))
  const [a, b] = [gaps[at], gaps[at + 1]] as [Gap, Gap]
  return fewest([...gaps.slice(0, at), { fromMs: a.fromMs, toMs: b.toMs }, ...gaps.slice(at + 2)])
}
