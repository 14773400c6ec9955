import type { Move } from '../../core/disruption/verdicts/verdict.ts'
import { budgetCommand, unprotectCommand } from '../../core/node-claim/drain-waits.ts'
import { type Pause, scopeOf } from '../../core/pauses/pauses.ts'
import { protectedUntil } from '../../core/pods/do-not-disrupt.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { timeText } from '../../core/values/time.ts'
import type { CountedBudget } from '../picture/from-cluster.ts'
import type { NodePicture } from '../picture/node-picture.ts'

/** What would let the node go, in the order of its moves, each once; none: nothing has to be done, or nothing can. */
export function helpsOf(moves: readonly Move[], facts: NodePicture): readonly string[] {
  return [...new Set(moves.flatMap((move) => remedyOf(move, facts)))]
}

function remedyOf(move: Move, facts: NodePicture): readonly string[] {
  switch (move.outcome) {
    case 'blocked':
      return blockedRemedy(move, facts)
    case 'hindered':
      return hinderedRemedy(move, facts)
    case 'budget':
      return [`wait until the pool's budgets allow it, or change them: joiner budgets ${poolName(facts)}`]
    case 'rejected':
      return [
        `the policy Balanced finds the savings too small for the pods that would move; with consolidationPolicy WhenEmptyOrUnderutilized NodePool "${poolName(facts)}" takes any savings`,
      ]
    case 'unsuitable':
      return unsuitableRemedy(move)
    default:
      return []
  }
}

const poolName = ({ pool, verdict }: NodePicture) => pool?.metadata.name ?? verdict?.nodePool ?? ''

function blockedRemedy({ cause }: Move, facts: NodePicture): readonly string[] {
  switch (cause.kind) {
    case 'several-pdbs':
      return [`let only one PodDisruptionBudget select ${cause.pod}: ${cause.podDisruptionBudgets.join(', ')}`]
    case 'pdb':
      return cause.podDisruptionBudgets.map((name) =>
        budgetRemedy(
          name,
          facts.budgets.find((one) => nameOf(one) === name),
        ),
      )
    case 'pod-do-not-disrupt':
      return [protectionRemedy(cause.pod, facts)]
    case 'held':
      return [`joiner node release ${facts.claim?.metadata.name ?? 'NAME'}`]
    case 'paused':
      return [`lift the pause: ${resumeCommand(cause.pause)}`]
    case 'do-not-disrupt':
      return [`kubectl annotate node ${facts.node?.metadata.name ?? 'NAME'} ${annotations.doNotDisrupt}-`]
    default:
      return []
  }
}

function resumeCommand(pause: Pause): string {
  const scope = scopeOf(pause)
  switch (scope.kind) {
    case 'cluster':
      return 'joiner resume'
    case 'nodePool':
      return `joiner resume --nodepool ${scope.name}`
    case 'node':
      return `joiner node release ${scope.name}`
    case 'reason':
      return `joiner resume --disruption-reason ${scope.reason}`
  }
}

const nameOf = ({ metadata }: Pick<CountedBudget, 'metadata'>) => `${metadata.namespace}/${metadata.name}`

/** Returns how the protection of a pod of the node is lifted. */
export function protectionRemedy(name: string, { pods, now }: Pick<NodePicture, 'pods' | 'now'>): string {
  const pod = pods.find((one) => podName(one) === name)
  const until = pod === undefined ? undefined : protectedUntil(pod)
  const wait = until === undefined || until <= now ? '' : `, or wait until ${timeText(until)}, when it ends by itself`
  return `${unprotectCommand(name)}${wait}`
}

/** Returns how a PodDisruptionBudget lets pods go. */
export function budgetRemedy(name: string, budget: CountedBudget | undefined): string {
  if (budget === undefined) return `PodDisruptionBudget ${name} is gone by now; the next evaluation sees it`
  if (budget.disruptionsAllowed > 0)
    return `PodDisruptionBudget ${name} lets ${budget.disruptionsAllowed} go by now; the next evaluation sees it`
  return `${budgetText(budget)}; let more of its pods be ready, or let it allow one to be missing (${budgetCommand([name])})`
}

/** `PodDisruptionBudget shop/web (minAvailable 2): 2 of 2 pods are healthy, 2 have to be, so none may go`. */
export function budgetText(budget: CountedBudget): string {
  const { minAvailable, maxUnavailable, healthy, wanted, pods, disruptionsAllowed } = budget
  const rule =
    minAvailable !== undefined ? `minAvailable ${minAvailable}` : `maxUnavailable ${maxUnavailable ?? 'not set'}`
  const may = disruptionsAllowed === 0 ? 'none may go' : `${disruptionsAllowed} may go`
  return `PodDisruptionBudget ${nameOf(budget)} (${rule}): ${healthy} of ${pods} pods are healthy, ${wanted} have to be, so ${may}`
}

function hinderedRemedy({ cause }: Move, facts: NodePicture): readonly string[] {
  switch (cause.kind) {
    case 'pods-without-place':
      return [
        `let ${cause.pods.map(({ name }) => name).join(', ')} run elsewhere: relax what keeps it (see above), or let a NodePool offer such nodes; joiner simulate shows what it needs`,
      ]
    case 'spot-to-spot-disabled':
      return ['spot nodes are replaced by spot nodes only where the feature gate SpotToSpotConsolidation is on']
    case 'few-spot-types':
      return [
        `let NodePool "${poolName(facts)}" allow more instance types, so that ${cause.needed} cheaper ones are on sale`,
      ]
    case 'image-on-trial':
      return [
        `wait for the first node with the new image (kubectl get nodeclaims); kubectl describe aksnodeclass ${cause.nodeClass} says when an image was given up`,
      ]
    case 'no-ready-pool':
      return ['kubectl get nodepools: none is ready']
    case 'static-pool-not-ready':
      return [`kubectl describe nodepool ${cause.nodePool} says why it is not ready`]
    case 'do-not-repair':
      return [`kubectl annotate node ${facts.node?.metadata.name ?? 'NAME'} ${annotations.doNotRepair}-`]
    case 'clock-wrong':
      return [
        "set the clock of the planner's machine by NTP (timedatectl set-ntp true); joiner doctor says by how much it is off",
      ]
    case 'repair-unbounded':
      return [
        `${protectionRemedy(cause.pod, facts)}; or set terminationGracePeriod in NodePool "${poolName(facts)}" or in the repair policy`,
      ]
    case 'too-many-unhealthy':
      return [
        `find out why so many nodes of NodePool "${cause.nodePool}" are unhealthy at once: kubectl get nodes -l karpenter.sh/nodepool=${cause.nodePool}`,
      ]
    case 'several-new-nodes':
      return [
        'its pods would need several new nodes; smaller requests, or free room on other nodes, would let them fit',
      ]
    default:
      return []
  }
}

function unsuitableRemedy({ cause }: Move): readonly string[] {
  switch (cause.kind) {
    case 'consolidation-disabled':
      return [`set spec.disruption.consolidateAfter of NodePool "${cause.nodePool}" to a duration; it is Never`]
    case 'only-when-empty':
      return [`set spec.disruption.consolidationPolicy of NodePool "${cause.nodePool}" to WhenEmptyOrUnderutilized`]
    default:
      return []
  }
}
