import { conditionOf, nodeGone } from '../conditions.ts'
import type { Condition, NodeClaim, Pod } from '../objects.ts'

/** What a NodeClaim's node still lacks before pods can be bound to it. */
export interface ClaimWait {
  /** A sentence about the NodeClaim. */
  readonly text: string
  /** What helps, a sentence each; none while waiting is all there is to do. */
  readonly remedies: readonly string[]
}

/** Returns what pods that are planned on a NodeClaim wait for. `unschedulable`: what kube-scheduler last said of them. */
export function claimWait(claim: NodeClaim, unschedulable?: Pod['unschedulable']): ClaimWait {
  const { conditions, nodeName } = claim.status
  const { name } = claim.metadata
  const lacks = (type: string) => conditionOf(conditions, type)?.status !== 'True'
  if (claim.metadata.deletionTimestamp !== undefined)
    return { text: `NodeClaim ${name} is being deleted; the pods are planned again`, remedies: [] }
  const gone = conditionOf(conditions, nodeGone)
  if (gone?.status === 'True')
    return { text: `Node ${nodeName ?? ''} of NodeClaim ${name} is gone; the pods are planned again`, remedies: [] }
  if (lacks('Launched'))
    return { text: `NodeClaim ${name} waits for its VM${saying(conditionOf(conditions, 'Launched'))}`, remedies: [] }
  if (lacks('Registered'))
    return {
      text: `the VM of NodeClaim ${name} has not joined the cluster yet${saying(conditionOf(conditions, 'Registered'))}`,
      remedies: [],
    }
  const initialized = conditionOf(conditions, 'Initialized')
  if (initialized?.status !== 'True')
    return {
      text: `node ${nodeName ?? ''} of NodeClaim ${name} is not initialized yet${saying(initialized)}`,
      remedies: remediesOf(initialized, nodeName ?? 'NODE'),
    }
  const about = `node ${nodeName ?? ''} of NodeClaim ${name} is ready`
  const isLater = (unschedulable?.atMs ?? 0) > Date.parse(initialized.lastTransitionTime ?? '')
  return {
    text: isLater
      ? `${about}, and kube-scheduler has not bound the pods to it since: ${unschedulable?.message}`
      : `${about}; kube-scheduler binds the pods to it`,
    remedies: [],
  }
}

/** Conditions begin with texts that say nothing. */
function saying(condition: Condition | undefined): string {
  const { reason, message } = condition ?? {}
  return !message || reason === 'AwaitingReconciliation' ? '' : `: ${message}`
}

function remediesOf(initialized: Condition | undefined, node: string): readonly string[] {
  const [, taint = ''] = /"([^"]+)"/.exec(initialized?.message ?? '') ?? []
  switch (initialized?.reason) {
    case 'StartupTaintsExist':
      return [
        `let the component that removes the startup taint do so, or remove it: kubectl taint node ${node} ${taint.replace(/=[^:]*/, '')}-`,
        'remove it from spec.template.spec.startupTaints of the NodePool if nothing removes it',
      ]
    case 'ResourceNotRegistered':
      return [`install the device plugin that registers "${taint}" on node ${node}`]
    case 'NodeNotReady':
      return [`kubectl describe node ${node} says what its kubelet waits for, such as its network plugin`]
    case 'KnownEphemeralTaintsExist':
      return [`let the component that removes ${taint} do so; kubectl describe node ${node}`]
    default:
      return []
  }
}
