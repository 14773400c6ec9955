import { claimWait, saidSince } from '../../../core/node-claim/claim-wait.ts'
import type { Pod } from '../../../core/objects.ts'
import { type Pause, pauseText } from '../../../core/pauses/pauses.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import type { Explanation } from '../../../core/scheduling/explain/explanation.ts'
import type { Standing } from '../../../core/scheduling/explain/waiting-classes.ts'
import { shortened } from '../../../core/values/texts.ts'
import { timeText } from '../../../core/values/time.ts'
import { podFingerprint } from '../../scheduler-thread/pod-fingerprint.ts'
import type { RefusingDeps } from '../node-refusals/node-refusals.ts'
import { refusalText } from '../node-refusals/refusal-rules.ts'
import type { PlannerParts } from '../parts.ts'

export type StandingDeps = RefusingDeps & Pick<PlannerParts, 'refusedClaims' | 'heavyPods' | 'quarantine'>

/** What passes have found about pods, by UID. */
export interface PassFindings {
  readonly unschedulable: ReadonlyMap<string, Explanation>
  /** Pods whose planned NodeClaim was not created. */
  readonly notCreated: ReadonlyMap<string, NotCreated>
  readonly postponed: ReadonlySet<string>
  readonly pause: Pause | undefined
}

/** Why a planned NodeClaim was not created: it would have exceeded limits, or a webhook fails. */
export type NotCreated = Pick<Standing, 'state' | 'finding' | 'remedies'> & { readonly cause: 'limits' | 'refused' }

type Found = Omit<Standing, 'pod' | 'likeness' | 'funnel'> & Partial<Pick<Standing, 'funnel'>>

const mostText = 400

/** Returns why a pod waits. */
export function standingOf(deps: StandingDeps, pod: Pod, findings: PassFindings): Standing {
  // What the last pass found of it is newer than where an earlier one planned it.
  const found =
    heldBack(deps, pod) ??
    withoutPlace(pod, findings) ??
    planned(deps, pod) ??
    postponed(pod, findings) ??
    notYet(findings)
  return { funnel: [], ...found, pod, likeness: podFingerprint(pod) }
}

function heldBack(deps: StandingDeps, pod: Pod): Found | undefined {
  const now = deps.now()
  if (deps.quarantine.holds(pod))
    return {
      state: 'held',
      cause: 'other',
      finding: 'the scheduler crashed on such pods, so they are left out of planning',
      remedies: [`joiner blocked objects list; joiner blocked objects clear Pod/${podName(pod)}`],
    }
  if (deps.refusedClaims.isWaiting(deps, pod, now)) {
    const { nodePool = '', message = '' } = deps.refusedClaims.refusalOf(pod) ?? {}
    return {
      state: 'held',
      cause: 'refused',
      finding: shortened(
        `the API server refused the NodeClaim of NodePool "${nodePool}" for them: ${message}`,
        mostText,
      ),
      remedies: [
        `change what the message names in NodePool "${nodePool}", its AKSNodeClass or the pods: they are planned again at once`,
        'change the admission policy or webhook that refuses it: they are planned again after at most 10 minutes',
      ],
    }
  }
  const unbound = refusedNode(deps, pod)
  if (unbound !== undefined) return unbound
  if (!deps.heavyPods.isWaiting(pod, now)) return undefined
  return {
    state: 'held',
    cause: 'other',
    finding: 'they have so many constraints that they are planned at growing intervals after they found no place',
    remedies: ['give the pods fewer affinity terms and topology spread constraints'],
  }
}

/** What kube-scheduler says counts more than a plan: the pods are not on the nodes that were made for them. */
function refusedNode(deps: StandingDeps, pod: Pod): Found | undefined {
  if (!deps.nodeRefusals.isWaiting(deps, pod, deps.now())) return undefined
  const { refusal, leftover, awaited } = deps.nodeRefusals.reasonOf(deps, pod)
  if (leftover !== undefined)
    return {
      state: 'held',
      cause: 'kube-scheduler',
      finding: leftover.text,
      remedies: [
        `change what kube-scheduler names in the pods or on node ${leftover.node}`,
        `kubectl cordon ${leftover.node}, if only this node does not take them: another is found or made at once`,
      ],
    }
  return {
    state: 'held',
    cause: 'kube-scheduler',
    finding:
      refusal === undefined
        ? `NodeClaim ${awaited} was made for them and has room; its node reports less, and kube-scheduler has the last word`
        : refusalText(refusal),
    remedies: [
      'change what kube-scheduler names in the pods, their NodePool or its AKSNodeClass: they are planned again at once',
    ],
  }
}

function planned({ cache, nominations, now }: StandingDeps, { metadata, unschedulable }: Pod): Found | undefined {
  const target = nominations.targetOf(metadata.uid)
  if (target === undefined) return undefined
  const claim = cache.nodeClaims.get(target)
  if (claim !== undefined) {
    if (claim.metadata.deletionTimestamp !== undefined) return undefined
    const { text, remedies } = claimWait(claim, unschedulable, now())
    return { state: 'planned', plannedOn: target, finding: text, remedies }
  }
  if (cache.nodes.get(target) === undefined) return undefined
  const sinceMs = nominations.plannedSince(metadata.uid) ?? now()
  const said = saidSince(unschedulable, sinceMs, now())
  const finding =
    said === undefined
      ? `they fit on node ${target}; kube-scheduler binds them to it`
      : `they fit on node ${target}, and kube-scheduler has not bound them to it since ${timeText(sinceMs)}; it says: ${said}`
  return { state: 'planned', plannedOn: target, finding, remedies: [] }
}

function withoutPlace({ metadata: { uid } }: Pod, findings: PassFindings): Found | undefined {
  const notCreated = findings.notCreated.get(uid)
  if (notCreated !== undefined) return notCreated
  const unschedulable = findings.unschedulable.get(uid)
  if (unschedulable === undefined) return undefined
  const { cause, finding, funnel, remedies } = unschedulable
  return { state: 'unschedulable', cause, finding, funnel, remedies }
}

function postponed({ metadata: { uid } }: Pod, findings: PassFindings): Found | undefined {
  if (!findings.postponed.has(uid)) return undefined
  return {
    state: 'held',
    cause: 'other',
    finding: 'they have many constraints, are planned after all others, and the pass had no time left',
    remedies: ['give the pods fewer affinity terms and topology spread constraints'],
  }
}

function notYet({ pause }: PassFindings): Found {
  if (pause === undefined)
    return { state: 'held', cause: 'other', finding: 'they are planned in the next pass', remedies: [] }
  return {
    state: 'held',
    cause: 'paused',
    finding: shortened(pauseText('provisioning', pause), mostText),
    remedies: ['joiner resume --provisioning'],
  }
}
