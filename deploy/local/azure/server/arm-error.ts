import type { FastifyInstance, FastifyReply } from 'fastify'

/** What some refusals say besides code and message. */
export interface ArmErrorMore {
  readonly target?: string
  readonly details?: readonly { readonly code: string; readonly message: string; readonly target?: string }[]
  readonly additionalInfo?: readonly { readonly type: string; readonly info: unknown }[]
  readonly innererror?: { readonly internalErrorCode: string }
}

/**
 * A refusal as ARM words it: thrown anywhere in a request, answered as `{error: {code, message}}`
 * (https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors).
 */
export class ArmError extends Error {
  readonly status: number
  readonly code: string
  #more: ArmErrorMore = {}
  #isBare = false

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }

  /** Adds what the refusal says besides; returns itself. */
  with(more: ArmErrorMore): this {
    this.#more = more
    return this
  }

  /** Leaves out the field `error` around it, as AKS does in some of its refusals; returns itself. */
  bare(): this {
    this.#isBare = true
    return this
  }

  /** Sends it. ARM repeats the code in a header, which other SDKs read first. */
  send(reply: FastifyReply): FastifyReply {
    const error = { code: this.code, message: this.message, ...this.#more }
    return reply
      .code(this.status)
      .header('x-ms-error-code', this.code)
      .send(this.#isBare ? error : { error })
  }
}

/** The resource is not there, named as ARM names it: type, name and resource group. */
export function resourceNotFound(type: string, name: string, group: string): ArmError {
  return new ArmError(
    404,
    'ResourceNotFound',
    `Resource '${type}/${name}' under resource group '${group}' was not found.`,
  )
}

/** Whatever goes wrong in a handler becomes an ARM error, a body that is no JSON and a path that is not simulated included. */
export function registerArmErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    if (error instanceof ArmError) return error.send(reply)
    if ((error.statusCode ?? 500) < 500)
      return new ArmError(error.statusCode ?? 400, 'InvalidRequestContent', error.message).send(reply)
    console.error(error)
    return new ArmError(500, 'InternalServerError', error.message).send(reply)
  })
  app.setNotFoundHandler((request, reply) =>
    new ArmError(
      404,
      'InvalidResourceType',
      `The simulator has no ${request.method} ${request.url.split('?')[0]}.`,
    ).send(reply),
  )
}
