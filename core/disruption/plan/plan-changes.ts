import { isTrue } from '../../conditions.ts'
import { type Pauses, pauseText } from '../../pauses/pauses.ts'
import { isReschedulable, podName } from '../../pods/pod-rules.ts'
import { labelsOf, type StateNode } from '../../scheduling/state-nodes.ts'
import { type DisruptionView, eligibility } from '../candidates.ts'
import { methodFacts } from '../command.ts'
import { consolidatableAt } from '../consolidatable.ts'
import { priceNow } from '../costs.ts'
import { invalidText, type Proposed, type Validation } from '../validate.ts'
import { causeText } from '../verdicts/cause-text.ts'
import type { DisruptionPlan, PlannedCandidate, PlannedDisruption } from './plan.ts'
import { claimsOf, poolNamesOf } from './plan-of.ts'

/** Prices are sums of binary fractions. */
const centsFraction = 1e-9

/**
 * Returns what changed since a plan was made, as a list for each command: nodes that are gone or may not be disrupted, new pods, edited NodePools,
 * prices. Pods that went away leave less to move, and are no change.
 */
export function planChanges(
  { commands, nodePools, options }: DisruptionPlan,
  view: DisruptionView,
): readonly (readonly string[])[] {
  const claims = claimsOf(view)
  const pools = new Map(nodePools.map((pool) => [pool.name, poolChange(pool, view)]))
  return commands.map((command) => [
    ...[...new Set(poolNamesOf(command))].flatMap((name) => pools.get(name) ?? []),
    ...command.candidates.flatMap((planned) => nodeChanges({ command, planned, one: claims.get(planned.uid) }, view)),
    ...(options.now === true
      ? []
      : command.candidates.flatMap((planned) => restless({ command, planned, one: claims.get(planned.uid) }, view))),
  ])
}

function poolChange(
  { name, uid, generation }: DisruptionPlan['nodePools'][number],
  { nodePools }: DisruptionView,
): string | undefined {
  const pool = nodePools.get(name)
  if (pool === undefined) return `NodePool ${name} is gone`
  if (pool.metadata.uid !== uid) return `NodePool ${name} was deleted and made again`
  const now = pool.metadata.generation ?? 0
  return now === generation ? undefined : `NodePool ${name} was edited (generation ${generation} is ${now} now)`
}

/** A candidate of a planned command. */
interface Planned {
  readonly command: PlannedDisruption
  readonly planned: PlannedCandidate
  /** The same node now; unset when it is gone. */
  readonly one: StateNode | undefined
}

function nodeChanges({ command, planned, one }: Planned, view: DisruptionView): readonly string[] {
  const { method, reason } = command
  const { node, nodeClaim, pods, price } = planned
  if (one?.claim === undefined) return [`node ${node} (NodeClaim ${nodeClaim}) is gone`]
  const found = eligibility(one, view, methodFacts[method].disruptionClass)
  const known = new Set(pods.map(({ uid }) => uid))
  const arrived = view
    .podsOn(one.node?.metadata.name ?? '')
    .filter((pod) => isReschedulable(pod) && !known.has(pod.metadata.uid))
  const now = priceNow(labelsOf(one), view.instanceTypes)
  return [
    ...(found.kind === 'blocked' ? [`node ${node}: ${causeText(found.blocked.cause)}`] : []),
    ...(reason === 'Drifted' && !isTrue(one.claim.status.conditions, 'Drifted')
      ? [`node ${node} has not drifted any more`]
      : []),
    ...arrived.map((pod) => `new pod ${podName(pod)} on node ${node}`),
    ...(isSame(now, price) ? [] : [`node ${node} costs ${usd(now)} USD an hour, and cost ${usd(price)} in the plan`]),
  ]
}

/** A recently changed node is left alone for a while, unless the plan was not to wait for that. */
function restless({ command: { reason }, planned, one }: Planned, { nodePools }: DisruptionView): readonly string[] {
  const { node, nodePool } = planned
  const claim = one?.claim
  const pool = nodePools.get(nodePool)
  if (reason === 'Drifted' || claim === undefined || isTrue(claim.status.conditions, 'Consolidatable')) return []
  const at = pool === undefined ? undefined : consolidatableAt(claim, pool)
  const until = at === undefined ? '' : ` until ${new Date(at).toISOString()}`
  return [
    `pods came to node ${node} or went: its NodePool's consolidateAfter is not over${until} (a plan with --ignore-consolidate-after does not wait)`,
  ]
}

const isSame = (a: number, b: number) => Math.abs(a - b) <= centsFraction
const usd = (price: number) => price.toFixed(4)

/** Returns a plan's command in the form that validation takes. */
export function proposedOf({ method, decision, candidates, replacements }: PlannedDisruption): Proposed {
  return { method, decision, candidates: candidates.map(({ uid }) => uid), replacements: replacements.length }
}

/** Returns how a new simulation of a command differs from the plan; undefined when it is the same, at no higher price. */
export function simulationChange(planned: PlannedDisruption, validation: Validation): string | undefined {
  if (validation.kind === 'invalid') return invalidText(validation)
  const { command } = validation
  const [was, is] = [planned.replacements, command.replacements]
  if (command.candidates.length !== planned.candidates.length)
    return `${command.candidates.length} of ${planned.candidates.length} nodes could go now`
  if (is.length !== was.length) return `${is.length} new nodes would do now, and the plan has ${was.length}`
  const sum = (all: readonly { readonly price: number }[]) => all.reduce((total, { price }) => total + price, 0)
  return sum(is) <= sum(was) + centsFraction
    ? undefined
    : `what comes would cost ${usd(sum(is))} USD an hour now, and ${usd(sum(was))} in the plan`
}

/** Returns the pauses that forbid a command. */
export function pausesOn({ reason, candidates }: PlannedDisruption, pauses: Pauses): readonly string[] {
  const texts = candidates.flatMap(({ nodePool, node, nodeClaim }) => {
    const pause = pauses.covering({ nodePool, node, nodeClaim, reason })
    return pause === undefined ? [] : [pauseText('disruption', pause)]
  })
  return [...new Set(texts)]
}
