import { once } from 'node:events'
import { printable } from '../../../core/values/printable.ts'
import type { InputFile } from '../bounded/input.ts'
import type { OutputFormat } from '../shared/options.ts'
import { isForPrograms, structured } from '../shared/output.ts'
import type { PolicyName } from './disruption/disruption.ts'
import { type DisruptionResultJson, decisionText } from './disruption/disruption-result.ts'
import { type Explanation, explain, explanationText } from './explain.ts'
import { InputError } from './input-error.ts'
import { type Loaded, load } from './load.ts'
import { resultText } from './result.ts'
import { type Solved, solveRounds } from './rounds.ts'
import { readSettings, type SchedulerFlags } from './settings.ts'
import { tableText } from './table.ts'

/** Options of the command line that name no file. */
export interface SimulateSettings extends SchedulerFlags {
  readonly output: OutputFormat
  readonly complete?: boolean
  readonly explain?: string
  readonly time?: boolean
  readonly rounds: number
  /** Whether the question is what would be disrupted. */
  readonly disruption?: boolean
  readonly policy?: PolicyName
}

/** What the command line asks for, with its files. */
interface SimulateInput {
  readonly files: readonly InputFile[]
  readonly catalog?: InputFile
  readonly prices: readonly InputFile[]
  readonly schedulerConfig?: InputFile
  readonly settings: SimulateSettings
}

/** Runs the command. Returns its exit status. Errors: InputError. */
export async function simulate({ files, settings, prices, catalog, schedulerConfig }: SimulateInput): Promise<number> {
  const { overrides, warnings } = await readSettings(settings, schedulerConfig)
  const { complete = false, disruption = false, policy } = settings
  if (prices.length > 0 && catalog === undefined)
    throw new InputError('--prices: there are no resource SKUs to price; add --catalog FILE')
  const loaded = await load(files, {
    prices,
    overrides,
    complete,
    disruption,
    ...(policy && { policy }),
    ...(catalog && { catalog }),
  })
  if (policy !== undefined && loaded.decide === undefined)
    throw new InputError(`--policy ${policy}: says how disruption is decided, and this is about pods; add --disruption`)
  if (loaded.decide !== undefined)
    await printDecision(loaded.decide, settings, () => [...warnings, ...loaded.remarks()])
  else await printPlan(loaded, settings, warnings)
  return 0
}

async function printPlan(loaded: Loaded, settings: SimulateSettings, warnings: readonly string[]): Promise<void> {
  const solved = solveRounds(loaded.read, settings.rounds, (times) => {
    if (settings.time === true) console.error(JSON.stringify(times))
  })
  for (const remark of [...warnings, ...loaded.remarks()]) console.error(printable(remark))
  await print(await answer(solved, settings))
}

async function printDecision(
  decide: () => DisruptionResultJson,
  { output, explain: pod }: SimulateSettings,
  remarks: () => readonly string[],
): Promise<void> {
  if (pod !== undefined) throw new InputError('--explain: disruption is about nodes, not about pods; leave it out')
  const result = decide()
  for (const remark of remarks()) console.error(printable(remark))
  await print([isForPrograms(output) ? await structured(output, result) : decisionText(result)])
}

async function answer(solved: Solved, { output, explain: pod }: SimulateSettings): Promise<Iterable<string>> {
  if (pod !== undefined) return [await explained(explain(solved, pod), output)]
  if (output === 'json') return resultText(solved.explained.plan)
  if (output === 'yaml') return [await structured(output, JSON.parse([...resultText(solved.explained.plan)].join('')))]
  return [tableText(solved)]
}

async function explained(explanation: Explanation, output: OutputFormat): Promise<string> {
  return isForPrograms(output) ? structured(output, explanation) : `${explanationText(explanation)}\n`
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
