import type { Calendar, CostReport, Decisions, NodeDetails, NodeView, PlanPreview } from '../../starter/ui/contract.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** What a server says of a node that drains. */
export function sampleDetails(view: NodeView, now: number): NodeDetails {
  return {
    view,
    timeline: [
      {
        phase: 'Launching',
        fromMs: now - 26 * hour,
        toMs: now - 26 * hour + 48_000,
        text: 'Azure accepted Standard_D4s_v5 (spot) in westeurope-1 at the second attempt.',
      },
      {
        phase: 'Registering',
        fromMs: now - 26 * hour + 48_000,
        toMs: now - 26 * hour + 95_000,
        text: 'The kubelet joined.',
      },
      {
        phase: 'Initializing',
        fromMs: now - 26 * hour + 95_000,
        toMs: now - 26 * hour + 110_000,
        text: 'Startup taints went.',
      },
      { phase: 'Ready', fromMs: now - 26 * hour + 110_000, toMs: now - 4 * minute, text: 'It ran pods.' },
      {
        phase: 'Draining',
        fromMs: now - 4 * minute,
        text: '11 of 14 pods left; shop/checkout-0 is held by PodDisruptionBudget checkout.',
      },
    ],
    why: [
      'It was launched for 9 pending pods.',
      'It leaves, since its pods fit on other nodes (underutilized).',
      'PodDisruptionBudget shop/checkout allows no eviction now.',
    ],
    remedies: [
      'Scale the Deployment checkout to 2 replicas, so that one may go.',
      'joiner node force-finish ends the drain without the budget.',
    ],
    conditions: [
      { of: 'NodeClaim', type: 'Launched', status: 'True', reason: 'Launched', message: '', sinceMs: now - 26 * hour },
      {
        of: 'Node',
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
        sinceMs: now - 25 * hour,
      },
      {
        of: 'NodeClaim',
        type: 'Drained',
        status: 'Unknown',
        reason: 'Draining',
        message: '1 pod is held by a PodDisruptionBudget',
        sinceMs: now - 4 * minute,
      },
    ],
    events: [
      {
        atMs: now - 4 * minute,
        reason: 'DisruptionTerminating',
        about: 'NodeClaim',
        message: 'Disrupting NodeClaim: Underutilized',
        times: 1,
      },
      {
        atMs: now - 30_000,
        reason: 'FailedDraining',
        about: 'Node',
        message: 'Failed to drain node, 1 pod is waiting to be evicted',
        times: 7,
      },
    ],
    cost: { pricePerHour: 0.192, soFar: 4.992 },
    isHeld: false,
    workflowId: `nodeclaim-${view.key}`,
  }
}

export function sampleDecisions(now: number): Decisions {
  return {
    sinceMs: now - 30 * day,
    decisions: [
      {
        atMs: now - 4 * minute,
        kind: 'disruption',
        text: 'Removes 2 nodes, whose pods fit on others.',
        reason: 'Underutilized',
        nodes: ['pool-0-00000', 'pool-0-00004'],
        before: 0.696,
        after: 0,
        outcome: 'running',
        workflowId: 'disruption-7',
      },
      {
        atMs: now - 40 * minute,
        kind: 'launch',
        text: 'Launched Standard_D16as_v5 (on-demand, westeurope-2) for 14 pods.',
        reason: 'pods',
        nodes: ['pool-1-00005'],
        before: 0,
        after: 0.688,
        outcome: 'done',
        workflowId: 'nodeclaim-pool-1-00005',
      },
      {
        atMs: now - 3 * hour,
        kind: 'disruption',
        text: 'Replaces 3 nodes by one of Standard_D8s_v5.',
        reason: 'Underutilized',
        nodes: ['pool-2-0000a', 'pool-2-0000b', 'pool-2-0000c'],
        before: 0.576,
        after: 0.384,
        outcome: 'undone',
        workflowId: 'disruption-6',
      },
      {
        atMs: now - 26 * hour,
        kind: 'end',
        text: 'Azure evicted the spot VM of pool-3-00007; its 6 pods moved in 24 s.',
        reason: 'interrupted',
        nodes: ['pool-3-00007'],
        outcome: 'done',
        workflowId: 'nodeclaim-pool-3-00007',
      },
      {
        atMs: now - 27 * hour,
        kind: 'launch',
        text: 'No capacity for Standard_E8s_v5 in any zone; gave up after 5 attempts.',
        reason: 'pods',
        nodes: ['pool-3-00009'],
        outcome: 'failed',
        workflowId: 'nodeclaim-pool-3-00009',
      },
    ],
  }
}

/** A week by hours; four hours of it are unknown. */
export function sampleCost(now: number): CostReport {
  const start = Math.floor(now / hour) * hour - 7 * day
  const hours = Array.from({ length: 7 * 24 }, (_, index) => {
    const wave = 1 + 0.45 * Math.sin(((index % 24) - 8) / 24 / 0.159)
    return {
      atMs: start + index * hour,
      byNodePool: {
        general: 2.1 * wave,
        spot: 0.9 * wave * (index > 60 ? 1.4 : 1),
        gpu: index % 24 > 9 && index % 24 < 18 ? 3.6 : 0,
        system: 0.4,
      },
    }
  }).filter((_, index) => index < 80 || index > 83)
  const sum = (pool: 'general' | 'spot' | 'gpu' | 'system') =>
    hours.reduce((total, { byNodePool }) => total + byNodePool[pool], 0)
  const byNodePool = (['general', 'gpu', 'spot', 'system'] as const).map((key) => ({
    key,
    usd: sum(key),
    nodeHours: sum(key) / 0.192,
  }))
  const total = byNodePool.reduce((all, { usd }) => all + usd, 0)
  return {
    notes: [
      'Prices: the list of westeurope in ConfigMap joiner-prices, 3 h old.',
      '4 hours are unknown: no planner ran. They are in no sum.',
    ],
    hours,
    byNodePool,
    byNamespace: [
      { key: 'shop', usd: total * 0.41 },
      { key: 'ml', usd: total * 0.22 },
      { key: 'kube-system', usd: total * 0.08 },
    ],
    idle: total * 0.29,
    total,
    saved: 96.4,
    forecastMonth: total * 4.3,
  }
}

export function sampleCalendar(now: number): Calendar {
  const fromMs = now
  const toMs = now + 7 * day
  const midnight = Math.ceil(now / day) * day
  const general = Array.from({ length: 8 }, (_, index) => {
    const at = midnight + (index - 1) * day
    return [
      { fromMs: Math.max(fromMs, at), toMs: at + 8 * hour, allowed: 5, limitedBy: 'budget 10%' },
      {
        fromMs: Math.max(fromMs, at + 8 * hour),
        toMs: at + 18 * hour,
        allowed: 0,
        limitedBy: 'budget 0, schedule 0 8 * * *, duration 10h',
      },
      {
        fromMs: Math.max(fromMs, at + 18 * hour),
        toMs: Math.min(toMs, at + 24 * hour),
        allowed: 5,
        limitedBy: 'budget 10%',
      },
    ]
  })
    .flat()
    .filter((span) => span.toMs > span.fromMs && span.fromMs < toMs)
  return {
    fromMs,
    toMs,
    pools: [
      {
        nodePool: 'general',
        spans: [
          ...general.map((span) => ({ ...span, reasons: ['Underutilized', 'Empty'] })),
          { fromMs, toMs, allowed: 2, reasons: ['Drifted'], limitedBy: 'budget 2' },
        ],
      },
      { nodePool: 'gpu', spans: [{ fromMs, toMs, allowed: 0, reasons: [], limitedBy: 'pause of NodePool gpu' }] },
    ],
    pauses: [
      {
        loop: 'disruption',
        scope: 'nodepool gpu',
        reason: 'training run until Friday',
        by: 'ada',
        sinceMs: now - 5 * hour,
        untilMs: now + 2 * day,
      },
      { loop: 'disruption', scope: 'node pool-0-00004', reason: 'debugging', sinceMs: now - hour },
    ],
  }
}

export const samplePlan: PlanPreview = {
  id: 'plan-1',
  text: ['2 of 24 nodes are not looked at: PodDisruptionBudget shop/checkout allows no eviction.'],
  commands: [
    { method: 'Empty', reason: 'Empty', removes: ['pool-0-00008'], creates: [], pods: 0, savings: 502.24 },
    {
      method: 'MultiNode',
      reason: 'Underutilized',
      removes: ['pool-1-00001', 'pool-1-00005'],
      creates: ['Standard_D8s_v5 (on-demand, westeurope-1)'],
      pods: 21,
      savings: 589.84,
    },
  ],
  before: 8082.56,
  after: 6990.48,
}
