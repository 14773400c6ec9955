import type { Command } from 'commander'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { asked, askerOptions, limitOptions, type RequestOptions, reasonOption } from './request-options.ts'

interface Options extends RequestOptions {
  readonly outputFile?: string
  readonly all?: true
}

/** A pass over a large cluster takes seconds; beyond, something is broken. */
export const planMs = 150_000

/** Adds what `plan` takes. */
export function registerPlan(command: Command): void {
  askerOptions(
    reasonOption(
      limitOptions(command)
        .option('--ignore-consolidate-after', 'plan as if consolidateAfter were over')
        .option('--output-file <file>', 'write the plan to this file as well')
        .option('--all', 'print every moved pod and every remaining node'),
    ),
  )
    .addHelpText(
      'after',
      `
Nothing is changed. The plan is what one pass finds at this moment: after it was carried out, the next pass may find more. It is kept for 24 h, with
the latest eight, in ConfigMaps joiner-plan-0 to -7; joiner apply carries it out, or says what has changed since.
Nodes whose consolidateAfter is not over stay, unless --ignore-consolidate-after is given. Nodes under a pause stay; under a pause of all disruption the plan shows what it holds back.
Prices are those of Joiner's price list, by the month of 730 hours; what comes is counted at the least that it can cost.

Examples:
  joiner plan --nodepool general --disruption-reason Underutilized --budget 5
  joiner plan --ignore-consolidate-after --output-file plan.json && joiner apply plan.json

Exit code: 0 when there is a plan, also one with nothing to do; 1 when there is none; 2 for options that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await plan(options)
    })
}

/** Asks for a plan and prints it. Returns the exit code. */
export async function plan(options: Options): Promise<number> {
  // Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help.
  const [{ withTemporal }, { askDisruption }, { clusterFacts }, { planUpdate }, { readPlan }] = await Promise.all([
    import('./temporal-access.ts'),
    import('./ask-loop.ts'),
    import('./operator.ts'),
    import('../../../workflows/messages.ts'),
    import('./plan-files.ts'),
  ])
  return withTemporal(options, async (access) => {
    const by = options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
    const { id } = await askDisruption(access, {
      update: planUpdate,
      request: { ...asked(options), by },
      limitMs: planMs,
    })
    const found = await readPlan(id, options)
    if (options.outputFile !== undefined) await save(found, options.outputFile)
    await show(found, options)
    return 0
  })
}

async function save(found: DisruptionPlan, file: string): Promise<void> {
  const [{ writeFile }, { planJson }] = await Promise.all([import('node:fs/promises'), import('./plan-text.ts')])
  try {
    await writeFile(file, `${JSON.stringify(planJson(found), null, 2)}\n`)
  } catch (error) {
    throw new CommandError(
      `plan ${found.id} is made but could not be saved: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

async function show(found: DisruptionPlan, { output, all, outputFile: file }: Options): Promise<void> {
  const { planDocument, planJson } = await import('./plan-text.ts')
  const hint = found.commands.length > 0 ? `To do exactly that: joiner apply ${file ?? found.id}` : undefined
  await print(output, { json: planJson(found), document: () => [...planDocument(found, all === true), [hint]] })
}
