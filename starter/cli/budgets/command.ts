import { type Command, Option } from 'commander'
import { pausableReasons } from '../../../core/pauses/pauses.ts'
import { print } from '../../document/print.ts'
import { few, Times } from '../../document/words.ts'
import { type ClusterOptions, clusterOptions, type ListFormat, listOptions, wholeNumber } from '../shared/options.ts'
import type { PoolBudgets, Reason } from './report.ts'

interface Options extends ClusterOptions {
  readonly disruptionReason?: Reason
  readonly days: number
  readonly output: ListFormat
}

const mostDays = 92

/** Adds what `budgets` takes, which shows what disruption budgets allow now and in the days to come. */
export function registerBudgets(command: Command): void {
  listOptions(clusterOptions(command))
    .argument('[nodepools...]', 'NodePools (default: all)')
    .addOption(new Option('--disruption-reason <reason>', 'limit to this reason').choices([...pausableReasons]))
    .option('--days <count>', `days to look ahead, ${mostDays} at most`, wholeNumber(1, mostDays), 7)
    .addHelpText(
      'after',
      `
BUDGET is the least that the budgets in force allow at once, IN USE are nodes that are being disrupted or deleted, or are not ready, and LEFT is
what may still be begun. Percentages are of the pool's initialized nodes, rounded up. Schedules are in UTC. What is foretold holds for as many nodes as there are now.
A budget whose schedule cannot be read blocks all disruption of its pool; it is named, with what to write instead.
Expiry (expireAfter) asks no budget. In JSON, null stands for no limit or no end in sight, and limitedBy for indexes of spec.disruption.budgets.

Examples:
  joiner budgets general --disruption-reason Drifted --days 14

Exit code: 0, 1 when the cluster does not answer, 2 when a NodePool does not exist.`,
    )
    .action(async (names: readonly string[], options: Options) => {
      const { exitCodeOf } = await import('../access/cluster.ts')
      process.exitCode = await exitCodeOf(() => run(names, options))
    })
}

async function run(names: readonly string[], options: Options): Promise<number> {
  const [{ pictureOf }, { needed, noteGaps }, { budgetParts, budgetReport }] = await Promise.all([
    import('../access/cluster.ts'),
    import('../../picture/picture.ts'),
    import('./report.ts'),
  ])
  const now = Date.now()
  const picture = await pictureOf(options, budgetParts, now)
  const cluster = needed(picture, budgetParts)
  const exitCode = noteGaps(picture)
  const existing = cluster.nodePools.map(({ metadata }) => metadata.name)
  const missing = names.filter((name) => !existing.includes(name))
  if (missing.length > 0) {
    console.error(
      `NodePool ${missing.map((name) => `"${name}"`).join(', ')} does not exist; there are: ${few(existing.sort(), 20) || 'none'}`,
    )
    return 2
  }
  const nodePools = cluster.nodePools.filter(({ metadata }) => names.length === 0 || names.includes(metadata.name))
  const reasons = options.disruptionReason === undefined ? pausableReasons : [options.disruptionReason]
  await show(budgetReport({ ...cluster, nodePools }, { reasons, now, days: options.days }), options, now)
  return exitCode
}

async function show(pools: readonly PoolBudgets[], { output, days: ahead }: Options, now: number): Promise<void> {
  const { budgetsDocument, budgetsJson } = await import('./text.ts')
  const times = new Times(now)
  await print(output, {
    json: budgetsJson(pools),
    document: () =>
      pools.length === 0 ? [['there are no NodePools of AKS']] : budgetsDocument(pools, { days: ahead, times }),
  })
}
