// What the page is told of the pictured day.
import { weightOf } from '../../core/cost/slice.ts'
import type { PlannedCandidate } from '../../core/disruption/plan/plan.ts'
import { headlineText } from '../../core/history/headline.ts'
import { birthText } from '../../core/history/texts.ts'
import type { NodePool } from '../../core/objects.ts'
import { Pauses } from '../../core/pauses/pauses.ts'
import { calendarOf } from '../../starter/ui/answers/calendar.ts'
import { planPreview } from '../../starter/ui/answers/cluster-api.ts'
import { decisionsOf } from '../../starter/ui/answers/decisions.ts'
import { costOf, timelineOf } from '../../starter/ui/answers/node-details.ts'
import type { CostReport, NodeDetails, NodeView, PlanPreview, WaitingClass } from '../../starter/ui/contract.ts'
import { viewOf } from './generated-cluster.ts'
import { launchedFor, type Past, pictured, picturedCost, picturedDay } from './pictured-day.ts'

const minute = 60_000
const hour = 60 * minute
const gi = 1024 ** 3

/** The command whose node cannot be drained. */
const running = {
  id: 'x4v9t',
  method: 'single-node',
  reason: 'Underutilized',
  decision: 'delete',
  replacements: [],
  startedMs: pictured - 34 * minute - 16_000,
} as const

/** Everything that the page asks for. `drained` is the key of the node whose picture is taken. */
export function picturedAnswers() {
  const day = picturedDay()
  const nodes = day.nodes.map(withTroubles)
  const drained = nodes.find(({ phase }) => phase === 'Draining') ?? nodes[0]
  const launching = nodes.find(({ phase }) => phase === 'Launching')
  if (drained === undefined || launching === undefined) throw new Error('the pictured cluster lacks its troubles')
  const past = {
    ...day,
    commands: [...day.commands, { ...running, candidates: [drained.key], savings: drained.pricePerHour ?? 0 }],
  }
  const details = detailsOf(drained, past)
  return {
    drained: drained.key,
    session: {
      cluster: 'prod-westeurope',
      version: '0.2.0',
      isReadOnly: false,
      temporalUi: 'https://temporal.example/namespaces/joiner/workflows',
    },
    cluster: { ...viewOf(nodes, { pending: pendingOf(launching.key) }), atMs: pictured },
    answers: new Map<string, unknown>([
      [`api/nodes/${drained.key}`, details],
      [
        'api/decisions',
        decisionsOf({ ...past, sinceMs: pictured - 24 * hour, untilMs: pictured, unreadable: 0 }, 'prod-westeurope'),
      ],
      ['api/cost', costWithShares(past)],
      ['api/calendar', picturedCalendar()],
      ['api/plan', picturedPlan(nodes)],
    ]),
  }
}

/** One cannot be drained, one is held. Those that are not ready yet have no pods, or their daemons alone. */
function withTroubles(node: NodeView, index: number): NodeView {
  if (index === 23) return { ...node, phase: 'Draining', isCordoned: true, note: 'Underutilized' }
  if (index === 12) return { ...node, note: 'held by alice' }
  if (node.phase === 'Launching') return { ...node, pods: [], requested: { cpu: 0, memory: 0 } }
  if (node.phase !== 'Initializing') return node
  const pods = node.pods.filter(([, , , mark]) => mark === 'd')
  return { ...node, pods, requested: { cpu: 0.15, memory: 0.4 * gi } }
}

function pendingOf(launching: string): readonly WaitingClass[] {
  return [
    {
      state: 'unschedulable',
      cause: 'limits',
      pods: ['ml/training-0', 'ml/training-1'],
      count: 2,
      sinceMs: pictured - 14 * minute,
      plannedOn: [],
      finding: 'NodePool "gpu": limits: limit 16 cpu, in use 16 cpu, the smallest type left has 4 cpu',
      funnel: [
        'NodePool gpu: 202 types; left after requirements 9, resources 6, offerings 6, limits 0; limits: limit 16 cpu, in use 16 cpu, the smallest type left has 4 cpu',
      ],
      remedies: [
        `raise the limits: kubectl patch nodepool gpu --type merge --patch '{"spec":{"limits":{"cpu":"20"}}}'`,
      ],
    },
    {
      state: 'planned',
      pods: ['data/import-6x2kq', 'data/import-9w4lz', 'data/report-h5t8c'],
      count: launchedFor,
      sinceMs: pictured - 20_000,
      plannedOn: [launching],
      finding: `NodeClaim ${launching}: Azure makes its VM`,
      funnel: [],
      remedies: [],
    },
  ]
}

function detailsOf(view: NodeView, past: Past): NodeDetails {
  const life = past.lives.find(({ nodeClaim }) => nodeClaim === view.key)
  if (life === undefined) throw new Error(`${view.key} has no lifecycle`)
  const sinceMs = pictured - 34 * minute
  const leaving = {
    ...life,
    drainingMs: sinceMs,
    went: { kind: 'disruption', command: running.id, reason: 'Underutilized' },
  } as const
  const [pod = ['shop/cart']] = view.pods.filter(([name]) => name.startsWith('shop/'))
  const workload = pod[0].replace(/-\w+$/, '')
  return {
    view,
    timeline: timelineOf(leaving),
    why: [
      `came: ${birthText(life.came)}`,
      `went: Underutilized (command ${running.id})`,
      headlineText({ phase: 'Draining', sinceMs, leaves: 'Underutilized', waitsFor: '1 pod leaves' }),
      `being disrupted by ${running.id} (Underutilized)`,
      `PodDisruptionBudget ${workload} blocks ${pod[0]} for 34m`,
    ],
    remedies: [
      `PodDisruptionBudget ${workload} (minAvailable 3): 3 of 3 pods are healthy, 3 have to be, so none may go; let more of its pods be ready, or let it allow one to be missing (kubectl edit pdb --namespace shop ${workload.replace('shop/', '')})`,
      `as a last resort, without eviction: joiner node force-finish ${view.key} --reason WHY`,
    ],
    conditions: [
      {
        of: 'Node',
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
        sinceMs: life.readyMs ?? 0,
      },
      {
        of: 'NodeClaim',
        type: 'Drained',
        status: 'Unknown',
        reason: 'Draining',
        message: '1 pod is waiting to be evicted',
        sinceMs,
      },
    ],
    events: [
      {
        atMs: sinceMs,
        reason: 'DisruptionTerminating',
        about: 'NodeClaim',
        message: 'Disrupting NodeClaim: Underutilized',
        times: 1,
      },
      {
        atMs: pictured - 40_000,
        reason: 'FailedDraining',
        about: 'Node',
        message: `Failed to drain node, 1 pods are waiting to be evicted: evicting pod violates a PDB (Pod=[${pod[0]}])`,
        times: 17,
      },
    ],
    cost: { pricePerHour: view.pricePerHour ?? 0, soFar: costOf(leaving, pictured) ?? 0 },
    isHeld: false,
    workflowId: life.workflowId,
  }
}

/** The cost of the day, shared out as the pods of its end request. */
function costWithShares(past: Past): CostReport {
  const cost = picturedCost(past)
  const prices = past.nodes.map((node) => node.pricePerHour ?? 0)
  const perHour = prices.reduce((sum, price) => sum + price, 0)
  const shares = past.nodes.flatMap(({ pods, allocatable, pricePerHour = 0 }) => {
    const whole = weightOf({ cpu: allocatable.cpu, memoryGib: allocatable.memory / gi, gpus: 0 })
    return pods.map(([name, cpu, memory]) => ({
      key: name.split('/')[0] ?? '',
      usd: (weightOf({ cpu, memoryGib: memory / gi, gpus: 0 }) / whole) * pricePerHour * (cost.total / perHour),
    }))
  })
  const byNamespace = [...Map.groupBy(shares, ({ key }) => key)]
    .map(([key, own]) => ({ key, usd: own.reduce((sum, { usd }) => sum + usd, 0) }))
    .sort((a, b) => b.usd - a.usd)
  return { ...cost, byNamespace, idle: cost.total - byNamespace.reduce((sum, { usd }) => sum + usd, 0) }
}

function picturedCalendar() {
  const pool = (name: string, ...budgets: readonly object[]) =>
    ({ metadata: { name, uid: name, labels: {}, annotations: {} }, disruption: { budgets } }) as unknown as NodePool
  const office = { nodes: '0', reasons: ['Drifted', 'Underutilized'], schedule: '0 8 * * mon-fri', duration: '10h' }
  return calendarOf(
    {
      nodePools: [
        pool('general', { nodes: '3' }, office),
        pool('web-spot', { nodes: '4' }),
        pool('batch', { nodes: '6' }, { ...office, schedule: '0 0 * * *', duration: '6h' }),
        pool('gpu', { nodes: '1' }),
      ],
      nodes: [],
      nodeClaims: [],
      pauses: new Pauses([
        {
          reason: 'training run until Sunday',
          by: 'ada',
          sinceMs: pictured - 5 * hour,
          untilMs: pictured + 55 * hour,
          scope: { kind: 'nodePool', name: 'gpu' },
        },
      ]),
    },
    [],
    pictured,
  )
}

function picturedPlan(nodes: readonly NodeView[]): PlanPreview {
  const ready = nodes.filter(({ phase, nodePool }) => phase === 'Ready' && nodePool === 'general')
  const candidate = ({ key, node = key, pricePerHour = 0, pods, ...of }: NodeView): PlannedCandidate => ({
    nodeClaim: key,
    uid: key,
    node,
    nodePool: of.nodePool ?? '',
    instanceType: of.instanceType ?? '',
    capacityType: of.capacityType ?? '',
    zone: of.zone ?? '',
    price: pricePerHour,
    pods: pods.filter(([, , , mark]) => mark !== 'd').map(([pod]) => ({ pod, uid: pod, newNode: 1 })),
  })
  const [one, two, three] = ready.slice(3).map(candidate)
  if (one === undefined || two === undefined || three === undefined)
    throw new Error('the pictured cluster has too few nodes')
  const multi = [one, two].reduce((sum, { price }) => sum + price, 0)
  const moved = { ...three, pods: three.pods.map(({ pod, uid }) => ({ pod, uid, node: `aks-${one.nodeClaim}` })) }
  const replacement = {
    number: 1,
    nodePool: 'general',
    instanceTypes: ['Standard_D8as_v5'],
    otherTypes: 6,
    capacityTypes: ['on-demand'],
    zones: ['westeurope-1'],
    price: 0.416,
    pods: one.pods.length + two.pods.length,
  }
  const perHour = nodes.reduce((sum, { pricePerHour = 0 }) => sum + pricePerHour, 0)
  const savings = multi - replacement.price + three.price
  return planPreview({
    version: 1,
    id: '3f9a01c2',
    cluster: 'prod-westeurope',
    createdAt: new Date(pictured).toISOString(),
    by: 'alice',
    options: {},
    commands: [
      {
        method: 'multi-node',
        reason: 'Underutilized',
        decision: 'replace',
        candidates: [one, two],
        replacements: [replacement],
        savings: multi - replacement.price,
      },
      {
        method: 'single-node',
        reason: 'Underutilized',
        decision: 'delete',
        candidates: [moved],
        replacements: [],
        savings: three.price,
      },
    ],
    nodePools: [{ name: 'general', uid: 'general', generation: 4 }],
    cost: {
      nodes: { before: multi + three.price, after: replacement.price },
      cluster: { before: perHour, after: perHour - savings },
      unpriced: 0,
    },
    blockers: [],
    budgets: [{ nodePool: 'general', reason: 'Underutilized', nodes: 26, allowed: 3, disrupted: 1 }],
    pauses: ['disruption of NodePool "gpu" is paused by ada until Sunday: training run until Sunday'],
    warnings: [],
  })
}
