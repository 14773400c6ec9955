import type { Move } from '../../../core/disruption/verdict.ts'
import { protectedUntil } from '../../../core/pods/do-not-disrupt.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { timeText } from '../../../core/values/time.ts'
import type { CountedBudget, NodeFacts } from './facts.ts'

/** What would let the node go, in the order of its moves, each once; none: nothing has to be done, or nothing can. */
export function remediesOf(moves: readonly Move[], facts: NodeFacts): readonly string[] {
  return [...new Set(moves.flatMap((move) => remedyOf(move, facts)))]
}

function remedyOf(move: Move, facts: NodeFacts): readonly string[] {
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
      return unsuitableRemedy(move, facts)
    default:
      return []
  }
}

const poolName = ({ pool, verdict }: NodeFacts) => pool?.metadata.name ?? verdict?.nodePool ?? ''

function blockedRemedy({ message, pods = [], podDisruptionBudgets = [] }: Move, facts: NodeFacts): readonly string[] {
  if (podDisruptionBudgets.length > 1)
    return [`let only one PodDisruptionBudget select ${pods[0]?.name ?? 'the pod'}: ${podDisruptionBudgets.join(', ')}`]
  if (podDisruptionBudgets.length === 1)
    return podDisruptionBudgets.map((name) =>
      budgetRemedy(
        name,
        facts.budgets.find((one) => nameOf(one) === name),
      ),
    )
  if (pods.length > 0) return pods.map(({ name }) => protectionRemedy(name, facts))
  if (message.includes(annotations.holdUntil)) return [`joiner node release ${facts.claim?.metadata.name ?? 'NAME'}`]
  if (message.includes('is paused')) return [`lift the pause: joiner resume --help`]
  if (message.includes(annotations.doNotDisrupt)) {
    const { node } = facts
    return [`kubectl annotate node ${node?.metadata.name ?? 'NAME'} ${annotations.doNotDisrupt}-`]
  }
  return []
}

const nameOf = ({ metadata }: Pick<CountedBudget, 'metadata'>) => `${metadata.namespace}/${metadata.name}`

function protectionRemedy(name: string, { pods, now }: NodeFacts): string {
  const pod = pods.find((one) => podName(one) === name)
  const [namespace = '', own = ''] = name.split('/')
  const until = pod === undefined ? undefined : protectedUntil(pod)
  const wait = until === undefined || until <= now ? '' : `, or wait until ${timeText(until)}, when it ends by itself`
  return `kubectl annotate pod --namespace ${namespace} ${own} ${annotations.doNotDisrupt}-${wait}`
}

function budgetRemedy(name: string, budget: CountedBudget | undefined): string {
  if (budget === undefined) return `PodDisruptionBudget ${name} is gone by now; the next evaluation sees it`
  if (budget.disruptionsAllowed > 0)
    return `PodDisruptionBudget ${name} lets ${budget.disruptionsAllowed} go by now; the next evaluation sees it`
  return `${budgetText(budget)}; let more of its pods be ready, or let it allow one to be missing (kubectl edit pdb --namespace ${budget.metadata.namespace} ${budget.metadata.name})`
}

/** `PodDisruptionBudget shop/web (minAvailable 2): 2 of 2 pods are healthy, 2 have to be, so none may go`. */
export function budgetText(budget: CountedBudget): string {
  const { minAvailable, maxUnavailable, healthy, wanted, pods, disruptionsAllowed } = budget
  const rule =
    minAvailable !== undefined ? `minAvailable ${minAvailable}` : `maxUnavailable ${maxUnavailable ?? 'not set'}`
  const may = disruptionsAllowed === 0 ? 'none may go' : `${disruptionsAllowed} may go`
  return `PodDisruptionBudget ${nameOf(budget)} (${rule}): ${healthy} of ${pods} pods are healthy, ${wanted} have to be, so ${may}`
}

function hinderedRemedy({ message, pods = [] }: Move, facts: NodeFacts): readonly string[] {
  const own = pods.map(({ name }) => name).join(', ')
  if (pods.length > 0)
    return [
      `let ${own} run elsewhere: relax what keeps it (see above), or let a NodePool offer such nodes; joiner simulate shows what it needs`,
    ]
  if (message.includes('SpotToSpotConsolidation is disabled'))
    return ['spot nodes are replaced by spot nodes only where the feature gate SpotToSpotConsolidation is on']
  if (message.includes('SpotToSpotConsolidation requires'))
    return [`let NodePool "${poolName(facts)}" allow more instance types, so that 15 cheaper ones are on sale`]
  if (message.includes('no NodePool is ready')) return ['kubectl get nodepools: none is ready']
  if (message.startsWith("Can't remove without creating"))
    return ['its pods would need several new nodes; smaller requests, or free room on other nodes, would let them fit']
  return []
}

function unsuitableRemedy({ message }: Move, facts: NodeFacts): readonly string[] {
  const pool = poolName(facts)
  if (message.includes('has consolidation disabled'))
    return [`set spec.disruption.consolidateAfter of NodePool "${pool}" to a duration; it is Never`]
  if (message.includes('consolidation policy WhenEmpty'))
    return [`set spec.disruption.consolidationPolicy of NodePool "${pool}" to WhenEmptyOrUnderutilized`]
  return []
}
