import { print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { unanswered } from '../../picture/missing.ts'
import { withCluster } from '../access/cluster.ts'
import type { InputFile } from '../shared/input.ts'
import type { ConnectionOptions, OutputFormat } from '../shared/options.ts'
import { type Advice, adviceOn } from './advice.ts'
import { placeOf, readArm } from './azure/arm.ts'
import { readMarket } from './azure/market.ts'
import { readCluster, type SeenCluster } from './cluster/read.ts'
import { writeProposals } from './node-pools/propose.ts'
import { adviceDocument } from './text.ts'

/** What the command line asks for. */
interface AdviseInput {
  readonly connection: ConnectionOptions
  readonly output: OutputFormat | 'html'
  readonly catalog?: InputFile
  readonly prices: readonly InputFile[]
  readonly budget?: string
  readonly all: boolean
  /** Where to write proposed NodePools to. */
  readonly writeNodePools?: string
}

/** Reads, plans and prints; writes nothing to the cluster or to Azure. Returns the exit code. Errors: ReportedError. */
export async function advise(input: AdviseInput): Promise<number> {
  const advice = await readAdvice(input)
  const { output } = input
  const isPage = output === 'html'
  const extent = { all: input.all || isPage, isPage }
  await print(output, { json: advice, document: () => adviceDocument(advice, extent) })
  if (input.writeNodePools !== undefined) console.error(writeProposals(input.writeNodePools, advice.nodePools))
  return 0
}

async function readAdvice({ connection, budget, catalog, prices }: AdviseInput): Promise<Advice> {
  const seen = await seenCluster(connection)
  const { nodes } = seen.cluster
  const place = placeOf(nodes)
  const now = Date.now()
  const env = process.env
  const arm =
    catalog === undefined
      ? await readArm(place, env, now)
      : { unread: ['Azure was not asked: --catalog says what is sold'] }
  const market = await readMarket({ prices, place, arm, nodes, env, now, ...(catalog && { catalog }) })
  return adviceOn({
    seen,
    arm,
    market,
    region: place.region,
    now,
    clock: () => performance.now(),
    ...(budget === undefined ? {} : { budget }),
  })
}

async function seenCluster(connection: ConnectionOptions): Promise<SeenCluster> {
  try {
    return await withCluster(connection, readCluster)
  } catch (error) {
    throw new CommandError(`advise: the cluster cannot be read: ${unanswered(error)}`)
  }
}
