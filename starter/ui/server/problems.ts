import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { isDebugging } from '../../cli/shared/boundary.ts'
import { ReportedError } from '../../document/reported-error.ts'
import { LackingError, whyOf } from '../../picture/missing.ts'

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
