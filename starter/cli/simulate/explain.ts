import type { Pod } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import type { PoolFunnel } from '../../../core/scheduling/explain/funnel.ts'
import { funnelText, missText } from '../../../core/scheduling/explain/funnel.ts'
import type { ClaimReasons } from '../../../core/scheduling/explain/funnel-claims.ts'
import { unschedulableText } from '../../../core/scheduling/unschedulable-text.ts'
import { type Part, section } from '../../document/document.ts'
import { counted, few, monthly } from '../../document/words.ts'
import { InputError } from './input-error.ts'
import { shown } from './result.ts'
import type { Solved } from './rounds.ts'
import { isPriced, podNames } from './words.ts'

/** What became of one pod, and why. */
export type Explanation =
  | {
      readonly kind: 'pending'
      readonly pod: string
      readonly message: string
      readonly nodePools: readonly PoolFunnel[]
    }
  | { readonly kind: 'existing node'; readonly pod: string; readonly node: string }
  | {
      readonly kind: 'new node'
      readonly pod: string
      readonly nodePool: string
      readonly pods: readonly string[]
      readonly instanceTypes: readonly string[]
      readonly reasons: ClaimReasons
    }

/** `name` may leave out the namespace `default`. Errors: InputError when the pod is not among those to place. */
export function explain({ explained, snapshot }: Solved, name: string): Explanation {
  const wanted = name.includes('/') ? name : `default/${name}`
  const is = (pod: Pod) => podName(pod) === wanted
  const { newNodeClaims, existing, unschedulable } = explained.plan
  const pending = unschedulable.find(({ pod }) => is(pod))
  if (pending !== undefined) {
    const nodePools = explained.podFunnels(pending.pod)
    return { kind: 'pending', pod: wanted, message: shown(unschedulableText(pending.cause)), nodePools }
  }
  const node = existing.find(({ pods }) => pods.some(is))
  if (node !== undefined) return { kind: 'existing node', pod: wanted, node: node.node }
  const claim = newNodeClaims.find(({ pods }) => pods.some(is))
  const reasons = claim && explained.claimReasons(claim)
  if (claim === undefined || reasons === undefined)
    throw new InputError(
      `--explain ${name}: there is no such pod among the ${snapshot.pods.length} to place; write namespace/name of one that waits for a node`,
    )
  const { nodePool, instanceTypes } = claim
  return { kind: 'new node', pod: wanted, nodePool, pods: podNames(claim.pods), instanceTypes, reasons }
}

/** The explanation for people. */
export function explanationPart(explanation: Explanation): Part {
  const { pod } = explanation
  switch (explanation.kind) {
    case 'existing node':
      return `${pod} fits on the existing node ${explanation.node}; existing nodes come before new ones.`
    case 'pending':
      return { title: `${pod} stays pending: ${explanation.message}`, items: explanation.nodePools.map(funnelPart) }
    case 'new node':
      return { title: `${pod} gets a new node of NodePool ${explanation.nodePool}.`, items: claimParts(explanation) }
  }
}

/** What a NodePool could do, with what was left after each question. */
export function funnelPart(pool: PoolFunnel): Part {
  const [title, miss] = funnelTexts(pool)
  return { title, items: [miss] }
}

/** The same in two texts. */
export function funnelTexts({ nodePool, funnel, nearestMiss }: PoolFunnel): readonly [string, string] {
  return [`NodePool ${nodePool}: ${funnelText(funnel)}`, missText({ nearestMiss })]
}

function claimParts(explanation: Extract<Explanation, { kind: 'new node' }>): readonly Part[] {
  const { pods, instanceTypes, reasons } = explanation
  const { funnel, named, cheapest, cheaper } = reasons
  const cut = funnel.limits > named ? `; it names the ${named} cheapest` : ''
  return [
    `its pods: ${few(pods, 10)}`,
    `types: ${funnelText(funnel)}${cut}`,
    `cheapest first: ${few(instanceTypes, 5)}`,
    isPriced(cheapest.price)
      ? `${cheapest.type} at USD ${cheapest.price} an hour is ${monthly(cheapest.price)} a month`
      : `the price of ${cheapest.type} is unknown`,
    section(
      'cheaper types that are not in it',
      cheaper.map(
        ({ count, example, price, reason }) => `${counted(count, 'type')} (${example} from USD ${price}): ${reason}`,
      ),
    ) ?? 'no type of the NodePool is cheaper',
  ]
}
