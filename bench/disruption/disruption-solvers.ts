import { fileURLToPath } from 'node:url'
import { outputOf, runToEnd } from '../run-to-end.ts'
import { peerBinary } from '../scheduling/scheduling-peer.ts'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const lines = <T>(text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as T] : []))

/** The command line that decides about a scenario on standard input. */
export const joinerSimulate = [path('../../starter/joiner.ts'), 'simulate', '-', '--output', 'json']

/** What a pass took, of the cluster as it is known to what it found. */
interface Pass {
  readonly candidates: number
  readonly simulations: number
  /** USD an hour. */
  readonly savings: number
  readonly peakRSSMiB: number
}

export interface OwnPass extends Pass {
  readonly worldMs: number
  readonly evaluateMs: number
  /** Such as `delete 12`. */
  readonly commands: readonly string[]
}

export interface PeerPass extends Pass {
  readonly candidatesMs: number
  readonly computeMs: number
  readonly commands: number
  /** Upstream gave up for want of time. */
  readonly timedOut: boolean
}

/** Passes in one process of its own. */
export async function ownPasses(file: string, rounds: number, most: number): Promise<readonly OwnPass[]> {
  const { out } = await outputOf(process.execPath, [path('disruption-rounds.ts'), file, String(rounds), String(most)])
  return lines<OwnPass>(out)
}

export interface DisruptionPeer {
  readonly passes: (file: string, rounds: number) => Promise<readonly PeerPass[]>
  /** All that it answers in so many rounds; undefined where it has no answer, as there is no NodePool that is ready. */
  readonly distinct: (scenario: string, rounds: number) => Promise<readonly unknown[] | undefined>
}

export async function disruptionPeer(): Promise<DisruptionPeer> {
  const binary = await peerBinary()
  return {
    passes: async (file, rounds) => {
      const { err } = await outputOf(binary, ['disrupt', '-time', '-rounds', String(rounds), file])
      return lines<PeerPass>(err)
    },
    distinct: async (scenario, rounds) => {
      const args = ['disrupt', '-distinct', '-rounds', String(rounds)]
      const { out, err, code } = await runToEnd(binary, args, scenario)
      if (code === 0) return JSON.parse(out)
      if (err.includes('no nodepools found')) return undefined
      throw new Error(`${binary} ${args.join(' ')}: exit status ${code}\n${err.slice(-2000)}`)
    },
  }
}
