import { conditionOf, isTrue } from '../../core/conditions.ts'
import { evictionBlockedBy } from '../../core/disruption/budgets/pod-disruption-budgets.ts'
import { drainPlan, type HeldBy } from '../../core/node-claim/drain.ts'
import { type DrainWaits, subjectOf, volumeCommand } from '../../core/node-claim/drain-waits.ts'
import { terminationDeadline } from '../../core/node-claim/lifecycle.ts'
import { phaseOf } from '../../core/node-claim/phase.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { timeText } from '../../core/values/time.ts'
import { counted, few, present } from '../document/words.ts'
import type { NodePicture } from '../picture/node-picture.ts'
import { budgetRemedy, protectionRemedy } from './remedies.ts'

/** How far the drain of a node has come, and what helps. */
export interface DrainStory {
  /** In the order in which it happens, a line each. */
  readonly lines: readonly string[]
  /** What ends what keeps pods and volumes on it. */
  readonly helps: readonly string[]
}

const mostNamed = 5

/** Returns the story of a node whose NodeClaim is being deleted; undefined for others. */
export function drainStory(facts: NodePicture): DrainStory | undefined {
  const { claim, drain } = facts
  if (claim?.metadata.deletionTimestamp === undefined || drain === undefined) return undefined
  const { conditions } = claim.status
  const phase = phaseOf(claim)
  const deadline = deadlineOf(claim)
  const held = heldBy(facts, deadline)
  const reason = conditionOf(conditions, 'DisruptionReason')?.reason
  const lines = present(
    `${phase.phase.toLowerCase()} since ${timeText(phase.sinceMs)}${reason === undefined ? '' : ` (${reason})`}`,
    drain.evicted.length !== 0 && `evicted ${counted(drain.evicted.length, 'pod')}: ${few(drain.evicted, mostNamed)}`,
    ...podLines(held),
    ...volumeLines(facts),
    ...said(claim),
    deadline !== undefined && `pods that are left are deleted by ${timeText(deadline)}`,
    phase.phase === 'Terminating' && 'waits until Azure has deleted the VM',
  )
  return { lines, helps: helpsOf(facts, claim, held) }
}

/**
 * Returns of what a lifecycle waits for what the cluster still shows: a lifecycle hears of changes at growing distances, up to 15 minutes, and a pod
 * that has left, or goes by now, holds up nothing.
 */
export function stillHeldUpBy({ on, more }: DrainWaits, facts: NodePicture): DrainWaits {
  const { claim, drain } = facts
  if (facts.node === undefined || claim === undefined || drain === undefined) return { on, more }
  const { attachments } = drain
  const pods = heldBy(facts, deadlineOf(claim)).filter(({ cause }) => cause !== 'laterTier')
  const held = new Set([
    ...pods.map(({ pod, cause }) => `${cause} ${podName(pod)}`),
    ...(attachments ?? []).map(({ metadata }) => `attached ${metadata.name}`),
  ])
  const isStillSo = (wait: DrainWaits['on'][number]) => {
    const { cause, name } = subjectOf(wait) ?? {}
    return cause === undefined || (cause === 'attached' && attachments === undefined) || held.has(`${cause} ${name}`)
  }
  const still = on.filter(isStillSo)
  return { on: still, more: Math.max(0, Math.min(more, held.size - still.length)) }
}

function heldBy({ pods, now }: NodePicture, deadline: number | undefined): readonly HeldBy[] {
  return drainPlan({ pods, now, ...(deadline === undefined ? {} : { terminationDeadline: deadline }) }).heldBy
}

function deadlineOf(claim: NodeClaim): number | undefined {
  const deadline = terminationDeadline(claim)
  return deadline === undefined || Number.isNaN(deadline) ? undefined : deadline
}

const words: Readonly<Record<HeldBy['cause'], string>> = {
  forced: 'deleted by force',
  terminating: 'terminating',
  doNotDisrupt: 'kept by karpenter.sh/do-not-disrupt',
  eviction: 'to be evicted',
  laterTier: 'to be evicted after the others',
}

function podLines(held: readonly HeldBy[]): readonly string[] {
  const groups = Map.groupBy(held, ({ cause }) => cause)
  return [...groups].map(
    ([cause, pods]) =>
      `${counted(pods.length, 'pod')} ${words[cause]}: ${few(
        pods.map(({ pod }) => podName(pod)),
        mostNamed,
      )}`,
  )
}

function volumeLines({ drain }: NodePicture): readonly string[] {
  const { attachments = [] } = drain ?? {}
  const names = attachments.map(
    ({ metadata, persistentVolumeName = '' }) => `${persistentVolumeName} (${metadata.name})`,
  )
  return names.length === 0 ? [] : [`${counted(names.length, 'volume')} attached: ${few(names, mostNamed)}`]
}

/** What the drain itself has reported, with its times. */
function said({ status: { conditions } }: NodeClaim): readonly string[] {
  return ['Drained', 'VolumesDetached'].flatMap((type) => {
    const condition = conditionOf(conditions, type)
    if (condition === undefined || condition.status === 'True' || !condition.message) return []
    return condition.message === condition.reason ? [] : [`${type}: ${condition.message}`]
  })
}

function helpsOf(facts: NodePicture, { status }: NodeClaim, held: readonly HeldBy[]): readonly string[] {
  const { budgets, now, drain } = facts
  const first = held.flatMap(({ pod, cause }): readonly string[] => {
    if (cause === 'doNotDisrupt') return [protectionRemedy(podName(pod), facts)]
    if (cause !== 'eviction') return []
    const { podDisruptionBudgets: names = [] } = evictionBlockedBy(pod, budgets, now) ?? {}
    if (names.length > 1) return [`let only one PodDisruptionBudget select ${podName(pod)}: ${names.join(', ')}`]
    return names.map((name) =>
      budgetRemedy(
        name,
        budgets.find(({ metadata: own }) => `${own.namespace}/${own.name}` === name),
      ),
    )
  })
  const isDrained = isTrue(status.conditions, 'Drained')
  const attached = held.length === 0 || isDrained ? (drain?.attachments ?? []) : []
  const volumes = attached.map(
    ({ metadata: { name } }) =>
      `${volumeCommand(name)} says why it is not detached; once nothing uses the disk: kubectl delete volumeattachment ${name}`,
  )
  return [...new Set([...first, ...volumes])].slice(0, mostNamed)
}
