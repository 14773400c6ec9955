import type { RepairRule } from '../node-repair/repair-policy.ts'
import type { Condition, Node } from '../objects.ts'

/** A Node condition that announces the end of its VM. Without `reason` any reason counts. */
export interface InterruptionRule {
  readonly type: string
  readonly status: Condition['status']
  readonly reason?: string
}

/** Rules by which a Node's conditions end its NodeClaim. */
export interface NodeRules {
  readonly interruptions: readonly InterruptionRule[]
  /** Policies by which a lifecycle itself deletes the claim of a sick Node. Empty unless the repair of Karpenter 1.14 is wanted. */
  readonly repairs: readonly RepairRule[]
}

export const noNodeRules: NodeRules = { interruptions: [], repairs: [] }

/** Time until a VM's announced end when no time is given (reference/azure-limits.md 4). */
const noticeMs = 30_000

/** Unhealthy nodes of a pool, or of the cluster, beyond this share are no accident of single nodes: nothing is repaired then. */
const mostUnhealthyPercent = 20

/** Time until a blocked repair is evaluated again (reference/karpenter-core.md 5.3). */
export const repairRetryMs = 5 * 60_000

export interface Interruption {
  /** Type of the condition, with its reason where that is more specific. */
  readonly condition: string
  readonly message: string
  /** When the VM ends, epoch ms. */
  readonly deadlineMs: number
}

/** Returns the announced end of a Node's VM, the earliest when there are several; undefined when none is announced. */
export function interruptionOf(node: Node, { interruptions }: NodeRules, now: number): Interruption | undefined {
  const found = node.conditions.flatMap((condition) =>
    interruptions.some((rule) => isAnnouncedBy(rule, condition)) ? [announcedBy(condition, now)] : [],
  )
  return found.reduce<Interruption | undefined>(
    (first, next) => (first === undefined || next.deadlineMs < first.deadlineMs ? next : first),
    undefined,
  )
}

/** Whether the end of a Node's VM is announced. */
export function isInterrupted({ conditions }: Node, { interruptions }: NodeRules): boolean {
  return conditions.some((condition) => interruptions.some((rule) => isAnnouncedBy(rule, condition)))
}

function isAnnouncedBy(rule: InterruptionRule, { type, status, reason }: Condition): boolean {
  return rule.type === type && rule.status === status && (rule.reason === undefined || rule.reason === reason)
}

function announcedBy({ type, reason, message = '', lastTransitionTime }: Condition, now: number): Interruption {
  const since = Date.parse(lastTransitionTime ?? '')
  return {
    condition: reason === undefined || reason === type ? type : `${type} (${reason})`,
    message,
    deadlineMs: timeIn(message) ?? (Number.isNaN(since) ? now : since) + noticeMs,
  }
}

/** Parses the first time in a text, in the form of Azure's scheduled events (`Mon, 19 Sep 2016 18:29:47 GMT`) or RFC 3339. */
function timeIn(text: string): number | undefined {
  const found = /\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d GMT|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/.exec(text)
  const time = Date.parse(found?.[0] ?? '')
  return Number.isNaN(time) ? undefined : time
}

export interface Repair {
  readonly type: string
  readonly status: Condition['status']
  /** When the Node's toleration ends, epoch ms. */
  readonly dueAtMs: number
}

/** Returns the condition for which a Node is replaced: `Ready is False`. */
export function repairText({ type, status }: Repair): string {
  return `${type} is ${status}`
}

/** Returns the repair of a Node that is due first; undefined when no policy applies (reference/karpenter-core.md 5.3). */
export function repairOf(node: Node, { repairs }: NodeRules): Repair | undefined {
  const found = repairs.flatMap((policy) => {
    const { type, status, tolerationMs } = policy
    return node.conditions
      .filter((condition) => isOf(policy, condition))
      .map(({ lastTransitionTime }): Repair => {
        const since = Date.parse(lastTransitionTime ?? node.metadata.creationTimestamp)
        return { type, status, dueAtMs: since + tolerationMs }
      })
  })
  return found.reduce<Repair | undefined>(
    (first, next) => (first === undefined || next.dueAtMs < first.dueAtMs ? next : first),
    undefined,
  )
}

/** Only replacements are known here, and a policy without a pattern is for its own condition alone (reference/karpenter-1.15.md 5.3). */
function isOf(policy: RepairRule, condition: Condition): boolean {
  if (policy.action !== 'ReplaceNode' || policy.type !== condition.type || policy.status !== condition.status)
    return false
  return policy.reasonPattern === undefined || policy.matches(condition.reason ?? '')
}

/** Whether so many nodes are unhealthy, for any length of time, that none of them is repaired (reference/karpenter-core.md 5.3). */
export function areTooManySick(nodes: readonly Node[], rules: NodeRules): boolean {
  const sick = nodes.filter((node) => repairOf(node, rules) !== undefined).length
  return sick > Math.ceil((nodes.length * mostUnhealthyPercent) / 100)
}

/** Whether a change of a Node's conditions requires its lifecycle to act, or to act sooner than before. */
export function needsLook(
  { before, after }: { readonly before: Node | undefined; readonly after: Node },
  rules: NodeRules,
  now: number,
): boolean {
  const never = Number.POSITIVE_INFINITY
  const isSooner = (timeOf: (node: Node) => number | undefined) =>
    (timeOf(after) ?? never) < ((before && timeOf(before)) ?? never)
  return (
    isSooner((node) => interruptionOf(node, rules, now)?.deadlineMs) ||
    isSooner((node) => repairOf(node, rules)?.dueAtMs)
  )
}
