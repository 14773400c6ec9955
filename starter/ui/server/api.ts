import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { isPlanId } from '../../../core/disruption/plan/plan-requests.ts'
import { isScopeName } from '../../../core/pauses/pauses.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { isDebugging } from '../../cli/shared/boundary.ts'
import { ReportedError } from '../../document/reported-error.ts'
import { LackingError, whyOf } from '../../picture/missing.ts'
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

/** Why a request is not answered with what it asks for. */
export class RouteError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const longest = 2000

/** Returns the status and the text that an error is answered with. */
export function problemOf(error: unknown): { readonly status: number; readonly message: string } {
  // Its lines are printable already, each by itself.
  if (error instanceof ReportedError) return { status: statusOf(error), message: error.message.slice(0, longest) }
  const { status, message } = reported(error)
  return { status, message: printableStart(message, longest) }
}

function statusOf(error: ReportedError): number {
  return error instanceof LackingError && error.isForbidden ? 403 : 503
}

function reported(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof RouteError) return error
  if (error instanceof ApiError)
    return {
      status: error.code === 403 ? 403 : 502,
      message: `the API server refuses it: ${error.message}${error.code === 403 ? '; kubectl auth can-i --list shows your rights' : ''}`,
    }
  const { statusCode } = error as { readonly statusCode?: unknown }
  // What the HTTP library finds wrong with a request.
  if (typeof statusCode === 'number' && statusCode < 500) return { status: statusCode, message: whyOf(error) }
  if (isDebugging()) console.error(error)
  return { status: 500, message: `it could not be read: ${whyOf(error)}` }
}
