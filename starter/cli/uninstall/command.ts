import { type Command, Option } from 'commander'
import { parseGoDuration } from '../../../core/values/duration.ts'
import { temporalOptions } from '../operate/temporal-options.ts'
import type { UninstallOptions } from './context.ts'

/** Adds what `uninstall` takes, which takes Joiner out of a cluster, up to what Helm installed. */
export function registerUninstall(command: Command): void {
  command
    .option('--release <name>', 'Helm release', process.env['JOINER_RELEASE'] ?? 'joiner')
    .addOption(
      new Option('--nodes <what>', 'what becomes of the nodes that Joiner made')
        .choices(['keep', 'karpenter', 'remove'])
        .default('keep'),
    )
    .option('--delete-history', 'also delete the histories of closed workflows from Temporal')
    .option('--timeout <duration>', 'time limit of each wait', '20m')
    .option('--dry-run', 'print the steps and change nothing')
    .option('--yes', 'do not ask')
  temporalOptions(command)
    .addHelpText(
      'after',
      `
--nodes keep       nodes, pods and VMs stay. Finalizers and owners are removed, so that NodeClaims and Nodes can be deleted without Joiner, and the
                   deletion of a NodeClaim leaves its node running.
--nodes karpenter  nodes stay, with everything that Karpenter needs to go on with them.
--nodes remove     every NodeClaim is deleted, and with it its Node and VM, before Joiner is stopped.

Run it before helm uninstall, while Temporal runs, as an administrator of the cluster. It scales Joiner's Deployments to 0 and waits until no process
of Joiner holds a leader Lease, since a running one would start its workflows again. Steps that are done already are left out: after an interruption,
run it again.

Examples:
  joiner admin uninstall --dry-run
  joiner admin uninstall --nodes remove --delete-history --yes

Exit code: 0 when nothing is left to do (or with --dry-run), 1 when something is, 2 for options that cannot be read.`,
    )
    .action(async (options: UninstallOptions) => {
      const nanoseconds = parseGoDuration(options.timeout)
      if (nanoseconds === undefined || nanoseconds <= 0n) {
        console.error(`--timeout "${options.timeout}": not a duration; write it as 90s, 20m or 1h30m`)
        process.exitCode = 2
        return
      }
      const { uninstall } = await import('./run.ts')
      process.exitCode = await uninstall(options, Number(nanoseconds / 1_000_000n))
    })
}
