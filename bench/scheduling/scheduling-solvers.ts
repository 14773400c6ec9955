import { fileURLToPath } from 'node:url'
import { outputOf } from '../run-to-end.ts'
import { peerBinary } from './scheduling-peer.ts'

/** What both programs print of a round. Ours says `snapshotMs` where the peer says `constructMs`. */
interface PrintedRound {
  readonly pods: number
  readonly snapshotMs?: number
  readonly constructMs?: number
  readonly solveMs: number
  readonly nodes: number
  readonly errors: number
  readonly sumCheapestPrice: number
  readonly peakRSSMiB: number
}

export interface Round extends PrintedRound {
  /** Up to where the first pod is tried. */
  readonly prepareMs: number
}

/** A program that solves a scenario file. */
export interface Solver {
  readonly name: string
  /** Times of rounds in one process. */
  readonly rounds: (file: string, rounds: number) => Promise<readonly Round[]>
  /** The result, in the format of the vectors. */
  readonly solve: (file: string) => Promise<unknown>
}

const joiner = fileURLToPath(new URL('../../starter/joiner.ts', import.meta.url))

export const ours: Solver = {
  name: 'joiner simulate',
  rounds: async (file, rounds) =>
    timed(process.execPath, [joiner, 'simulate', file, '--output', 'json', '--time', '--rounds', String(rounds)]),
  solve: async (file) =>
    JSON.parse((await outputOf(process.execPath, [joiner, 'simulate', file, '--output', 'json'])).out),
}

export async function peer(): Promise<Solver> {
  const binary = await peerBinary()
  return {
    name: 'bench/peer',
    rounds: async (file, rounds) => timed(binary, ['solve', '-time', '-rounds', String(rounds), file]),
    solve: async (file) => JSON.parse((await outputOf(binary, ['solve', file])).out),
  }
}

async function timed(command: string, args: readonly string[]): Promise<readonly Round[]> {
  const { err } = await outputOf(command, args)
  const rounds = err
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as PrintedRound)
  if (rounds.length === 0) throw new Error(`${command} ${args.join(' ')}: no line with times on its standard error`)
  return rounds.map((round) => ({ ...round, prepareMs: round.snapshotMs ?? round.constructMs ?? 0 }))
}
