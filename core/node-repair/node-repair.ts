import { conditionOf } from '../conditions.ts'
import { isAksMachine } from '../node-claim/aks-machine.ts'
import type { Condition, Node, NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { durationMs } from '../values/duration.ts'
import { printableStart } from '../values/printable.ts'
import type { RepairAction, RepairRule } from './repair-policy.ts'

/** A policy that a condition of the Node matches. */
interface Match {
  readonly policy: RepairRule
  readonly condition: Condition
  /** When its toleration ends, epoch ms. */
  readonly eligibleAtMs: number
}

/** What is to be done about a Node, as all policies that apply to it say together (reference/karpenter-1.15.md 4.8a). */
export interface NodeRepair {
  readonly condition: string
  readonly status: Condition['status']
  readonly reason: string
  readonly action: RepairAction
  readonly eligibleAtMs: number
  /** Longest time that pods have to leave, in milliseconds. Unset: as long as they need. */
  readonly boundMs?: number
  /** Nodes with a higher score go first. */
  readonly score: number
}

export type RepairState =
  | { readonly kind: 'healthy' }
  /** The condition is tolerated until then, epoch ms. */
  | { readonly kind: 'tolerated'; readonly condition: string; readonly untilMs: number }
  | { readonly kind: 'due'; readonly repair: NodeRepair }

/** Minutes by which an older repair catches up with the next higher priority. */
const minutesPerRank = 30
/** Unhealthy nodes of a pool beyond this share are no accident of single nodes: nothing is repaired then. */
const mostUnhealthyPercent = 20
const dayMs = 24 * 60 * 60_000
const mostRebootsADay = 2
/** Clocks of the writers of annotations may differ by this much. */
const clockSkewMs = 5 * 60_000
/** Characters of a condition's reason that are kept: a kubelet may make it as long as it likes. */
const longestReason = 256

/** Returns the conditions of a Node that some policy names, whatever their reasons are. */
export function sickConditions(
  { conditions }: Pick<Node, 'conditions'>,
  policies: readonly RepairRule[],
): readonly Condition[] {
  return conditions.filter(({ type, status }) => policies.some((one) => one.type === type && one.status === status))
}

/** Whether so many of these Nodes are unhealthy, for any length of time, that none of them is repaired. */
export function areTooManyUnhealthy(nodes: readonly Node[], policies: readonly RepairRule[]): boolean {
  const sick = nodes.filter((node) => sickConditions(node, policies).length > 0).length
  return sick > Math.ceil((nodes.length * mostUnhealthyPercent) / 100)
}

/** A Node, its claim and the time at which both are judged. */
export interface RepairSubject {
  readonly node: Pick<Node, 'metadata' | 'conditions'>
  readonly claim: Pick<NodeClaim, 'metadata' | 'spec' | 'status'>
  /** Epoch ms. */
  readonly now: number
}

/** Returns what the policies say about a Node now. */
export function repairState(subject: RepairSubject, policies: readonly RepairRule[]): RepairState {
  const matches = matchesOf(subject, policies)
  const due = matches.filter(({ eligibleAtMs }) => eligibleAtMs <= subject.now)
  if (due.length > 0) return { kind: 'due', repair: merged(due, subject, policies) }
  const [first] = [...matches].sort((a, b) => a.eligibleAtMs - b.eligibleAtMs)
  if (first === undefined) return { kind: 'healthy' }
  return { kind: 'tolerated', condition: first.condition.type, untilMs: first.eligibleAtMs }
}

/** Returns the policies that each condition matches: the specific ones, else the fallback, which is for any condition of the set. */
function matchesOf(subject: RepairSubject, policies: readonly RepairRule[]): readonly Match[] {
  const fallback = policies.find(({ reasonPattern }) => reasonPattern === undefined)
  return sickConditions(subject.node, policies).flatMap((condition) => {
    const specific = policies.filter(
      (one) => one.type === condition.type && one.status === condition.status && one.matches(condition.reason ?? ''),
    )
    const used = specific.length > 0 || fallback === undefined ? specific : [fallback]
    return used.map((policy) => ({
      policy,
      condition,
      eligibleAtMs: sinceMs(subject, condition) + policy.tolerationMs,
    }))
  })
}

/** Returns since when a condition counts: not from before the last reboot, which may have been about it. */
function sinceMs({ node, claim }: RepairSubject, { lastTransitionTime }: Condition): number {
  const reboot = conditionOf(claim.status.conditions, 'Rebooting')
  const times = [
    lastTransitionTime,
    node.metadata.creationTimestamp,
    reboot?.status === 'False' ? reboot.lastTransitionTime : undefined,
  ]
  return Math.max(...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)))
}

function merged(due: readonly Match[], subject: RepairSubject, policies: readonly RepairRule[]): NodeRepair {
  const [first] = [...due].sort(compare) as [Match, ...Match[]]
  const action = first.policy.action === 'RebootNode' && !mayReboot(subject) ? 'ReplaceNode' : first.policy.action
  const bounds = [
    ...due.map(({ policy }) => policy.terminationGracePeriodMs),
    durationMs(subject.claim.spec.terminationGracePeriod),
  ]
  const boundMs = Math.min(...bounds.flatMap((bound) => bound ?? []))
  return {
    condition: first.condition.type,
    status: first.condition.status,
    reason: printableStart(first.condition.reason ?? '', longestReason),
    action,
    eligibleAtMs: first.eligibleAtMs,
    ...(Number.isFinite(boundMs) ? { boundMs } : {}),
    score: Math.max(...due.map((match) => scoreOf(match, policies, subject.now))),
  }
}

function compare(a: Match, b: Match): number {
  return (
    Number(a.policy.action === 'RebootNode') - Number(b.policy.action === 'RebootNode') ||
    b.policy.priority - a.policy.priority ||
    a.eligibleAtMs - b.eligibleAtMs ||
    (a.condition.type < b.condition.type ? -1 : Number(a.condition.type > b.condition.type))
  )
}

/** Returns the rank of the priority among those of the set, which rises with the time that the repair has been due. */
function scoreOf({ policy, eligibleAtMs }: Match, policies: readonly RepairRule[], now: number): number {
  const lower = new Set(policies.map(({ priority }) => priority).filter((priority) => priority < policy.priority))
  return lower.size + (now - eligibleAtMs) / 60_000 / minutesPerRank
}

/** Returns when reboots of a claim's VM began in the last 24 hours, epoch ms. Times of the future would never end, and are left out. */
export function recentReboots({ metadata }: Pick<NodeClaim, 'metadata'>, now: number): readonly number[] {
  const times = (metadata.annotations[annotations.reboots] ?? '').split(',').map((time) => Date.parse(time))
  return times.filter((time) => now - time < dayMs && time - now <= clockSkewMs)
}

/** Whether a VM may be restarted: not thrice a day, and not the VM of an AKS machine, which is AKS's. */
function mayReboot({ claim, now }: RepairSubject): boolean {
  return !isAksMachine(claim) && recentReboots(claim, now).length < mostRebootsADay
}

/** Whether a Node's owner forbids its repair. */
export function isRepairForbidden({ metadata }: Pick<Node, 'metadata'>): boolean {
  return metadata.annotations[annotations.doNotRepair] === 'true'
}
