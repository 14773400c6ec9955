import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
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

const joiner = fileURLToPath(new URL('../starter/joiner.ts', import.meta.url))

export const ours: Solver = {
  name: 'joiner simulate',
  rounds: async (file, rounds) =>
    timed(process.execPath, [joiner, 'simulate', file, '--output', 'json', '--time', '--rounds', String(rounds)]),
  solve: async (file) =>
    JSON.parse((await output(process.execPath, [joiner, 'simulate', file, '--output', 'json'])).out),
}

export async function peer(): Promise<Solver> {
  const binary = await peerBinary()
  return {
    name: 'bench/peer',
    rounds: async (file, rounds) => timed(binary, ['solve', '-time', '-rounds', String(rounds), file]),
    solve: async (file) => JSON.parse((await output(binary, ['solve', file])).out),
  }
}

async function timed(command: string, args: readonly string[]): Promise<readonly Round[]> {
  const { err } = await output(command, args)
  const rounds = err
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as PrintedRound)
  if (rounds.length === 0) throw new Error(`${command} ${args.join(' ')}: no line with times on its standard error`)
  return rounds.map((round) => ({ ...round, prepareMs: round.snapshotMs ?? round.constructMs ?? 0 }))
}

async function output(
  command: string,
  args: readonly string[],
): Promise<{ readonly out: string; readonly err: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit status ${code}\n${err.slice(-2000)}`)
  return { out, err }
}
