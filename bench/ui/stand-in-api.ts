import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '../../activities/kubernetes/client/answers.ts'

/** An API server of HTTP alone that lists and watches the objects that it is given, by the plural of their kind. */
export class StandInApi {
  readonly #lists: ReadonlyMap<string, readonly Json[]>
  readonly #watches = new Map<string, ServerResponse>()
  readonly #server: Server
  #version = 1000

  private constructor(lists: ReadonlyMap<string, readonly Json[]>) {
    this.#lists = lists
    this.#server = createServer((asked, answer) => this.#answer(asked, answer))
  }

  static async start(lists: ReadonlyMap<string, readonly Json[]>): Promise<StandInApi> {
    const api = new StandInApi(lists)
    await new Promise<void>((listening) => api.#server.listen(0, '127.0.0.1', listening))
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Reports a changed object to whoever watches its kind. */
  change(resource: string, object: Json): void {
    this.#version += 1
    const metadata = { ...(object['metadata'] as Json), resourceVersion: String(this.#version) }
    this.#watches.get(resource)?.write(`${JSON.stringify({ type: 'MODIFIED', object: { ...object, metadata } })}\n`)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #answer({ url = '' }: IncomingMessage, answer: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, 'http://stand-in')
    const resource = pathname.split('/').at(-1) ?? ''
    const list = this.#lists.get(resource)
    if (list === undefined) {
      answer.writeHead(404, { 'content-type': 'application/json' })
      answer.end(JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: url }))
      return
    }
    answer.writeHead(200, { 'content-type': 'application/json' })
    if (searchParams.get('watch') !== null) {
      this.#watches.set(resource, answer)
      answer.flushHeaders()
      return
    }
    const from = Number(searchParams.get('continue') ?? 0)
    const to = from + Number(searchParams.get('limit') ?? list.length)
    const metadata = { resourceVersion: '1000', ...(to < list.length ? { continue: String(to) } : {}) }
    answer.end(JSON.stringify({ metadata, items: list.slice(from, to) }))
  }
}
