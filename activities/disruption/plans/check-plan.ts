import type { DisruptionCommand } from '../../../core/disruption/command.ts'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { pausesOn, planChanges, proposedOf, simulationChange } from '../../../core/disruption/plan/plan-changes.ts'
import type { ApplyRequest } from '../../../core/disruption/plan/plan-requests.ts'
import type { Pauses } from '../../../core/pauses/pauses.ts'
import { activityScope } from '../../activity-context.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { readPauses } from '../../kubernetes/pauses/pauses.ts'
import type { PlanCheck } from '../contract.ts'
import { proposalsOf } from '../proposals.ts'
import { type EvaluationDeps, validateTogether, viewOf } from '../world.ts'
import { PlanStore } from './plan-store.ts'
import { publishPlanApplied, type RequestEventsDeps } from './request-events.ts'

export type CheckPlanDeps = RequestEventsDeps & EvaluationDeps & Pick<Parts, 'client' | 'log' | 'cluster' | 'namespace'>

/** Most changes in an answer, and their longest text: the answer is kept in a history. */
const mostChanges = 50
const longestChange = 300

/**
 * Compares a plan with the cluster as it is: the plan's inputs, pauses, and the result of a new simulation. Where all of it holds,
 * or with `partial` a part, that is proposed; each commit validates it again.
 */
export async function checkPlan(deps: CheckPlanDeps, { id, partial, by }: ApplyRequest): Promise<PlanCheck> {
  const found = await new PlanStore(deps.client, deps.namespace).read(id, deps.now())
  if (found.kind === 'missing') return { kind: 'refused', message: found.message }
  const { plan } = found
  const unfit = whyUnfit(plan, deps.cluster)
  if (unfit !== undefined) return { kind: 'refused', message: unfit }
  await deps.cache.synced()
  await deps.cache.connected(activityScope().signal)
  const pauses = await readPauses(deps, deps.now())
  const paused = [...new Set(plan.commands.flatMap((command) => pausesOn(command, pauses)))]
  if (paused.length > 0 && (partial !== true || pauses.wholeLoop !== undefined))
    return { kind: 'refused', message: paused.join('; ') }
  const { commands, changes } = await compared(deps, plan, pauses)
  deps.log.info({ plan: id, by, partial, holds: commands.length, changes }, 'compared plan with the cluster')
  if (commands.length === 0 || (partial !== true && changes.length > 0))
    return { kind: 'changed', changes: bounded(changes) }
  const asked = { atMs: deps.now(), isForced: plan.options.now === true, isAsked: true }
  const proposals = proposalsOf(commands, asked, Number.POSITIVE_INFINITY)
  publishPlanApplied(deps, { id, by }, proposals)
  return { kind: 'holds', proposals, changes: bounded(changes) }
}

function whyUnfit({ id, cluster, commands }: DisruptionPlan, own: string): string | undefined {
  if (cluster !== own) return `plan ${id} is of cluster "${cluster}", and this is "${own}"`
  return commands.length === 0 ? `plan ${id} has nothing to do` : undefined
}

/** Returns the commands that hold, and a line for each reason that another does not. */
async function compared(
  deps: CheckPlanDeps,
  plan: DisruptionPlan,
  pauses: Pauses,
): Promise<{ readonly commands: readonly DisruptionCommand[]; readonly changes: readonly string[] }> {
  const looked = planChanges(plan, viewOf(deps, pauses)).map((changes, at) => {
    const command = plan.commands[at]
    return [...changes, ...(command === undefined ? [] : pausesOn(command, pauses))]
  })
  const asItWas = plan.commands.filter((_, at) => looked[at]?.length === 0)
  const validations = await validateTogether(deps, asItWas.map(proposedOf), {
    pauses,
    forced: plan.options.now === true,
  })
  const commands: DisruptionCommand[] = []
  const changes = plan.commands.flatMap((planned, at) => {
    const reported = looked[at] ?? []
    const validation = validations[asItWas.indexOf(planned)]
    const change = validation && simulationChange(planned, validation)
    if (validation?.kind === 'valid' && change === undefined) commands.push(validation.command)
    return [...reported, ...(change === undefined ? [] : [change])].map((what) => `command ${at + 1}: ${what}`)
  })
  return { commands, changes }
}

function bounded(changes: readonly string[]): readonly string[] {
  const more = changes.length - mostChanges
  const shown = changes
    .slice(0, mostChanges)
    .map((text) => (text.length > longestChange ? `${text.slice(0, longestChange - 3)}...` : text))
  return more > 0 ? [...shown, `and ${more} more`] : shown
}
