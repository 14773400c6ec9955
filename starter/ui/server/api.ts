import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isPlanId } from '../../../core/disruption/plan/plan-requests.ts'
import { isScopeName } from '../../../core/pauses/pauses.ts'
import type {
  ActionAnswer,
  ActionRequest,
  Calendar,
  ClusterView,
  CostReport,
  Decisions,
  NodeDetails,
  PlanPreview,
  Session,
} from '../contract.ts'
import { RouteError } from './problems.ts'

/** What the page can ask for. Errors: `RouteError`, and those that `problemOf` reports. */
export interface Api {
  readonly session: () => Session
  /** Undefined until the cluster was read for the first time. */
  readonly cluster: () => ClusterView | undefined
  readonly node: (key: string) => Promise<NodeDetails>
  readonly decisions: (days: number) => Promise<Decisions>
  readonly cost: (days: number) => Promise<CostReport>
  readonly calendar: () => Promise<Calendar>
  readonly plan: () => Promise<PlanPreview>
  readonly act: (request: ActionRequest) => Promise<ActionAnswer>
}

const mostDays = 92
const defaultDays = 7
const shortestMs = 10_000
const longestMs = 366 * 24 * 3_600_000

const loop = z.enum(['provisioning', 'disruption'])
const name = z.string().refine(isScopeName, 'is not the name of an object in Kubernetes')
const reason = z.string().trim().min(1, 'say why, for whoever finds it').max(1000)
const forMs = z.number().int().min(shortestMs).max(longestMs)

const action = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('pause'), loop, nodePool: name.optional(), reason, forMs: forMs.optional() }),
  z.strictObject({ kind: z.literal('resume'), loop, nodePool: name.optional() }),
  z.strictObject({ kind: z.literal('hold'), key: name, reason, forMs: forMs.optional() }),
  z.strictObject({ kind: z.literal('release'), key: name }),
  z.strictObject({
    kind: z.literal('apply'),
    plan: z.string().refine(isPlanId, 'is not the id of a plan (eight hexadecimal digits)'),
  }),
])

/** Adds the routes of the contract, but for the stream. */
export function addRoutes(app: FastifyInstance, api: Api): void {
  app.get('/api/session', () => api.session())
  app.get('/api/cluster', () => {
    const view = api.cluster()
    if (view === undefined) throw new RouteError(503, 'the cluster is being read; ask again in a second')
    return view
  })
  app.get('/api/nodes/:key', (request) => {
    const { key } = request.params as { readonly key: string }
    if (!isScopeName(key)) throw new RouteError(400, 'this is not the name of a Node or NodeClaim')
    return api.node(key)
  })
  app.get('/api/decisions', (request) => api.decisions(daysOf(request.query)))
  app.get('/api/cost', (request) => api.cost(daysOf(request.query)))
  app.get('/api/calendar', () => api.calendar())
  app.post('/api/plan', () => api.plan())
  app.post('/api/actions', (request) => {
    const read = action.safeParse(request.body)
    if (!read.success) throw new RouteError(400, `the action cannot be read: ${z.prettifyError(read.error)}`)
    return api.act(read.data as ActionRequest)
  })
}

function daysOf(query: unknown): number {
  const { days = String(defaultDays) } = query as { readonly days?: unknown }
  const count = typeof days === 'string' && /^\d{1,3}$/.test(days) ? Number(days) : 0
  if (count < 1 || count > mostDays) throw new RouteError(400, `days: use a whole number from 1 to ${mostDays}`)
  return count
}
