import { once } from 'node:events'
import { type DisruptionResultJson, decisionText } from './disruption.ts'
import { type Explanation, explain, explanationText } from './explain.ts'
import { type Loaded, load } from './load.ts'
import { resultText } from './result.ts'
import { type Solved, solveRounds } from './rounds.ts'
import { readSettings, type SchedulerFlags } from './settings.ts'
import { InputError } from './shape.ts'
import { tableText } from './table.ts'

export interface SimulateSettings extends SchedulerFlags {
  readonly output: 'text' | 'json'
  readonly catalog?: string
  readonly prices: readonly string[]
  readonly complete?: boolean
  readonly explain?: string
  readonly time?: boolean
  readonly rounds: number
}

/** Runs the command. Returns its exit status. */
export async function simulate(inputs: readonly string[], settings: SimulateSettings): Promise<number> {
  // A reader that has seen enough, such as head, is no failure.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
  try {
    await run(inputs, settings)
    return 0
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    console.error(error.message)
    return 1
  }
}

async function run(inputs: readonly string[], settings: SimulateSettings): Promise<void> {
  const { overrides, warnings } = await readSettings(settings)
  const { catalog, prices, complete = false } = settings
  if (prices.length > 0 && catalog === undefined)
    throw new InputError('--prices: there are no resource SKUs to price; add --catalog FILE')
  const loaded = await load(inputs, { prices, overrides, complete, ...(catalog === undefined ? {} : { catalog }) })
  if (loaded.decide !== undefined) return printDecision(loaded, loaded.decide, settings, warnings)
  const solved = solveRounds(loaded.read, settings.rounds, (times) => {
    if (settings.time === true) console.error(JSON.stringify(times))
  })
  for (const remark of [...warnings, ...loaded.remarks()]) console.error(remark)
  await print(answer(solved, settings))
}

async function printDecision(
  loaded: Loaded,
  decide: () => DisruptionResultJson,
  { output, explain: pod }: SimulateSettings,
  warnings: readonly string[],
): Promise<void> {
  if (pod !== undefined)
    throw new InputError('--explain: a scenario with "method" decides about nodes, not about pods; leave it out')
  const result = decide()
  for (const remark of [...warnings, ...loaded.remarks()]) console.error(remark)
  await print([output === 'json' ? `${JSON.stringify(result, undefined, 2)}\n` : decisionText(result)])
}

function answer(solved: Solved, { output, explain: pod }: SimulateSettings): Iterable<string> {
  if (pod !== undefined) return [explained(explain(solved, pod), output)]
  return output === 'json' ? resultText(solved.explained.plan) : [tableText(solved)]
}

function explained(explanation: Explanation, output: SimulateSettings['output']): string {
  return `${output === 'json' ? JSON.stringify(explanation, undefined, 2) : explanationText(explanation)}\n`
}

/** Piece by piece, no faster than the reader takes them. */
async function print(pieces: Iterable<string>): Promise<void> {
  let buffer = ''
  for (const piece of pieces) {
    buffer += piece
    if (buffer.length < 65_536) continue
    if (!process.stdout.write(buffer)) await once(process.stdout, 'drain')
    buffer = ''
  }
  process.stdout.write(buffer)
}
