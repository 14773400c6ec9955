import { note, print, write } from '../../document/print.ts'
import { InputError } from '../../document/reported-error.ts'
import type { InputFile } from '../../files/input-file.ts'
import type { PolicyName } from '../../files/ready-decision.ts'
import type { OutputFormat } from '../shared/options.ts'
import { type DisruptionResultJson, decisionDocument } from './disruption.ts'
import { type Loaded, load } from './load.ts'
import { explain, explanationPart, planDocument, resultText, type Solved, solveRounds } from './result.ts'
import { readSettings, type SchedulerFlags } from './scenario.ts'

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
  note(...warnings, ...loaded.remarks())
  await answer(solved, settings)
}

async function printDecision(
  decide: () => DisruptionResultJson,
  { output, explain: pod }: SimulateSettings,
  remarks: () => readonly string[],
): Promise<void> {
  if (pod !== undefined) throw new InputError('--explain: disruption is about nodes, not about pods; leave it out')
  const result = decide()
  note(...remarks())
  await print(output, { json: result, document: () => decisionDocument(result) })
}

async function answer(solved: Solved, { output, explain: pod }: SimulateSettings): Promise<void> {
  const { plan } = solved.explained
  if (pod !== undefined) {
    const explanation = explain(solved, pod)
    return print(output, { json: explanation, document: () => [[explanationPart(explanation)]] })
  }
  // A piece for each entry: the JSON of a large cluster is too large to be made in one.
  if (output === 'json') return write(resultText(plan))
  const json = output === 'yaml' ? (JSON.parse([...resultText(plan)].join('')) as unknown) : undefined
  return print(output, { json, document: () => planDocument(solved) })
}
