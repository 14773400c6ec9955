import type { Command } from 'commander'
import { temporalOptions } from '../operate/temporal-options.ts'
import type { AdoptOptions } from './run.ts'

/** Adds what `adopt` takes, which has NodeClaims made again for VMs that lost them. */
export function registerAdopt(command: Command): void {
  command
    .argument('[names...]', 'VMs, by their own names or those of their Nodes or lost NodeClaims; all by default')
    .option('--delete', 'drain the named VMs and end them: their NodeClaims are made again and deleted')
    .option('--dry-run', 'print what becomes of them and change nothing')
    .option('--yes', 'do not ask')
  temporalOptions(command)
    .addHelpText(
      'after',
      `
After a restore of etcd, or when the CRDs were forced away, VMs run pods and no NodeClaim stands for them. Garbage collection keeps them, and gives each
its NodeClaim again ten minutes after it has found it, unless for more than half of them tags, NodePool and Node contradict each other. This command does
it now. The NodeClaim follows from the VM's tags and from its NodePool; pods stay. A VM whose Node is being deleted cannot be kept: it is adopted to be
drained, no more at once than the budgets of its NodePool allow, and ends.

Examples:
  joiner admin adopt --dry-run
  joiner admin adopt aks-general-x7k2p
  joiner admin adopt --delete aks-general-x7k2p

Exit code: 0 when nothing is left to do (or with --dry-run), 1 when something is, 2 for options that cannot be read.`,
    )
    .action(async (names: readonly string[], options: AdoptOptions) => {
      if (options.delete === true && names.length === 0) {
        console.error('--delete: name the VMs that are to end')
        process.exitCode = 2
        return
      }
      const { adopt } = await import('./run.ts')
      process.exitCode = await adopt(names, options)
    })
}
