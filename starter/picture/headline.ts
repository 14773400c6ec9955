import { conditionOf, whyUnowned } from '../../core/conditions.ts'
import { announcedDeath, deathOf, type LeavingClaim } from '../../core/history/claim-facts.ts'
import type { NodeState } from '../../core/history/headline.ts'
import { deathText } from '../../core/history/texts.ts'
import { holdOf, holdText } from '../../core/node-claim/hold.ts'
import { type Phase, phaseOf } from '../../core/node-claim/phase.ts'
import type { Node } from '../../core/objects.ts'
import { annotations, taintKeys } from '../../core/requirements/labels.ts'
import { defined } from '../../core/values/defined.ts'

/** As much of a Node as its state follows from. */
export interface NodeStanding {
  readonly metadata: Pick<Node['metadata'], 'creationTimestamp' | 'deletionTimestamp'>
  readonly isDisrupted: boolean
  readonly isProtected: boolean
  /** Why it is not ready; absent: it is. */
  readonly notReady?: string
}

/** The state of a node as its objects describe it. */
export interface ObjectState extends NodeState {
  /** `Unmanaged`: it has no NodeClaim. */
  readonly phase: Exclude<Phase, 'Gone'> | 'Unmanaged'
}

/** Returns what a state needs of a Node. */
export function standingOf({ metadata, taints, conditions }: Node): NodeStanding {
  const ready = conditionOf(conditions, 'Ready')
  return {
    metadata,
    isDisrupted: taints.some(({ key }) => key === taintKeys.disrupted),
    isProtected: metadata.annotations[annotations.doNotDisrupt] === 'true',
    ...(ready?.status === 'True' ? {} : { notReady: ready?.reason || ready?.message || 'no condition Ready' }),
  }
}

/** Returns the state of a node; one of `node` and `claim` is there. `now`: epoch ms. */
export function stateOf(
  { node, claim }: { readonly node?: NodeStanding | undefined; readonly claim?: LeavingClaim | undefined },
  now: number,
): ObjectState {
  const oddities = node === undefined ? [] : odditiesOf(node)
  if (claim === undefined)
    return { phase: 'Unmanaged', sinceMs: Date.parse(node?.metadata.creationTimestamp ?? ''), oddities }
  const { phase, sinceMs, because } = phaseOf(claim)
  const hold = holdOf(claim, now)
  return {
    nodeClaim: claim.metadata.name,
    phase,
    sinceMs,
    oddities,
    ...defined({
      leaves: leavesFor(claim),
      waitsFor: because,
      unowned: whyUnowned(claim.status.conditions),
      hold: hold && holdText(hold),
    }),
  }
}

/** Returns why a claim leaves or is about to, in the words of its lifecycle. */
function leavesFor(claim: LeavingClaim): string | undefined {
  const death = deathOf(claim)
  if (death !== undefined) return deathText(death)
  const announced = announcedDeath(claim)
  if (announced === undefined || announced.kind === 'interrupted') return announced && deathText(announced)
  return `${deathText(announced)}: about to leave`
}

function odditiesOf({ metadata, notReady, isDisrupted, isProtected }: NodeStanding): readonly string[] {
  return [
    ...(metadata.deletionTimestamp === undefined ? [] : ['being deleted']),
    ...(notReady === undefined ? [] : [`not ready: ${notReady}`]),
    ...(isDisrupted ? ['tainted for disruption'] : []),
    ...(isProtected ? ['do-not-disrupt'] : []),
  ]
}
