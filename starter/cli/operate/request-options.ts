import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PlanOptions } from '../../../core/disruption/plan/plan.ts'
import { plannableReasons } from '../../../core/disruption/plan/plan-requests.ts'
import { isScopeName } from '../../../core/pauses/pauses.ts'
import { defined } from '../../../core/values/defined.ts'
import { type OutputFormat, outputOption } from '../shared/options.ts'
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
    .option('--budget <count>', 'most nodes to disrupt per NodePool; disruption budgets still apply', count)
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
  return [...before, value]
}

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number of nodes from 1 on.')
  return value
}

/** The options as a request holds them. */
export function asked({
  nodepool,
  node,
  disruptionReason,
  budget,
  ignoreConsolidateAfter: now,
}: Partial<RequestOptions>): PlanOptions {
  return {
    ...defined({ nodePools: nodepool, nodes: node, reasons: disruptionReason, budget }),
    ...(now === true ? { now } : {}),
  }
}
