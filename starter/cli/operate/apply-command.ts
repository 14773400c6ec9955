import type { Command } from 'commander'
import { isPlanId } from '../../../core/disruption/plan/plan-requests.ts'
import { CommandError } from '../../document/reported-error.ts'
import type { InputFile } from '../shared/input.ts'
import { askerOptions, dryRunOption, type RequestOptions } from './request-options.ts'

interface Options extends RequestOptions {
  readonly partial?: true
  readonly wait: boolean
}

/** The check takes as long as a pass; each commit reads and writes a few objects. */
export const applyMs = 300_000

/** Adds what `apply` takes. */
export function registerApply(command: Command): void {
  askerOptions(
    dryRunOption(command)
      .argument('<plan>', 'id or file of a plan made by joiner plan')
      .option('--partial', 'carry out the commands that are still valid')
      .option('--no-wait', 'return before the commands end'),
  )
    .addHelpText(
      'after',
      `
The plan is compared with the cluster as it is: nodes that are gone or must not be disrupted now, new pods on them, NodePools that were edited,
prices, pauses, budgets, consolidateAfter, and whether a new simulation comes to the same decision with as many new nodes at no higher price. If anything differs
it is printed and nothing is done. Pods that went away are no difference.
The consolidateAfter of a plan with --ignore-consolidate-after is not waited for.
Each command is looked at once more when it begins; one that does not hold in that moment is rejected and the others go on.
Ctrl-C ends the waiting, not the commands. Under a pause nothing is carried out.

Examples:
  joiner apply 3f9a01c2
  joiner apply plan.json --partial --no-wait

Exit code: 0 when all of the plan is done (or begun, with --no-wait), 1 when not, 2 for options that cannot be read.`,
    )
    .action(async (plan: string, options: Options) => {
      process.exitCode = await apply(plan, options)
    })
}

async function apply(named: string, options: Options): Promise<number> {
  // Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help.
  const [{ withTemporal }, { askDisruption }, { clusterFacts }, { applyUpdate }, { keepPlan, planIn }, { carryOut }] =
    await Promise.all([
      import('./temporal-access.ts'),
      import('./ask-loop.ts'),
      import('./operator.ts'),
      import('../../../workflows/messages.ts'),
      import('./plan-files.ts'),
      import('./request-answer.ts'),
    ])
  const saved = isPlanId(named) ? undefined : planIn(await readPlanFile(named))
  return withTemporal(options, async (access) => {
    const id = saved === undefined ? named : options.dryRun === true ? saved.id : await keepPlan(saved, options)
    const by = options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
    const request = { id, by, ...(options.partial === true ? { partial: true } : {}) }
    const answer = await askDisruption(access, { update: applyUpdate, request, limitMs: applyMs })
    return carryOut(access, answer, { ...options, nothing: 'nothing was begun' })
  })
}

async function readPlanFile(file: string): Promise<InputFile> {
  const { inputName, readInput } = await import('../shared/input.ts')
  const input = await readInput(file)
  if ('bytes' in input) return input
  throw new CommandError(
    `"${inputName(file)}" is neither the id of a plan (eight hexadecimal digits) nor a file that can be read: ${input.message}`,
  )
}
