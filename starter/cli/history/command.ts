import type { Command } from 'commander'
import { temporalOptions } from '../operate/temporal-options.ts'
import { outputOption } from '../shared/options.ts'
import { sinceOption } from '../shared/since.ts'
import type { HistoryOptions } from './run.ts'

const ofHistory = `Temporal keeps lifecycles that ended for the retention of its namespace: 7 days are recommended, and the chart's own has them (docs/history.md).`
const exitCodes =
  'Exit code: 0, 1 when Temporal does not answer, 2 for options that cannot be read or when nothing of that name is known.'

/** Adds what `history` takes, which shows what nodes there were, why they came and went, and what they cost. */
export function registerHistory(command: Command): void {
  common(command.command('node', { isDefault: true }).alias('nodes'))
    .description('List the nodes of a time, or show the timeline of one node')
    .argument('[name]', 'name of a Node or NodeClaim, also of one that is gone')
    .addHelpText(
      'after',
      `
Examples:
  joiner history --since 12h
  joiner history node aks-general-7kq2x
  joiner history --since 7d -o csv > nodes.csv

${ofHistory}
${exitCodes}`,
    )
    .action(async (name: string | undefined, options: HistoryOptions) => {
      const { nodeHistory } = await import('./run.ts')
      process.exitCode = await nodeHistory(name, options)
    })
  common(command.command('nodepool').alias('nodepools'))
    .description('Sum up the nodes of each NodePool, or list those of one NodePool')
    .argument('[name]', 'name of a NodePool, also of one that is gone')
    .addHelpText(
      'after',
      `
Examples:
  joiner history nodepool --since 7d
  joiner history nodepool general -o json

${ofHistory}
${exitCodes}`,
    )
    .action(async (name: string | undefined, options: HistoryOptions) => {
      const { poolHistory } = await import('./run.ts')
      process.exitCode = await poolHistory(name, options)
    })
  common(command.command('workload').alias('workloads'))
    .description('Show the nodes that pods of a workload are and were on, as far as that is known')
    .argument('<name>', 'NAMESPACE/NAME, or NAMESPACE/KIND/NAME')
    .addHelpText(
      'after',
      `
Temporal keeps nodes, not pods: shown are the nodes of pods that exist, and of those whose events the API server still has (an hour by default).

Examples:
  joiner history workload shop/web
  joiner history workload shop/StatefulSet/db

${ofHistory}
${exitCodes}`,
    )
    .action(async (name: string, options: HistoryOptions) => {
      const { workloadHistory } = await import('./run.ts')
      process.exitCode = await workloadHistory(name, options)
    })
}

function common(command: Command): Command {
  return sinceOption(outputOption(temporalOptions(command), ['csv']), '24h')
}
