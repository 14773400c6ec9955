import type { Condition, Node } from '../objects.ts'

/** A condition of a Node that announces the end of its VM. Without `reason` any counts. */
export interface InterruptionRule {
  readonly type: string
  readonly status: Condition['status']
  readonly reason?: string
}

/** A condition that makes a Node sick, and how long it may last before the Node is replaced. */
export interface RepairPolicy {
  readonly type: string
  readonly status: Condition['status']
  readonly tolerationMs: number
}

/** What of a Node's conditions ends its NodeClaim. */
export interface NodeRules {
  readonly interruptions: readonly InterruptionRule[]
  /** Empty while the gate NodeRepair is off. */
  readonly repairs: readonly RepairPolicy[]
}

export const noNodeRules: NodeRules = { interruptions: [], repairs: [] }

/** What a VM that is about to end has left when nothing tells (reference/azure-limits.md 4). */
const noticeMs = 30_000

/** Unhealthy nodes of a pool, or of the cluster, beyond this share are no accident of single nodes: nothing is repaired then. */
const mostUnhealthyPercent = 20

/** How long a repair that is blocked waits until it is looked at again (reference/karpenter-core.md 5.3). */
export const repairRetryMs = 5 * 60_000

export interface Interruption {
  /** Type of the condition, with its reason where that tells more. */
  readonly condition: string
  readonly message: string
  /** When the VM ends, epoch ms. */
  readonly deadlineMs: number
}

/** The announced end of a Node's VM, the earliest where there are several; undefined: none is announced. */
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

/** The first time that a text names, as Azure's scheduled events write it (`Mon, 19 Sep 2016 18:29:47 GMT`) or in RFC 3339. */
function timeIn(text: string): number | undefined {
  const found = /\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d GMT|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/.exec(text)
  const time = Date.parse(found?.[0] ?? '')
  return Number.isNaN(time) ? undefined : time
}

export interface Repair {
  readonly type: string
  readonly status: Condition['status']
  /** When the Node has been sick for longer than is tolerated, epoch ms. */
  readonly dueAtMs: number
}

/** The sickness of a Node that is due first; undefined: no policy sees one (reference/karpenter-core.md 5.3). */
export function repairOf(node: Node, { repairs }: NodeRules): Repair | undefined {
  const found = repairs.flatMap(({ type, status, tolerationMs }) =>
    node.conditions
      .filter((condition) => condition.type === type && condition.status === status)
      .map(({ lastTransitionTime }): Repair => {
        const since = Date.parse(lastTransitionTime ?? node.metadata.creationTimestamp)
        return { type, status, dueAtMs: since + tolerationMs }
      }),
  )
  return found.reduce<Repair | undefined>(
    (first, next) => (first === undefined || next.dueAtMs < first.dueAtMs ? next : first),
    undefined,
  )
}

/** Whether so many of the nodes are sick, for however short a time, that none of them is to be repaired (reference/karpenter-core.md 5.3). */
export function areTooManySick(nodes: readonly Node[], rules: NodeRules): boolean {
  const sick = nodes.filter((node) => repairOf(node, rules) !== undefined).length
  return sick > Math.ceil((nodes.length * mostUnhealthyPercent) / 100)
}

/** Whether a change of a Node's conditions gives its lifecycle something to do, or sooner than before. */
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
