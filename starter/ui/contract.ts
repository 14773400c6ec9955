import type { WaitingClass } from '../../core/scheduling/explain/waiting-classes.ts'
import type { ClusterChange, ClusterView, NodeView, ViewPhase } from '../picture/watch/cluster-view.ts'

/**
 * What `joiner ui` and its page say to each other. Everything is JSON on the origin of the page. A request without the session's cookie is answered
 * 401, a POST without the header `x-joiner-action: 1` or from another origin 403. Errors have the body `Problem`.
 *
 *   GET  /?token=T                exchanges the one-time token for a cookie and redirects to /
 *   GET  /api/session             Session
 *   GET  /api/cluster             ClusterView
 *   GET  /api/stream              server-sent events, `StreamEvent` by the event's name
 *   GET  /api/nodes/KEY           NodeDetails
 *   GET  /api/decisions?days=N    Decisions, the latest first
 *   GET  /api/cost?days=N         CostReport
 *   GET  /api/calendar            Calendar
 *   POST /api/plan                PlanPreview; a plan changes nothing, and needs the right to ask for one
 *   POST /api/actions             ActionRequest -> ActionAnswer
 */
export interface Session {
  readonly cluster: string
  readonly version: string
  /** No action is offered: `--read-only`, or no connection to Temporal. */
  readonly isReadOnly: boolean
  /** Base of links to the Temporal UI, such as `https://temporal/namespaces/joiner/workflows`; absent: not known. */
  readonly temporalUi?: string
}

export interface Problem {
  /** What went wrong and what helps. */
  readonly message: string
}

export type StreamEvent =
  /** The whole view: first, and after a gap. */
  | { readonly event: 'cluster'; readonly data: ClusterView }
  | { readonly event: 'change'; readonly data: ClusterChange }
  /** What cannot be read now; empty: all can be. */
  | { readonly event: 'missing'; readonly data: readonly string[] }
  /** Each 10 s, so that the page knows that it is alive. */
  | { readonly event: 'beat'; readonly data: { readonly atMs: number } }
  /** The server stops. */
  | { readonly event: 'end'; readonly data: Problem }

export interface TimelineStep {
  readonly phase: ViewPhase
  readonly fromMs: number
  /** Absent: it lasts. */
  readonly toMs?: number
  /** What happened, a line. */
  readonly text: string
}

export interface KubernetesEvent {
  readonly atMs: number
  readonly reason: string
  /** Kind of its object. */
  readonly about: string
  readonly message: string
  readonly times: number
}

export interface NodeDetails {
  /** Absent: it is gone, and the rest is from its history. */
  readonly view?: NodeView
  readonly timeline: readonly TimelineStep[]
  /** Why it exists and why it is not removed, a line each, as `joiner why node` says it. */
  readonly why: readonly string[]
  readonly remedies: readonly string[]
  readonly conditions: readonly {
    readonly of: 'Node' | 'NodeClaim'
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly sinceMs: number
  }[]
  readonly events: readonly KubernetesEvent[]
  readonly cost: { readonly pricePerHour?: number; readonly soFar?: number }
  readonly isHeld: boolean
  readonly workflowId?: string
}

export interface Decision {
  readonly atMs: number
  readonly kind: 'launch' | 'disruption' | 'end'
  /** One sentence. */
  readonly text: string
  readonly reason: string
  readonly nodes: readonly string[]
  /** USD an hour of the nodes concerned before and after. */
  readonly before?: number
  readonly after?: number
  readonly outcome: 'running' | 'done' | 'undone' | 'failed'
  readonly workflowId: string
}

export interface Decisions {
  readonly decisions: readonly Decision[]
  /** Epoch ms from which Temporal keeps everything. */
  readonly sinceMs: number
}

export interface CostReport {
  /** Where prices come from and how old they are, and what retention limits, a sentence each. */
  readonly notes: readonly string[]
  /** USD of each hour by NodePool, the oldest first; null: not known. */
  readonly hours: readonly { readonly atMs: number; readonly byNodePool: Readonly<Record<string, number>> }[]
  readonly byNodePool: readonly CostLine[]
  readonly byNamespace: readonly CostLine[]
  /** USD of what no pod requested; absent: not known. */
  readonly idle?: number
  /** USD in the time asked for. */
  readonly total: number
  /** Realised by disruption commands in that time. */
  readonly saved: number
  readonly forecastMonth?: number
}

export interface CostLine {
  readonly key: string
  readonly usd: number
  readonly nodeHours?: number
}

/** The next seven days. */
export interface Calendar {
  readonly fromMs: number
  readonly toMs: number
  readonly pools: readonly {
    readonly nodePool: string
    /** How many nodes may be disrupted for these reasons, and by which budget. */
    readonly spans: readonly {
      readonly fromMs: number
      readonly toMs: number
      readonly reasons: readonly string[]
      readonly allowed: number
      readonly limitedBy: string
    }[]
  }[]
  readonly pauses: readonly {
    readonly loop: 'provisioning' | 'disruption'
    /** `all`, `nodepool NAME`, `node NAME` or `reason REASON`. */
    readonly scope: string
    readonly reason: string
    readonly by?: string
    readonly sinceMs: number
    readonly untilMs?: number
  }[]
}

export interface PlanPreview {
  readonly id: string
  readonly text: readonly string[]
  readonly commands: readonly {
    readonly method: string
    readonly reason: string
    readonly removes: readonly string[]
    readonly creates: readonly string[]
    readonly pods: number
    /** USD a month. */
    readonly savings: number
  }[]
  /** USD a month. */
  readonly before: number
  readonly after: number
}

export type ActionRequest =
  | {
      readonly kind: 'pause'
      readonly loop: 'provisioning' | 'disruption'
      readonly nodePool?: string
      readonly reason: string
      /** Milliseconds from now; absent: until it is resumed. */
      readonly forMs?: number
    }
  | { readonly kind: 'resume'; readonly loop: 'provisioning' | 'disruption'; readonly nodePool?: string }
  | { readonly kind: 'hold'; readonly key: string; readonly reason: string; readonly forMs?: number }
  | { readonly kind: 'release'; readonly key: string }
  | { readonly kind: 'apply'; readonly plan: string }

export interface ActionAnswer {
  readonly isDone: boolean
  /** What happened, or why nothing did and what helps. */
  readonly message: string
}

/** Re-exported, so that the page imports one file. */
export type { ClusterChange, ClusterView, NodeView, WaitingClass }
