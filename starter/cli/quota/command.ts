import { type Command, Option } from 'commander'
import { readConfig } from '../../../api/config.ts'
import { counted } from '../simulate/words.ts'

interface Options {
  readonly all?: true
  readonly output: 'text' | 'json'
}

const timeoutMs = 60_000

/** Adds `quota`, which shows vCPU quotas with what they keep NodePools from. */
export function registerQuota(program: Command): void {
  program
    .command('quota')
    .description('Show vCPU quotas of the subscription in the region, and the NodePools they block')
    .option('--all', 'include families that are neither used nor blocking')
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Settings are those of joiner worker, from the environment; it reads usages and sizes of Azure, and NodePools and NodeClaims of the cluster.
USED is what Azure counts, of everybody in the subscription. IN FLIGHT are VMs that were launched while it counted. BLOCKS are the sizes that
NodePools may buy and that have no room. cores is the total of the region on demand, lowPriorityCores that of spot.
More can be asked for at https://aka.ms/ProdportalCRP. Exit code: 0, 1 when Azure or the cluster does not answer, 2 for settings that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await quota(options)
    })
}

async function quota({ all, output }: Options): Promise<number> {
  const parsed = readConfig(process.env)
  if (parsed.kind === 'errors') {
    for (const error of parsed.errors) console.error(error)
    return 2
  }
  const [{ readQuota }, { quotaTable }] = await Promise.all([import('./read.ts'), import('./report.ts')])
  try {
    const { rows, launching } = await readQuota(parsed.config, process.env, AbortSignal.timeout(timeoutMs))
    if (output === 'json') console.log(JSON.stringify({ families: rows, nodeClaimsWithoutSize: launching }, null, 2))
    else {
      console.log(quotaTable(rows, all === true))
      if (launching > 0) console.log(`${counted(launching, 'NodeClaim')} being launched, whose sizes are not known yet`)
    }
    return 0
  } catch (error) {
    const { reason } = await import('../doctor/check.ts')
    console.error(`${reason(error)}; "joiner doctor" says what is missing`)
    return 1
  }
}
