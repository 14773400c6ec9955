import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PlanOptions } from '../../../core/disruption/plan/plan.ts'
import { plannableReasons } from '../../../core/disruption/plan/plan-requests.ts'
import type { PauseRequest } from '../../../core/pauses/pause-requests.ts'
import { isScopeName, type LoopName } from '../../../core/pauses/pauses.ts'
import { defined } from '../../../core/values/defined.ts'
import { another, type OutputFormat, outputOption, wholeNumber } from '../shared/options.ts'
import { durationMs, timeMs } from '../shared/since.ts'
import { type TemporalOptions, temporalOptions } from './temporal-options.ts'

/** What a request by hand is limited to, as it stands on the command line. */
export interface RequestOptions extends TemporalOptions {
  readonly nodepool?: readonly string[]
  readonly node?: readonly string[]
  readonly disruptionReason?: PlanOptions['reasons']
  readonly budget?: number
  readonly ignoreConsolidateAfter?: true
  readonly by?: string
  readonly output: OutputFormat
}

/** Adds the options of whoever asks Joiner for something. */
export function askerOptions(command: Command): Command {
  return outputOption(
    temporalOptions(
      command.option('--by <name>', 'requester to record (default: the Kubernetes user, else the local user)'),
    ),
  )
}

/** Adds `--dry-run`. */
export function dryRunOption(command: Command): Command {
  return command.option('--dry-run', 'print what would be asked for, and change nothing')
}

/** `--until`. `what`: what ends then. */
export function untilOption(what: string): Option {
  return new Option(
    '--until <duration or time>',
    `${what}: a duration such as 2h or 1w, or a time such as 18:00 or 2026-12-01T06:00:00Z`,
  )
}

/** Adds the options that name nodes. */
export function limitOptions(command: Command): Command {
  return command
    .option('--nodepool <name>', 'limit to nodes of this NodePool; repeatable', names)
    .option('--node <name>', 'limit to this node, by the name of its Node or NodeClaim; repeatable', names)
    .option('--budget <count>', 'most nodes to disrupt per NodePool; disruption budgets still apply', wholeNumber(1))
}

/** Adds `--disruption-reason`. */
export function reasonOption(command: Command): Command {
  return command.option(
    '--disruption-reason <reason>',
    `only for this reason (${plannableReasons.join(', ')}); may be repeated`,
    reasonNames,
  )
}

function reasonNames(value: string, before: readonly string[] = []): readonly string[] {
  const known: readonly string[] = plannableReasons
  if (!known.includes(value)) throw new InvalidArgumentError(`Allowed are ${known.join(', ')}.`)
  return [...before, value]
}

function names(value: string, before: readonly string[] = []): readonly string[] {
  if (!isScopeName(value)) throw new InvalidArgumentError('It is not the name of an object in Kubernetes.')
  return another(value, before)
}

/** The options as a request holds them. */
export function asked(options: Partial<RequestOptions>): PlanOptions {
  const { nodepool: nodePools, node: nodes, disruptionReason: reasons, budget, ignoreConsolidateAfter: now } = options
  return defined({ nodePools, nodes, reasons, budget, now })
}

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
