import { createHash } from 'node:crypto'
import { methodsFor, type PlanOptions, scopeFor } from '../../../core/disruption/plan/plan.ts'
import { planOf } from '../../../core/disruption/plan/plan-of.ts'
import { type PlanRequest, planPlaces } from '../../../core/disruption/plan/plan-requests.ts'
import { Pauses, pauseText, scopeOf } from '../../../core/pauses/pauses.ts'
import { defined } from '../../../core/values/defined.ts'
import { activityScope } from '../../activity-context.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { readPauses } from '../../kubernetes/pauses/pauses.ts'
import type { PlanSummary } from '../contract.ts'
import { type EvaluationDeps, evaluateCluster, viewOf } from '../world.ts'
import { PlanStore } from './plan-store.ts'

export type PlanDisruptionDeps = EvaluationDeps & Pick<Parts, 'client' | 'log' | 'cluster' | 'namespace'>

/**
 * Evaluates the cluster and keeps the result as a plan. Nodes under a pause of their own are listed as staying. A pause of all
 * disruption is reported, and the plan shows what it holds back. Run again by Temporal, it replaces its own plan.
 */
export async function planDisruption(deps: PlanDisruptionDeps, request: PlanRequest): Promise<PlanSummary> {
  const { activityKey } = activityScope()
  const { by } = request
  const options = optionsOf(request)
  await deps.cache.synced()
  await deps.cache.connected(activityScope().signal)
  const { inForce } = await readPauses(deps, deps.now())
  const pauses = new Pauses(inForce.filter((pause) => scopeOf(pause).kind !== 'cluster'))
  const [methods, scope] = [methodsFor(options), scopeFor(options)]
  const evaluation = await evaluateCluster(deps, {
    pauses,
    forced: options.now === true,
    methods,
    ...defined({ scope, mostNodes: options.budget }),
  })
  const now = deps.now()
  const plan = planOf(evaluation, viewOf(deps, pauses), {
    id: `${planPlaces[0]}${createHash('sha256').update(activityKey).digest('hex').slice(0, 7)}`,
    cluster: deps.cluster,
    createdAt: new Date(now).toISOString(),
    ...defined({ by }),
    options,
    pauses: inForce.map((pause) => pauseText('disruption', pause)),
  })
  const id = await new PlanStore(deps.client, deps.namespace).keep(plan, now)
  const { commands, cost } = plan
  deps.log.info({ plan: id, by, commands: commands.length, options }, 'planned disruption')
  return {
    id,
    commands: commands.length,
    nodes: commands.reduce((sum, { candidates }) => sum + candidates.length, 0),
    newNodes: commands.reduce((sum, { replacements }) => sum + replacements.length, 0),
    savings: cost.nodes.before - cost.nodes.after,
  }
}

/** Returns the options without nulls, which Temporal's command line and UI may send. */
function optionsOf({ nodePools, nodes, reasons, budget, now }: PlanRequest): PlanOptions {
  const given = { nodePools, nodes, reasons, budget, now }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null))
}
