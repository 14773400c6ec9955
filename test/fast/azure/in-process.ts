import { PassThrough, Readable } from 'node:stream'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { appOptions } from '../../../deploy/local/azure/simulator.ts'

/** A request to an app in this process. */
export interface Asked {
  readonly method: string
  /** Path with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The answer stops in the middle of its body: this is how it would be read on. */
  readonly stalled?: Readable
}

/** A connection that ended without an answer. */
export class ConnectionLost extends Error {
  constructor() {
    super('socket hang up')
  }
}

interface InHand {
  readonly asked: Asked
  readonly lose: () => void
  stalledAt?: string
}

const keyHeader = 'x-in-hand'

/**
 * An app whose handlers are called in this process. An answer comes by promises and ticks alone, neither by timers nor by immediates, so that requests
 * are answered in the order in which they were sent and no time passes over them.
 */
export class InProcess {
  readonly app: FastifyInstance = fastify(appOptions)
  readonly #inHand = new Map<string, InHand>()
  #last = 0

  /** `register` adds what the app does. */
  constructor(register: (app: FastifyInstance) => void) {
    this.app.addHook('onRequest', (request, _reply, done) => {
      const { lose } = this.#of(request)
      // A handler loses its answer by this.
      Object.assign(request.raw.socket, { destroy: lose })
      done()
    })
    // A body is given past the connection, whose stream would come piece by piece.
    this.app.addHook('preValidation', (request, _reply, done) => {
      const { body, headers } = this.#of(request).asked
      try {
        if (body !== '') request.body = parsed(body, headers['content-type'])
        done()
      } catch (error) {
        done(Object.assign(error as Error, { statusCode: 400 }))
      }
    })
    register(this.app)
    this.app.addHook('onSend', (request, _reply, payload, done) => {
      if (!(payload instanceof Readable)) return done(null, payload)
      const piece = String(payload.read() ?? '')
      this.#of(request).stalledAt = piece
      done(null, piece)
    })
  }

  /** Errors: `ConnectionLost`. */
  async send(asked: Asked): Promise<Answered> {
    this.#last += 1
    const key = String(this.#last)
    const { method, path, headers } = asked
    const { 'content-type': _type, 'content-length': _length, ...others } = headers
    const lost = Promise.withResolvers<never>()
    const one: InHand = { asked, lose: () => lost.reject(new ConnectionLost()) }
    this.#inHand.set(key, one)
    try {
      const answer = await Promise.race([
        this.app.inject({ method: method as 'GET', url: path, headers: { ...others, [keyHeader]: key } }),
        lost.promise,
      ])
      const texts = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(texts) as Record<string, string>,
        body: answer.body,
        ...(one.stalledAt === undefined ? {} : { stalled: endless(one.stalledAt) }),
      }
    } finally {
      this.#inHand.delete(key)
    }
  }

  #of({ headers }: FastifyRequest): InHand {
    const found = this.#inHand.get(String(headers[keyHeader]))
    if (found === undefined) throw new Error('a request that was not sent here')
    return found
  }
}

function parsed(body: string, contentType = ''): unknown {
  return contentType.startsWith('application/x-www-form-urlencoded')
    ? Object.fromEntries(new URLSearchParams(body))
    : JSON.parse(body)
}

/** A stream that gives a text, and then waits for ever. */
function endless(text: string): Readable {
  const stream = new PassThrough()
  stream.write(text)
  return stream
}
