import { AsyncLocalStorage } from 'node:async_hooks'
import type { ConnectionLike } from '@temporalio/client'

/** Longest wait for the answer to a call. */
export const callMs = 15_000
/** The same for calls in which Temporal itself waits, for results of workflows and updates: it answers within a minute, and is asked again. */
export const waitMs = 75_000
/** Search attributes may have to be added to a database first. */
const slowMs = 60_000

const waits: Readonly<Record<string, number>> = {
  updateWorkflowExecution: waitMs,
  pollWorkflowExecutionUpdate: waitMs,
  executeMultiOperation: waitMs,
  addSearchAttributes: slowMs,
}
const services: ReadonlySet<PropertyKey> = new Set(['workflowService', 'operatorService', 'healthService'])

type Method = (request: { readonly waitNewEvent?: boolean }, ...others: unknown[]) => unknown

/**
 * Returns the connection with a deadline for each call of its services: without one a call waits for ever on a server that accepts it and never
 * answers. A deadline that a caller sets by `withDeadline` stands instead. `current` returns what is behind it now.
 */
export function withDeadlines<C extends ConnectionLike>(current: () => C): C {
  const ownDeadline = new AsyncLocalStorage<true>()
  const withDeadline: ConnectionLike['withDeadline'] = (deadline, work) =>
    ownDeadline.run(true, () => current().withDeadline(deadline, work))
  // The target holds nothing: what a connection says of itself may not be changed in a proxy of it.
  return new Proxy({} as C, {
    get: (_target, property) => {
      if (property === 'withDeadline') return withDeadline
      const connection = current()
      const value: unknown = Reflect.get(connection, property, connection)
      if (services.has(property) && typeof value === 'object' && value !== null)
        return limited(value, connection, () => ownDeadline.getStore() === true)
      return typeof value === 'function' ? value.bind(connection) : value
    },
  })
}

function limited(service: object, connection: ConnectionLike, hasDeadline: () => boolean): object {
  return new Proxy(service, {
    get: (_target, property) => {
      const value: unknown = Reflect.get(service, property, service)
      if (typeof value !== 'function') return value
      const method = value.bind(service) as Method
      return (...[request, ...others]: Parameters<Method>) => {
        if (hasDeadline()) return method(request, ...others)
        const limitMs = request?.waitNewEvent === true ? waitMs : (waits[String(property)] ?? callMs)
        return connection.withDeadline(Date.now() + limitMs, async () => method(request, ...others))
      }
    },
  })
}
