import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PlanOptions } from '../../../core/disruption/plan/plan.ts'
import { isScopeName, pausableReasons } from '../../../core/pauses/pauses.ts'
import { type TemporalOptions, temporalOptions } from './temporal-options.ts'

/** What a request by hand is limited to, as it stands on the command line. */
export interface RequestOptions extends TemporalOptions {
  readonly nodepool?: readonly string[]
  readonly node?: readonly string[]
  readonly reason?: PlanOptions['reasons']
  readonly budget?: number
  readonly now?: true
  readonly by?: string
  readonly namespace: string
  readonly output: 'text' | 'json'
}

/** Adds the options of whoever talks to Joiner by hand and needs its ConfigMaps. */
export function requestOptions(command: Command): Command {
  return askerOptions(
    command.option(
      '--namespace <name>',
      "Joiner's namespace, where plans are kept",
      process.env['JOINER_NAMESPACE'] ?? 'joiner',
    ),
  )
}

/** Adds the options of whoever asks Joiner for something. */
export function askerOptions(command: Command): Command {
  return temporalOptions(
    command.option('--by <name>', 'requester to record (default: the Kubernetes user, else the local user)'),
  ).addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
}

/** Adds the options that name nodes. */
export function limitOptions(command: Command): Command {
  return command
    .option('--nodepool <name>', 'limit to nodes of this NodePool; repeatable', names)
    .option('--node <name>', 'limit to this node, by the name of its Node or NodeClaim; repeatable', names)
    .option('--budget <count>', 'most nodes to disrupt per NodePool; disruption budgets still apply', count)
}

/** Adds `--reason`. */
export function reasonOption(command: Command): Command {
  return command.option(
    '--reason <reason>',
    `only for this reason (${pausableReasons.join(', ')}); may be repeated`,
    reasonNames,
  )
}

function reasonNames(value: string, before: readonly string[] = []): readonly string[] {
  const known: readonly string[] = pausableReasons
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
export function asked({ nodepool, node, reason, budget, now }: Partial<RequestOptions>): PlanOptions {
  return {
    ...(nodepool === undefined ? {} : { nodePools: nodepool }),
    ...(node === undefined ? {} : { nodes: node }),
    ...(reason === undefined ? {} : { reasons: reason }),
    ...(budget === undefined ? {} : { budget }),
    ...(now === true ? { now } : {}),
  }
}
