import { conditionOf, nodeGone } from '../conditions.ts'
import type { Condition, NodeClaim, Pod } from '../objects.ts'
import { settleMs } from '../scheduling/node-verdict.ts'

/** What a NodeClaim's node still lacks before pods can be bound to it. */
export interface ClaimWait {
  /** A sentence about the NodeClaim. */
  readonly text: string
  /** What helps, a sentence each; none while waiting is all there is to do. */
  readonly remedies: readonly string[]
}

/** Returns what pods that are planned on a NodeClaim wait for. `unschedulable`: what kube-scheduler last said of them. `now`: epoch ms. */
export function claimWait(claim: NodeClaim, unschedulable: Pod['unschedulable'], now: number): ClaimWait {
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
  const said = saidSince(unschedulable, Date.parse(initialized.lastTransitionTime ?? ''), now)
  return {
    text:
      said === undefined
        ? `${about}; kube-scheduler binds the pods to it`
        : `${about}, and kube-scheduler has not bound the pods to it since: ${said}`,
    remedies: [],
  }
}

/** Returns what kube-scheduler said of a pod after this time, or still says when it has had time to bind it; undefined before. Times are epoch ms. */
export function saidSince(unschedulable: Pod['unschedulable'], sinceMs: number, now: number): string | undefined {
  const isLate = (unschedulable?.atMs ?? 0) > sinceMs || now - sinceMs >= settleMs
  return isLate ? unschedulable?.message : undefined
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
