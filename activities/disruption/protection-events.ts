import type { Pod } from '../../core/objects.ts'
import { protectionOf } from '../../core/pods/do-not-disrupt.ts'
import { isActive } from '../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import { timeText } from '../../core/values/time.ts'
import { type EventInput, subject } from '../kubernetes/event-recorder.ts'
import { nodeAsClaimed } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Parts } from '../kubernetes/parts.ts'

export type ProtectionEventsDeps = Pick<Parts, 'cache' | 'events' | 'now'>

type News = Pick<EventInput, 'reason' | 'message'>

/** Last report of a pod, by its UID. */
type Reported = ReadonlyMap<string, string>

const reportedBy = new WeakMap<ProtectionEventsDeps['cache'], Reported>()

/**
 * Publishes what the do-not-disrupt annotation of pods on managed nodes does: it cannot be read, until when it holds, and that it is over. Each
 * is published once. An annotation that was over before this process began is not (reference/karpenter-core.md 4.2, 6.2).
 */
export function publishProtections({ cache, events, now }: ProtectionEventsDeps): void {
  const before = reportedBy.get(cache)
  const reported = new Map<string, string>()
  for (const pod of cache.pods.by('byDoNotDisrupt', 'set')) {
    const node = cache.nodes.get(pod.nodeName ?? '')
    if (!isActive(pod) || node === undefined) continue
    if (nodeAsClaimed({ cache }, node).metadata.labels[labels.nodePool] === undefined) continue
    const { uid } = pod.metadata
    const last = before?.get(uid)
    const news = newsOf(pod, now())
    if (news === undefined) continue
    reported.set(uid, news.message)
    const isOld = news.reason === 'DoNotDisruptGracePeriodElapsed' && last === undefined
    if (news.message === last || isOld) continue
    events.record({ about: subject(pod), ...news, values: [uid, news.message] })
  }
  reportedBy.set(cache, reported)
}

function newsOf(pod: Pod, now: number): News | undefined {
  const protection = protectionOf(pod)
  if (protection.kind === 'invalid') {
    const message = `Invalid ${annotations.doNotDisrupt} annotation: ${protection.message}, ignoring annotation`
    return { reason: 'InvalidDoNotDisruptAnnotation', message }
  }
  if (protection.kind !== 'timed' || protection.endsAt === undefined) return undefined
  if (now >= protection.endsAt) {
    const message = `The ${annotations.doNotDisrupt} grace period has elapsed, pod is now disruptable`
    return { reason: 'DoNotDisruptGracePeriodElapsed', message }
  }
  const until = timeText(protection.endsAt)
  return {
    reason: 'DoNotDisruptUntil',
    message: `The ${annotations.doNotDisrupt} grace period will elapse at ${until}`,
  }
}
