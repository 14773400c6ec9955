import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { circumstances, median, ms, table } from '../report.ts'
import { disruptionNamed } from '../workloads/disruption.ts'
import { type DisruptionPeer, disruptionPeer, type OwnPass, ownPasses, type PeerPass } from './disruption-solvers.ts'

const warmRounds = 3
const upstreamsMost = 100

const workloads = [
  'mixed-single-node-1000',
  'settled-single-node-1000',
  'packed-single-node-1000',
  'mixed-multi-node-1000',
  'settled-multi-node-1000',
  'mixed-single-node-5000',
  'settled-single-node-5000',
  'mixed-multi-node-5000',
  'settled-multi-node-5000',
] as const

interface Options {
  readonly skipPeer: boolean
  readonly only?: string | undefined
}

/** Times single-node passes and multi-node searches, ours and upstream's on the same files, and prints one table. */
export async function disruption({ skipPeer, only }: Options): Promise<void> {
  const names = only === undefined ? workloads : only.split(',')
  const peer = skipPeer ? undefined : await disruptionPeer()
  const folder = await mkdtemp(join(tmpdir(), 'joiner-bench-'))
  try {
    const rows: (readonly string[])[] = []
    for (const name of names) rows.push(...(await measure(name, peer, join(folder, 'scenario.json'))))
    console.log(`### Disruption against upstream’s, ${circumstances()}\n\n${table(head, rows)}\n`)
    console.log(explanation)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const head = [
  'cluster and method',
  'candidates',
  'snapshot ms',
  'decide ms',
  'first ms',
  'simulated',
  'command',
  'USD/h saved',
  'RSS MiB',
  'peer ms',
  'peer simulated',
  'peer USD/h',
  'peer RSS MiB',
  'ratio',
]

const explanation = `Ours: median of ${warmRounds} passes in a warm process, of the indexed objects to the command; "first" is the whole pass before them, nothing
compiled. Peer: candidates and the method up to its command, without its validation; one pass. Simulated counts simulations of the scheduler. A pass of the
peer ends after its own 3 minutes, a search after its own minute (then marked "gave up"): the ratio is of what both took, so where the peer gave up it is a
lower bound, and the ratio for each simulation follows in brackets. A search looks at ${upstreamsMost} candidates as upstream’s does, or at all where the row says so.
`

async function measure(name: string, peer: DisruptionPeer | undefined, file: string) {
  const scenario = disruptionNamed(name)
  if (scenario === undefined)
    throw new Error(`--only ${name}: it must be SHAPE-METHOD-NODES, such as ${workloads.join(', ')}`)
  await writeFile(file, JSON.stringify(scenario))
  console.error(`${name}: ours`)
  const own = await ownPasses(file, 1 + warmRounds, upstreamsMost)
  const unlimited =
    scenario.method === 'multi-node' ? await ownPasses(file, 1 + warmRounds, Number.MAX_SAFE_INTEGER) : undefined
  if (peer !== undefined) console.error(`${name}: peer`)
  const [theirs] = peer === undefined ? [] : await peer.passes(file, 1)
  console.error(`${name}: ${scenario.note}`)
  return [row(name, own, theirs), ...(unlimited === undefined ? [] : [row(`${name}, all`, unlimited, undefined)])]
}

function row(name: string, passes: readonly OwnPass[], theirs: PeerPass | undefined): readonly string[] {
  const [first, ...warm] = passes
  if (first === undefined || warm.length === 0) throw new Error(`${name}: fewer passes than asked for`)
  const total = ({ worldMs, evaluateMs }: OwnPass) => worldMs + evaluateMs
  const took = median(warm.map(total))
  return [
    name,
    String(first.candidates),
    ms(median(warm.map(({ worldMs }) => worldMs))),
    ms(median(warm.map(({ evaluateMs }) => evaluateMs))),
    ms(total(first)),
    String(first.simulations),
    first.commands.join(', ') || 'none',
    first.savings.toFixed(2),
    Math.max(...passes.map(({ peakRSSMiB }) => peakRSSMiB)).toFixed(0),
    ...(theirs === undefined ? ['', '', '', '', ''] : peerCells(theirs, took, first.simulations)),
  ]
}

function peerCells(theirs: PeerPass, ownMs: number, ownSimulations: number): readonly string[] {
  const theirMs = theirs.candidatesMs + theirs.computeMs
  const each = theirMs / theirs.simulations / (ownMs / ownSimulations)
  return [
    `${ms(theirMs)}${theirs.timedOut ? ', gave up' : ''}`,
    String(theirs.simulations),
    theirs.savings.toFixed(2),
    theirs.peakRSSMiB.toFixed(0),
    `${theirs.timedOut ? '> ' : ''}${(theirMs / ownMs).toFixed(1)} x (${each.toFixed(1)} x)`,
  ]
}
