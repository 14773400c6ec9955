import { pauseFor } from '../../activity-context.ts'
import { ApiError } from './api-error.ts'
import type { RequestGate, Turn } from './request-gate.ts'

/** What of a client's requests waits for what. */
export interface Admission {
  readonly gate: RequestGate
  /** Undefined: the request is sent at once. */
  readonly turnOf: (method: string, path: string) => Turn | undefined
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly signal?: AbortSignal | undefined
}

const never = new AbortController().signal
const mostTries = 3
const busyPauseMs = 1000
const longestPauseMs = 10_000
const lostPauseMs = 200

/**
 * Sends a request in its turn, and again where the server was too busy for it or the connection was lost, if it may be carried out twice: what
 * creates an object is repeated after 429 alone. Without admission it is sent once. Errors: the last one of `send`.
 */
export async function admitted<Answer>(
  admission: Admission | undefined,
  request: Sent,
  send: () => Promise<Answer>,
): Promise<Answer> {
  if (admission === undefined) return send()
  const { method, path, signal } = request
  for (let tries = 1; ; tries++) {
    try {
      const turn = admission.turnOf(method, path)
      if (turn === undefined) return await send()
      const gated = { kind: kindOf(request), turn, signal }
      return await admission.gate.through(gated, send, (error) => isOverload(request, error))
    } catch (error) {
      const pauseMs = tries < mostTries ? pauseBeforeNextMs(request, error) : undefined
      if (pauseMs === undefined || signal?.aborted) throw error
      // Who holds a turn lets others wait.
      if (pauseMs > busyPauseMs && admission.gate.isHeld) throw error
      await pauseFor(pauseMs * (0.5 + Math.random()), signal ?? never)
    }
  }
}

/** Method, resource, and whether it is an object's status or another part of it. */
function kindOf({ method, path }: Sent): string {
  const [, resource = path, name = '', part = ''] =
    /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/?]+)(\/[^/?]+)?(\/[^/?]+)?/.exec(path) ?? []
  return `${method} ${resource}${name === '' ? '' : '/'}${part}`
}

/** 429 of an eviction is the answer of a PodDisruptionBudget. */
const isEviction = ({ path }: Sent) => path.endsWith('/eviction')

function isOverload(request: Sent, error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  return error.code === 503 || error.code === 504 || (error.code === 429 && !isEviction(request))
}

/** Returns how long to wait before the request is sent again; undefined: it is not. */
function pauseBeforeNextMs(request: Sent, error: unknown): number | undefined {
  if (error instanceof ApiError && error.code === 429) {
    if (isEviction(request)) return undefined
    return Math.min(longestPauseMs, (error.retryAfterSeconds ?? 0) * 1000 || busyPauseMs)
  }
  if (request.method === 'POST') return undefined
  if (error instanceof ApiError) return error.code === 503 || error.code === 504 ? busyPauseMs : undefined
  return isLostConnection(error) ? lostPauseMs : undefined
}

function isLostConnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}
