import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { gapLines } from '../../starter/picture/gaps.ts'
import type { ActionRequest, ClusterView, Session, StreamEvent } from '../../starter/ui/contract.ts'
import { eventText } from '../../starter/ui/server/streams.ts'

/** What the server answers; a test changes it while the page is open. */
export interface FakeAnswers {
  session: Session
  cluster: ClusterView
  /** By path without the leading slash, such as `api/cost`. A path without an answer is 404. */
  readonly answers: Map<string, unknown>
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Speaks the contract of `joiner ui` with data that a test makes up: for what no local cluster can be, such as 1,000 nodes or a lost server. */
export class FakeUi implements AsyncDisposable {
  readonly asked: ActionRequest[] = []
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #streams = new Set<ServerResponse>()
  readonly #dist: string
  readonly #answers: FakeAnswers

  constructor(dist: string, answers: FakeAnswers) {
    this.#dist = dist
    this.#answers = answers
  }

  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    return this.url
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** Tells each open page. */
  send(event: StreamEvent): void {
    for (const stream of this.#streams) stream.write(eventText(event))
  }

  /** Cuts all streams, as a lost connection does. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy()
    this.#streams.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname.slice(1)
    if (path === 'api/stream') return this.#stream(response)
    if (path === 'api/session') return json(response, this.#answers.session)
    if (path === 'api/cluster') return json(response, this.#answers.cluster)
    if (path === 'api/actions') {
      const action = JSON.parse(await bodyOf(request)) as ActionRequest
      this.asked.push(action)
      return json(response, { isDone: true, message: `did ${action.kind}` })
    }
    const answer = this.#answers.answers.get(path)
    if (answer !== undefined) return json(response, answer)
    if (path.startsWith('api/')) return json(response, { message: `${path}: nothing is known of it` }, 404)
    return this.#file(path === '' ? 'index.html' : path, response)
  }

  #stream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const { cluster } = this.#answers
    response.write(
      eventText({ event: 'cluster', data: cluster }) + eventText({ event: 'missing', data: gapLines(cluster) }),
    )
    this.#streams.add(response)
    response.once('close', () => this.#streams.delete(response))
  }

  async #file(path: string, response: ServerResponse): Promise<void> {
    const content = await readFile(join(this.#dist, path)).catch(() => undefined)
    if (content === undefined) return json(response, { message: `${path}: no such file` }, 404)
    response
      .writeHead(200, {
        'content-type': types[extname(path)] ?? 'application/octet-stream',
        'content-security-policy': "default-src 'self'",
      })
      .end(content)
  }
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}
