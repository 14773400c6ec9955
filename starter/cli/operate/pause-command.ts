import { type Command, Option } from 'commander'
import { type LoopName, pausableReasons } from '../../../core/pauses/pauses.ts'
import { printable } from '../../../core/values/printable.ts'
import type { Asked, Asking } from './ask-loop.ts'
import { pauseJson } from './pause-json.ts'
import { type EndOptions, endOf, type PauseTarget, type ScopeOptions, targetOf } from './scope-options.ts'
import { CommandError, type TemporalOptions, temporalOptions, whereToRun } from './temporal-options.ts'

interface Common extends ScopeOptions, TemporalOptions {
  readonly by?: string
  readonly output: 'text' | 'json'
}

/** Adds `pause` and `resume`. */
export function registerPause(program: Command): void {
  common(program.command('pause'))
    .description('Pause disruption, a part of it, or provisioning; deletions under way continue')
    .requiredOption('--why <text>', 'shown wherever the pause shows')
    .option('--for <duration>', 'resume after this duration, such as 2h')
    .option('--until <time>', 'resume at this time, such as 2026-12-01T06:00:00Z')
    .addHelpText(
      'after',
      `
Without a scope all disruption is paused; --provisioning pauses the creation of nodes instead. A pause of the same scope replaces the one before.
The pause shows in joiner status, and as condition and events DisruptionPaused on NodePools (on the NodeClaim for --node).
Expiry (expireAfter) is not disruption: it goes on.
  joiner pause --why "release day" --for 2h
  joiner pause --nodepool gpu --why "training until Friday" --until 2026-12-04T18:00:00Z
  joiner pause --reason Drifted --why "new image is looked at first"
${whereToRun}
Exit code: 0 when it is in force, 1 when not (or not yet), 2 for options that cannot be read.`,
    )
    .action(async (options: Common & EndOptions & { readonly why: string }) => {
      process.exitCode = await pause(options)
    })
  common(program.command('resume'))
    .description('Resume what was paused; name the scope as in the pause')
    .option('--all', 'lift every pause of disruption and provisioning')
    .addHelpText(
      'after',
      `
Without a scope the pause of all disruption is lifted; pauses of a NodePool, node or reason stay.
  joiner resume --nodepool gpu
  joiner resume --all
${whereToRun}
Exit code: 0 when nothing of that scope is paused any more (also when nothing was), 1 when not (or not yet), 2 for options that cannot be read.`,
    )
    .action(async (options: Common & { readonly all?: true }) => {
      process.exitCode = await resume(options)
    })
}

function common(command: Command): Command {
  return temporalOptions(
    command
      .option('--nodepool <name>', 'limit to disruption of nodes of this NodePool')
      .option('--node <name>', 'limit to disruption of this node, by the name of its Node or NodeClaim')
      .addOption(new Option('--reason <reason>', 'limit to disruption for this reason').choices(pausableReasons))
      .option('--provisioning', 'provisioning instead of disruption')
      .option('--by <name>', 'requester to record (default: the Kubernetes user, else the local user)'),
  ).addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
}

async function pause(options: Common & EndOptions & { readonly why: string }): Promise<number> {
  const target = targetOf(options)
  if (target.kind === 'error') return usage(target.message)
  const end = endOf(options, Date.now())
  if (end.kind === 'error') return usage(end.message)
  if (options.why.trim() === '') return usage('--why: say why, for whoever finds the pause')
  const { scope, loop } = target.value
  const by = await asker(options, target.value)
  const request = {
    reason: options.why,
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
  const request = { by, ...(scope === undefined ? {} : { scope }), ...(isAll ? { all: true } : {}) }
  const loops: readonly LoopName[] = isAll ? ['provisioning', 'disruption'] : [loop]
  return ask(
    options,
    loops.map((each) => ({ loop: each, asking: { what: 'resume', request } })),
  )
}

/** Who asks; says on the way what is odd about the scope. */
async function asker({ by }: Common, target: PauseTarget): Promise<string> {
  if (by !== undefined && target.scope === undefined) return by
  // Loaded late: the clients of Kubernetes and Temporal would be most of the time of --help.
  const { clusterFacts } = await import('./operator.ts')
  const facts = await clusterFacts(target)
  if (facts.warning !== undefined) console.error(`note: ${facts.warning}`)
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
    if (options.output === 'json') console.log(JSON.stringify(results.map(asJson), null, 2))
    else
      for (const result of results) {
        if (result.kind === 'done') console.log(printable(result.answer.message))
        else console.error(printable(result.message))
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
    if (error instanceof CommandError) return { kind: 'refused', message: error.message }
    throw error
  }
}

function asJson(result: Result & { readonly loop: LoopName }): unknown {
  const { loop, kind } = result
  if (result.kind !== 'done') return { loop, kind, message: result.message }
  const { message, before, inForce } = result.answer
  return { loop, kind, message, before: before.map(pauseJson), inForce: inForce.map(pauseJson) }
}

function usage(message: string): number {
  console.error(message)
  return 2
}
