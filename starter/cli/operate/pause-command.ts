import { type Command, Option } from 'commander'
import { type LoopName, pausableReasons } from '../../../core/pauses/pauses.ts'
import { isForPrograms, note, say, structured } from '../../document/print.ts'
import { CommandError, DryRun } from '../../document/reported-error.ts'
import { reasonFor } from '../shared/confirm.ts'
import { pauseJson } from '../shared/kept-json.ts'
import { type OutputFormat, usage } from '../shared/options.ts'
import type { Asked, Asking } from './ask-loop.ts'
import {
  askerOptions,
  dryRunOption,
  endOf,
  type PauseTarget,
  type ScopeOptions,
  targetOf,
  untilOption,
} from './request-options.ts'
import { type TemporalOptions } from './temporal-options.ts'

interface Common extends ScopeOptions, TemporalOptions {
  readonly by?: string
  readonly allowMissing?: true
  readonly output: OutputFormat
}

interface PauseOptions extends Common {
  readonly reason?: string
  readonly until?: string
}

/** Adds what `pause` takes. */
export function registerPause(command: Command): void {
  common(command)
    .option('--reason <text>', 'shown wherever the pause shows (default: asked for on a terminal)')
    .addOption(untilOption('end of the pause'))
    .addHelpText(
      'after',
      `
Without a scope all disruption is paused; --provisioning pauses the creation of nodes instead. A pause of the same scope replaces the one before.
The pause shows in joiner status, and as condition and events DisruptionPaused on NodePools for one node: joiner node hold.
Expiry (expireAfter) is not disruption: it goes on.

Examples:
  joiner pause --reason "release day" --until 2h
  joiner pause --nodepool gpu --reason "training until Friday" --until 2026-12-04T18:00:00Z
  joiner pause --disruption-reason Drifted --reason "new image is looked at first"

Exit code: 0 when it is in force, 1 when not (or not yet), 2 for options that cannot be read.`,
    )
    .action(async (options: PauseOptions) => {
      process.exitCode = await pause(options)
    })
}

/** Adds what `resume` takes. */
export function registerResume(command: Command): void {
  common(command)
    .option('--all', 'lift every pause of disruption and provisioning')
    .addHelpText(
      'after',
      `
Without a scope the pause of all disruption is lifted; pauses of a NodePool, node or reason stay.

Examples:
  joiner resume --nodepool gpu
  joiner resume --all

Exit code: 0 when nothing of that scope is paused any more (also when nothing was), 1 when not (or not yet), 2 for options that cannot be read.`,
    )
    .action(async (options: Common & { readonly all?: true }) => {
      process.exitCode = await resume(options)
    })
}

function common(command: Command): Command {
  return askerOptions(
    dryRunOption(command)
      .option('--nodepool <name>', 'limit to disruption of nodes of this NodePool')
      .addOption(
        new Option('--disruption-reason <reason>', 'limit to disruption for this reason').choices(pausableReasons),
      )
      .option('--provisioning', 'provisioning instead of disruption')
      .option('--allow-missing', 'also for a NodePool that does not exist, yet or any more'),
  )
}

async function pause(options: PauseOptions): Promise<number> {
  const target = targetOf(options)
  if (target.kind === 'error') return usage(target.message)
  const end = endOf(options.until, Date.now())
  if (end.kind === 'error') return usage(end.message)
  if (options.reason?.trim() === '') return usage('--reason: say why, for whoever finds the pause')
  const { scope, loop } = target.value
  const by = await asker(options, target.value)
  if (by === undefined) return 2
  const request = {
    reason: await reasonFor('the pause', options.reason),
    by,
    ...(end.value === undefined ? {} : { until: end.value }),
    ...(scope === undefined ? {} : { scope }),
  }
  return ask(options, [{ loop, asking: { what: 'pause', request } }])
}

async function resume(options: Common & { readonly all?: true }): Promise<number> {
  const target = targetOf(options)
  if (target.kind === 'error') return usage(target.message)
  const { scope, loop } = target.value
  const isAll = options.all === true
  if (isAll && (scope !== undefined || loop === 'provisioning'))
    return usage('--all: lifts every pause; leave out the scope, or leave out --all')
  const by = await asker(options, target.value)
  if (by === undefined) return 2
  const request = { by, ...(scope === undefined ? {} : { scope }), ...(isAll ? { all: true } : {}) }
  const loops: readonly LoopName[] = isAll ? ['provisioning', 'disruption'] : [loop]
  return ask(
    options,
    loops.map((each) => ({ loop: each, asking: { what: 'resume', request } })),
  )
}

/** Who asks; undefined, and said, where the scope names nothing that there is: a brake that holds nothing is worse than none. */
async function asker(options: Common, target: PauseTarget): Promise<string | undefined> {
  const { by } = options
  if (by !== undefined && target.scope === undefined) return by
  // Loaded late: the clients of Kubernetes and Temporal would be most of the time of --help.
  const { clusterFacts } = await import('./operator.ts')
  const facts = await clusterFacts(options, target)
  if (facts.wrongName !== undefined && options.allowMissing !== true) {
    console.error(`${facts.wrongName} Nothing was done; --allow-missing does it for a name that does not exist`)
    return undefined
  }
  return by ?? facts.by
}

async function ask(
  options: Common,
  asked: readonly { readonly loop: LoopName; readonly asking: Asking }[],
): Promise<number> {
  const [{ withTemporal }, { askLoop }] = await Promise.all([import('./temporal-access.ts'), import('./ask-loop.ts')])
  return withTemporal(options, async (access) => {
    process.once('SIGINT', () => {
      console.error('interrupted; what was asked may be carried out all the same: joiner status says')
      process.exit(130)
    })
    const results = await Promise.all(
      asked.map(async ({ loop, asking }) => ({ loop, ...(await tryAsk(() => askLoop(access, loop, asking))) })),
    )
    const json = results.map(asJson)
    if (isForPrograms(options.output)) process.stdout.write(await structured(options.output, json))
    else
      for (const result of results) {
        if (result.kind === 'done') say(result.answer.message)
        else note(result.message)
      }
    return results.every(({ kind }) => kind === 'done') ? 0 : 1
  })
}

type Result = Asked | { readonly kind: 'refused'; readonly message: string }

/** One loop that cannot be asked keeps the other from nothing. */
async function tryAsk(work: () => Promise<Asked>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CommandError && !(error instanceof DryRun)) return { kind: 'refused', message: error.message }
    throw error
  }
}

function asJson(result: Result & { readonly loop: LoopName }) {
  const { loop, kind } = result
  if (result.kind !== 'done') return { loop, kind, message: result.message }
  const { message, before, inForce } = result.answer
  return { loop, kind, message, before: before.map(pauseJson), inForce: inForce.map(pauseJson) }
}
