import type { Command } from 'commander'
import { asked, askerOptions, limitOptions, type RequestOptions } from './request-options.ts'

interface Options extends RequestOptions {
  readonly wait: boolean
}

const consolidateMs = 300_000

/** Adds what `consolidate` takes. */
export function registerConsolidate(command: Command): void {
  askerOptions(
    limitOptions(
      command
        .option('--no-wait', 'return before the commands end')
        .option('--dry-run', 'only plan, as joiner plan --ignore-consolidate-after'),
    ),
  )
    .addHelpText(
      'after',
      `
One pass is made: nodes that are empty, drifted or underutilized, as consolidationPolicy and budgets allow. What it leaves is found by the passes
that Joiner makes by itself, or by another joiner consolidate. To look before: joiner plan --ignore-consolidate-after, then joiner apply.
Under a pause of all disruption, or of what is named, nothing is done, and the pause is named.
Ctrl-C ends the waiting, not the commands.

Examples:
  joiner consolidate --nodepool general --budget 2

Exit code: 0 when what was found is done (or begun, with --no-wait) or nothing was found, 1 when not, 2 for options that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await consolidate(options)
    })
}

async function consolidate({ dryRun, ...options }: Options): Promise<number> {
  if (dryRun === true) return (await import('./plan-command.ts')).plan({ ...options, ignoreConsolidateAfter: true })
  // Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help.
  const [{ withTemporal }, { askDisruption }, { clusterFacts }, { consolidateUpdate }, { carryOut }] =
    await Promise.all([
      import('./temporal-access.ts'),
      import('./ask-loop.ts'),
      import('./operator.ts'),
      import('../../../workflows/messages.ts'),
      import('./request-answer.ts'),
    ])
  return withTemporal(options, async (access) => {
    const by = options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
    const answer = await askDisruption(access, {
      update: consolidateUpdate,
      request: { ...asked(options), by },
      limitMs: consolidateMs,
    })
    return carryOut(access, answer, {
      ...options,
      nothing: 'nothing to do now; joiner plan --ignore-consolidate-after says of each node why it stays',
    })
  })
}
