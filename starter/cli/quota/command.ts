import type { Command } from 'commander'
import { note, print } from '../../document/print.ts'
import { ReportedError } from '../../document/reported-error.ts'
import { counted } from '../../document/words.ts'
import { type ClusterOptions, clusterOptions, type ListFormat, listOptions } from '../shared/options.ts'

interface Options extends ClusterOptions {
  readonly all?: true
  readonly output: ListFormat
}

/** Adds what `quota` takes, which shows vCPU quotas with what they keep NodePools from. */
export function registerQuota(command: Command): void {
  listOptions(clusterOptions(command))
    .option('--all', 'include families that are neither used nor blocking')
    .addHelpText(
      'after',
      `
Settings are those of Joiner in the cluster (ConfigMap joiner-settings), over which the environment stands; it reads usages and sizes of Azure, and NodePools and NodeClaims of the cluster.
USED is what Azure counts, of everybody in the subscription. IN FLIGHT are VMs that were launched while it counted. BLOCKS are the sizes that
NodePools may buy and that have no room. cores is the total of the region on demand, lowPriorityCores that of spot.
More can be asked for at https://aka.ms/ProdportalCRP. Exit code: 0, 1 when Azure or the cluster does not answer, 2 for settings that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await quota(options)
    })
}

async function quota(options: Options): Promise<number> {
  const [{ quotaTable, readQuota }, { whyOf }, { azureSettings }] = await Promise.all([
    import('./report.ts'),
    import('../../picture/missing.ts'),
    import('../access/azure-settings.ts'),
  ])
  try {
    const read = await azureSettings(options)
    if (read.kind === 'errors') {
      for (const error of read.errors) console.error(error)
      return 2
    }
    const { rows, launching } = await readQuota(read, options)
    const shown = { families: rows, nodeClaimsWithoutSize: launching }
    const launched =
      launching > 0 ? `${counted(launching, 'NodeClaim')} being launched, whose sizes are not known yet` : undefined
    await print(options.output, { json: shown, document: () => [[quotaTable(rows, options.all === true), launched]] })
    return 0
  } catch (error) {
    note(error instanceof ReportedError ? error.message : `${whyOf(error)}; "joiner doctor" says what is missing`)
    return 1
  }
}
