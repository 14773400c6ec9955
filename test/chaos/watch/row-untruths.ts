import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { phaseOf } from '../../../core/node-claim/phase.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import type { NodeRow } from '../../../starter/cli/node/report.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import type { Untruth } from './wrong.ts'

/** How far a list may be behind: a lifecycle that nothing wakes looks at its NodeClaim each five minutes. */
export const mostBehindMs = 7 * 60_000
/** How far a list of Temporal's may be behind what its server knows. */
const listLagMs = 60_000

const running = ({ fast }: Scene) => fast.temporal.runs.filter(({ isRunning }) => isRunning)

/** Ids of the workflows that run. */
export const runningIds = (scene: Scene): ReadonlySet<string> =>
  new Set(running(scene).map(({ workflowId }) => workflowId))

/** Ids of the workflows of a type that run. */
export const runningOf = (scene: Scene, type: string): readonly string[] =>
  running(scene).flatMap(({ workflowId, identity }) => (identity.workflowType === type ? [workflowId] : []))

/** In what a row of `joiner node list` is not so: the phase of a node, that it is there, that it has a lifecycle. */
export function rowUntruths(scene: Scene, row: NodeRow, alive: ReadonlySet<string>): readonly Untruth[] {
  const { nodeClaim, phase, note = '', node } = row
  const { objects } = scene.fast.cluster.server
  const json = objects.find(`/apis/karpenter.sh/v1/nodeclaims/${nodeClaim}`)
  if (json === undefined || !metaOf(json).uid.startsWith(row.uid))
    return [{ what: `${nodeClaim} is said to be ${phase}, and its NodeClaim is gone`, mostMs: mostBehindMs }]
  const claim = decodeNodeClaim(json)
  const is = phaseOf(claim).phase
  const hasLifecycle = alive.has(lifecycleId(clusterName, claim.metadata))
  const isMissed = note.startsWith('no lifecycle runs')
  return [
    ...(isSame(phase, is) ? [] : [{ what: `${nodeClaim} is said to be ${phase}, and is ${is}`, mostMs: mostBehindMs }]),
    ...(isMissed === hasLifecycle
      ? [{ what: `${nodeClaim} is said to have ${isMissed ? 'no' : 'a'} lifecycle`, mostMs: listLagMs }]
      : []),
    ...(is === 'Ready' && node !== undefined && objects.find(`/api/v1/nodes/${node}`) === undefined
      ? [{ what: `${nodeClaim} is said to be ready, and its Node ${node} is gone`, mostMs: mostBehindMs }]
      : []),
  ]
}

const groups = [
  ['Launching', 'Registering', 'Initializing'],
  ['Draining', 'Terminating'],
]

/** Nodes that come are told from those that are ready and those that go; one is told to be a step behind. */
function isSame(said: string, is: string): boolean {
  return said === is || groups.some((group) => group.includes(said) && group.includes(is))
}
