import { type Command, InvalidArgumentError, Option } from 'commander'
import { temporalOptions } from '../operate/temporal-options.ts'
import { outputOption } from '../shared/options.ts'
import { sinceOption } from '../shared/since.ts'
import type { CostKey, CostOptions } from './text.ts'

/** Adds what `cost` takes, which shows what nodes cost and who shares it. */
export function registerCost(command: Command): void {
  sinceOption(outputOption(temporalOptions(command), ['csv']), '24h')
    .addOption(
      new Option('--group-by <key>', 'nodepool, namespace, workload, or label=KEY')
        .argParser(costKey)
        .default({ kind: 'nodepool' } satisfies CostKey, 'nodepool'),
    )
    .addHelpText(
      'after',
      `
NodePools and labels are counted from the lifecycles that Temporal keeps: a VM costs from when Azure accepted it until it accepted its deletion, at the price of its launch. Namespaces
and workloads have the share that they requested, by the hour, as the planners watched it; the rest of the price is idle, and time that nobody watched is unknown. Hours are
counted whole. A disruption command saves until its replacement ends, for a day at most (docs/cost.md).

Examples:
  joiner cost --since 7d
  joiner cost --group-by namespace --since 30d -o csv > cost.csv
  joiner cost --group-by label=team

Exit code: 0, 1 when Temporal does not answer, 2 for options that cannot be read.`,
    )
    .action(async (options: CostOptions) => {
      const { showCost } = await import('./text.ts')
      process.exitCode = await showCost(options)
    })
}

function costKey(text: string): CostKey {
  if (text === 'nodepool' || text === 'namespace' || text === 'workload') return { kind: text }
  const label = /^label=(.{1,317})$/.exec(text)?.[1]
  if (label === undefined) throw new InvalidArgumentError('It must be nodepool, namespace, workload or label=KEY.')
  return { kind: 'label', label }
}
