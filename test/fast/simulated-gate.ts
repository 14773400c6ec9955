import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { type Answer, type Call, Gate } from '../faults/gate.ts'

export interface GateOptions {
  /** How what the server did would have been answered over a connection. */
  readonly answerOf: (outcome: PromiseSettledResult<unknown>) => Answer
  /** After which a client gives a request up that has no answer. Default: it sees to that by itself. */
  readonly timeoutMs?: number
}

/** What stands before a server in this process, at its end of the network. */
export class SimulatedGate extends Gate {
  readonly #options: GateOptions

  constructor(options: GateOptions) {
    super()
    this.#options = options
  }

  /** Passes a request on to its effect, now or later. Errors: what the server throws; it throttles; no answer came in time. */
  async pass<T>(callOf: () => Call, effect: () => T | Promise<T>): Promise<T> {
    if (this.isOpen) return effect()
    if (this.refuses()) throw tooManyRequests()
    const call = callOf()
    this.asked(call)
    let outcome: PromiseSettledResult<T> | undefined
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const send = async () => {
      ;[outcome] = await Promise.allSettled([Promise.resolve().then(effect)])
      const answer = this.#options.answerOf(outcome)
      if (call.method !== 'GET') this.answered(call, answer)
      return answer
    }
    const reply = async () => {
      if (outcome?.status === 'fulfilled') resolve(outcome.value)
      else reject(outcome?.reason)
    }
    const pass = () => (this.isThrottling ? reject(tooManyRequests()) : void send().then(reply, reject))
    let isAwaited = true
    if (!this.keeps({ call, send, reply, pass, isAwaited: () => isAwaited })) pass()
    const { timeoutMs } = this.#options
    if (timeoutMs === undefined) return promise
    const timer = setTimeout(() => {
      isAwaited = false
      reject(new Error(`${call.method} ${call.path}: no answer in ${timeoutMs / 1000} s`))
    }, timeoutMs)
    return promise.finally(() => clearTimeout(timer))
  }
}

/** As the API server's priority and fairness does. */
function tooManyRequests(): ApiError {
  return Object.assign(new ApiError(429, 'TooManyRequests', 'Too many requests, please try again later.'), {
    retryAfterSeconds: 1,
  })
}

/** A gate before a cluster in memory. */
export const gateOfKubernetes = () =>
  new SimulatedGate({
    // The product's client waits for so long.
    timeoutMs: 10_000,
    answerOf: (outcome) => {
      if (outcome.status === 'fulfilled') return { status: 200, headers: {}, text: JSON.stringify(outcome.value) }
      const error: unknown = outcome.reason
      if (!(error instanceof ApiError)) throw error
      return { status: error.code, headers: {}, text: error.message }
    },
  })

/** A client whose requests go through a gate. Watches do not: what is held and throttled are requests. */
export function gatedClient(client: KubernetesClient, gate: SimulatedGate): KubernetesClient {
  const gated: KubernetesClient = new Proxy(client, {
    get: (target, method) => {
      const call: unknown = Reflect.get(target, method)
      if (method === 'withOwnConnections') return () => gated
      const name = String(method)
      if (typeof call !== 'function' || !(name in requests)) return call
      const requested = requests[name as keyof typeof requests]
      return (...args: unknown[]) =>
        gate.pass(
          () => requested(...(args as [string, never, never])),
          () => Reflect.apply(call, target, args) as unknown,
        )
    },
  })
  return gated
}

const request = (method: string, path: string, body?: unknown): Call => ({
  method,
  path: path.replace(/\?.*$/, ''),
  body: body === undefined ? '' : JSON.stringify(body),
})

/** What the client's functions send. */
const requests = {
  get: (path: string) => request('GET', path),
  list: (path: string) => request('GET', path),
  create: (path: string, body: unknown) => request('POST', path, body),
  mergePatch: (path: string, body: unknown) => request('PATCH', path, body),
  jsonPatch: (path: string, body: unknown) => request('PATCH', path, body),
  patchStatus: (path: string, body: unknown) => request('PATCH', `${path}/status`, body),
  delete: (path: string, preconditions?: unknown) => request('DELETE', path, { preconditions }),
  evict: (namespace: string, name: string, uid: string) =>
    request('POST', `${resourcePath('pods', name, namespace)}/eviction`, { preconditions: { uid } }),
}
