import { defined } from '../../../core/values/defined.ts'
import { print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { unanswered } from '../../picture/missing.ts'
import { withCluster } from '../access/cluster.ts'
import { needInput } from '../shared/input.ts'
import type { ConnectionOptions, OutputFormat } from '../shared/options.ts'
import { type Advice, adviceOn } from './advice.ts'
import { placeOf, readArm, readMarket } from './azure/market.ts'
import { readCluster, type SeenCluster } from './cluster/read.ts'
import { writeProposals } from './node-pools/propose.ts'
import { adviceDocument } from './text.ts'

/** What the command line asks for. */
export interface AdviseOptions extends ConnectionOptions {
  readonly output: OutputFormat | 'html'
  readonly catalog?: string
  readonly prices: readonly string[]
  readonly budget?: string
  readonly all?: true
  /** Where to write proposed NodePools to. */
  readonly writeNodepools?: string
}

/** Reads, plans and prints; writes nothing to the cluster or to Azure. Returns the exit code. Errors: ReportedError. */
export async function advise(options: AdviseOptions): Promise<number> {
  const advice = await readAdvice(options)
  const { output, writeNodepools } = options
  const isPage = output === 'html'
  const extent = { all: options.all === true || isPage, isPage }
  await print(output, { json: advice, document: () => adviceDocument(advice, extent) })
  if (writeNodepools !== undefined) console.error(writeProposals(writeNodepools, advice.nodePools))
  return 0
}

async function readAdvice(options: AdviseOptions): Promise<Advice> {
  const catalog = options.catalog === undefined ? undefined : await needInput(options.catalog)
  const prices = await Promise.all(options.prices.map(needInput))
  const seen = await seenCluster(options)
  const { nodes } = seen.cluster
  const place = placeOf(nodes)
  const now = Date.now()
  const env = process.env
  const arm =
    catalog === undefined
      ? await readArm(place, env, now)
      : { unread: ['Azure was not asked: --catalog says what is sold'] }
  const market = await readMarket({ prices, place, arm, nodes, env, now, ...defined({ catalog }) })
  const { budget } = options
  const clock = () => performance.now()
  return adviceOn({ seen, arm, market, region: place.region, now, clock, ...defined({ budget }) })
}

async function seenCluster(connection: ConnectionOptions): Promise<SeenCluster> {
  try {
    return await withCluster(connection, readCluster)
  } catch (error) {
    throw new CommandError(`advise: the cluster cannot be read: ${unanswered(error)}`)
  }
}
