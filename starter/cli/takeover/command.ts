import type { Command } from 'commander'
import { type TemporalOptions, temporalOptions } from '../operate/temporal-options.ts'

interface Options extends TemporalOptions {
  readonly release: string
  readonly temporal?: true
  readonly dryRun?: true
  readonly yes?: true
}

/** Adds what `takeover` takes, which gives CRDs or a cluster's name in Temporal to the installation that is to have them. */
export function registerTakeover(command: Command): void {
  command
    .option('--release <name>', 'Helm release that takes the CRDs', process.env['JOINER_RELEASE'] ?? 'joiner')
    .option('--temporal', "take over the cluster's name in Temporal instead of the CRDs")
    .option('--dry-run', 'print who has it and who would get it, and change nothing')
    .option('--yes', 'do not ask')
  temporalOptions(command)
    .addHelpText(
      'after',
      `
One installation of Joiner works in a cluster, and one cluster has a name in a namespace of Temporal. Others refuse to start work and say who has it
(docs/takeover.md). After a takeover they begin within 30 s; a process that has lost what it worked with ends by itself at its next resync.

Examples:
  joiner admin takeover --release joiner --joiner-namespace nodes
  joiner admin takeover --temporal --cluster-name prod
Without --temporal it needs the rights to get and patch the CRD nodepools.karpenter.sh. With it two workflows of the other cluster, its loops, are
terminated; nothing else of it is touched, and it is refused while workers poll for that name.`,
    )
    .action(async (options: Options) => {
      const { takeOverCrds, takeOverName } = await import('./run.ts')
      process.exitCode = options.temporal === true ? await takeOverName(options) : await takeOverCrds(options)
    })
}
