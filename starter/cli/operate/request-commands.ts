import type { Command } from 'commander'
import { askerOptions, dryRunOption, limitOptions, reasonOption } from './request-options.ts'
import type { ApplyOptions, FollowOptions, PlanOptions } from './requests.ts'

/** Loaded late: the clients of Temporal and Kubernetes would be most of the time of --help. */
const requests = () => import('./requests.ts')

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
    .action(async (options: PlanOptions) => {
      process.exitCode = await (await requests()).plan(options)
    })
}

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
    .action(async (plan: string, options: ApplyOptions) => {
      process.exitCode = await (await requests()).apply(plan, options)
    })
}

/** Adds what `consolidate` takes. */
export function registerConsolidate(command: Command): void {
  askerOptions(
    limitOptions(
      command
        .option('--no-wait', 'return before the commands end')
        .option('--dry-run', 'only plan, as joiner plan --ignore-consolidate-after'),
    ),
  )
    .addHelpText(
      'after',
      `
One pass is made: nodes that are empty, drifted or underutilized, as consolidationPolicy and budgets allow. What it leaves is found by the passes
that Joiner makes by itself, or by another joiner consolidate. To look before: joiner plan --ignore-consolidate-after, then joiner apply.
Under a pause of all disruption, or of what is named, nothing is done, and the pause is named.
Ctrl-C ends the waiting, not the commands.

Examples:
  joiner consolidate --nodepool general --budget 2

Exit code: 0 when what was found is done (or begun, with --no-wait) or nothing was found, 1 when not, 2 for options that cannot be read.`,
    )
    .action(async (options: FollowOptions) => {
      process.exitCode = await (await requests()).consolidate(options)
    })
}
