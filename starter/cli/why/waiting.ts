import { claimWait } from '../../../core/node-claim/claim-wait.ts'
import type { Pod } from '../../../core/objects.ts'
import { pauseText } from '../../../core/pauses/pauses.ts'
import { isProvisionable, isTerminating, neverRuns } from '../../../core/pods/pod-rules.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { WaitingFacts } from '../../picture/pod-picture.ts'

/** Why a pod waits, for the report. */
export interface WaitingReport extends Pick<WaitingClass, 'cause' | 'finding' | 'funnel' | 'remedies'> {
  readonly state: WaitingClass['state'] | 'unknown'
  readonly plannedOn?: string
  /** Number of such pods, with this one. */
  readonly pods?: number
  readonly atMs?: number
}

/** Returns why a pending pod waits. What can be seen now counts more than what the planner wrote. */
export function waitingReport(
  pod: Pod,
  { found, unread, atMs, pause, claim }: WaitingFacts,
  now: number,
): WaitingReport {
  if (neverRuns(pod)) return { funnel: [], state: 'unknown', ...over(pod) }
  const known = {
    funnel: found?.funnel ?? [],
    ...(found === undefined ? {} : { pods: found.count }),
    ...(atMs === undefined ? {} : { atMs }),
  }
  if (claim !== undefined && found?.state !== 'unschedulable') {
    const { text, remedies } = claimWait(claim, pod.unschedulable, now)
    return { ...known, state: 'planned', plannedOn: `NodeClaim ${claim.metadata.name}`, finding: text, remedies }
  }
  const paused = pause === undefined ? [] : [pauseText('provisioning', pause)]
  if (pause !== undefined && found?.state !== 'planned') {
    const finding = [...paused, ...(found === undefined || found.cause === 'paused' ? [] : [found.finding])].join('; ')
    const remedies = ['joiner resume --provisioning', ...(found?.remedies ?? [])]
    return { ...known, state: 'held', cause: 'paused', finding, remedies: [...new Set(remedies)] }
  }
  if (found === undefined && unread !== undefined)
    return {
      ...known,
      state: 'unknown',
      finding: `what the planner found is not known: ${unread.what}: ${unread.why}`,
      remedies: [unread.remedy],
    }
  return found === undefined ? { ...known, state: 'unknown', ...unknown(pod) } : { ...known, ...ofPlanner(found) }
}

function ofPlanner({ state, cause, finding, remedies, plannedOn }: WaitingClass) {
  const [only, ...others] = plannedOn
  return {
    state,
    ...(cause === undefined ? {} : { cause }),
    ...(only === undefined || others.length > 0 ? {} : { plannedOn: only }),
    finding,
    remedies,
  }
}

/** Whatever was planned for it before. */
function over(pod: Pod): Pick<WaitingReport, 'finding' | 'remedies'> {
  const { deletionTimestamp, finalizers } = pod.metadata
  if (!isTerminating(pod))
    return { finding: `it has ended (${pod.phase}), so nothing is planned for it`, remedies: ['delete it'] }
  const held = finalizers.length === 0 ? '' : `; finalizers hold it: ${finalizers.join(', ')}`
  return {
    finding: `it is being deleted since ${deletionTimestamp}, so kube-scheduler never binds it and nothing is planned for it${held}`,
    remedies: finalizers.length === 0 ? [] : ['let the components that set the finalizers remove them'],
  }
}

function unknown(pod: Pod): Pick<WaitingReport, 'finding' | 'remedies'> {
  const scheduled = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.reason === 'SchedulingGated')
    return {
      finding: 'its spec.schedulingGates keep kube-scheduler from it',
      remedies: ['let the component that set the gates remove them: kubectl get pod --output yaml names them'],
    }
  if (isProvisionable(pod))
    return {
      finding: 'the planner has not reported on it yet; it does so within 10 seconds while it runs',
      remedies: ['joiner status shows whether it runs'],
    }
  return { finding: 'kube-scheduler has not found it unschedulable, so Joiner plans nothing for it', remedies: [] }
}
