import { type Command, InvalidArgumentError } from 'commander'
import { another, connectionOptions, outputOption } from '../shared/options.ts'
import type { AdviseOptions } from './run.ts'

const help = `
Works beside any autoscaler, and installs and changes nothing: it gets and lists objects of the cluster, and asks Azure with the login of az login.
Nodes of AKS' own agent pools
count as those of NodePools that it proposes in their place. It says who scales the cluster, what nodes cost, what one consolidation pass of Joiner would save, which PodDisruptionBudgets and annotations keep
nodes, and why pods wait. What you may not read is named and left out. Without a login at Azure, sizes are those that the cluster has.
consolidateAfter is not waited for, and drift is left alone: it saves nothing.

Examples:
  joiner advise
  joiner advise -o json > advice.json
  joiner advise -o html > advice.html
  joiner advise --budget 100%
  joiner advise --write-nodepools nodepools/

Exit code: 0, 1 when the cluster cannot be read, 2 for wrong usage.`

/** Adds what `advise` takes. */
export function registerAdvise(command: Command): void {
  outputOption(connectionOptions(command), ['html'])
    .option('--catalog <file>', 'instance types or resource SKUs to use instead of asking Azure')
    .option('--prices <file>', 'file of retail prices to use instead of asking the price list; repeatable', another, [])
    .option('--budget <nodes>', 'disruption budget of every NodePool for this estimate, such as 100%', budget)
    .option(
      '--write-nodepools <path>',
      'write NodePools and AKSNodeClasses in place of agent pools: a .yaml file, or a folder with a file for each',
    )
    .option('--all', 'list every move, pod and obstacle')
    .addHelpText('after', help)
    .action(async (options: AdviseOptions) => {
      const { advise } = await import('./run.ts')
      process.exitCode = await advise(options)
    })
}

function budget(text: string): string {
  if (!/^(\d{1,9}|100%|\d{1,2}%)$/.test(text))
    throw new InvalidArgumentError('Write a number of nodes, or a share such as 50%.')
  return text
}
