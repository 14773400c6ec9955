import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { circumstances, median, ms, table } from '../report.ts'
import { scenarioText, type Workload, workloads } from '../workloads/workloads.ts'
import { ours, peer, type Round, type Solver } from './scheduling-solvers.ts'

const warmRounds = 5

interface Options {
  readonly skipPeer: boolean
  readonly only?: string | undefined
}

/** Times the scheduler and upstream's on the same files, one after the other, and prints one table. */
export async function scheduling({ skipPeer, only }: Options): Promise<void> {
  const chosen = workloads.filter(({ name, onDemand }) => (only === undefined ? onDemand !== true : name === only))
  if (chosen.length === 0)
    throw new Error(`--only ${only}: no such workload; there are ${workloads.map(({ name }) => name).join(', ')}`)
  const upstream = skipPeer ? undefined : await peer()
  const folder = await mkdtemp(join(tmpdir(), 'joiner-bench-'))
  try {
    const rows: (readonly string[])[] = []
    for (const workload of chosen) rows.push(await measure(workload, upstream, folder))
    console.log(`### Scheduler against upstream’s, ${circumstances()}\n\n${table(head, rows)}\n`)
    console.log(explanation)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const head = [
  'workload',
  'snapshot',
  'solve',
  'first round',
  'peer construct',
  'peer Solve',
  'ratio',
  'nodes',
  'peer nodes',
  'cost',
  'peer cost',
  'RSS MiB',
  'peer RSS MiB',
]

const explanation = `Milliseconds. Ours: median of ${warmRounds} rounds in a warm process, and the first round (snapshot and solve) before them. Peer: one worker, medians.
The ratio is the peer’s construct and Solve over our snapshot and solve. Cost is the sum over new claims of the cheapest price that can be launched, the peer’s as
lowest - highest (median) of its rounds. Pods without a place are named where there are any.
`

async function measure(workload: Workload, upstream: Solver | undefined, folder: string): Promise<readonly string[]> {
  const file = join(folder, `${workload.name}.json`)
  await writeFile(file, scenarioText(workload))
  console.error(`${workload.name}: ${ours.name}`)
  const [first, ...warm] = await ours.rounds(file, 1 + warmRounds)
  if (first === undefined || warm.length === 0) throw new Error(`${ours.name} timed fewer rounds than asked for`)
  let theirs: readonly Round[] = []
  if (upstream !== undefined && workload.peerRounds > 0) {
    console.error(`${workload.name}: ${upstream.name}`)
    theirs = await upstream.rounds(file, workload.peerRounds)
  }
  await rm(file)
  return row(workload.name, first, warm, theirs)
}

function row(name: string, first: Round, warm: readonly Round[], theirs: readonly Round[]): readonly string[] {
  const total = ({ prepareMs, solveMs }: Round) => prepareMs + solveMs
  const range = (values: readonly number[], digits: number) =>
    [...new Set([Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits)))].join(' - ')
  const prices = theirs.map(({ sumCheapestPrice }) => sumCheapestPrice)
  const nodeCounts = theirs.map(({ nodes }) => nodes)
  const last = theirs.at(-1)
  const unplaced = [...new Set([...warm, ...theirs].map(({ errors }) => errors))]
  return [
    unplaced.every((errors) => errors === 0) ? name : `${name} (without a place: ${unplaced.join(', ')})`,
    ms(median(warm.map(({ prepareMs }) => prepareMs))),
    ms(median(warm.map(({ solveMs }) => solveMs))),
    ms(total(first)),
    ...(last === undefined
      ? ['', '', '']
      : [
          ms(median(theirs.map(({ prepareMs }) => prepareMs))),
          ms(median(theirs.map(({ solveMs }) => solveMs))),
          `${(median(theirs.map(total)) / median(warm.map(total))).toFixed(1)} x`,
        ]),
    String(first.nodes),
    last === undefined ? '' : range(nodeCounts, 0),
    first.sumCheapestPrice.toFixed(2),
    last === undefined ? '' : `${range(prices, 2)} (${median(prices).toFixed(2)})`,
    Math.max(...warm.map(({ peakRSSMiB }) => peakRSSMiB)).toFixed(0),
    last === undefined ? '' : Math.max(...theirs.map(({ peakRSSMiB }) => peakRSSMiB)).toFixed(0),
  ]
}
