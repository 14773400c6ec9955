import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { World } from './world.ts'

/** A request as it came in. */
export interface ApiCall {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly body: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

interface Waiting {
  readonly call: ApiCall
  /** Carries it out, without telling who asked for it. */
  readonly send: () => Promise<Answer>
  /** Tells who asked for it. */
  readonly reply: (answer: Answer) => void
  /** Lets it through as if it had never waited. */
  readonly pass: () => void
}

/** Requests of a kind that do not reach the API server until the test says so. What is asked again, as after a timeout, waits again. */
export class Hold {
  readonly matches: (call: ApiCall) => boolean
  #waiting: Waiting[] = []
  #isOpen = false

  constructor(matches: (call: ApiCall) => boolean) {
    this.matches = matches
  }

  get isReached(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * Has the API server carry one request out whose answer never comes. A lost optimistic lock is answered, so that Joiner asks again.
   * Errors: the API server refused it.
   */
  async carryOut(): Promise<void> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        continue
      }
      const answer = await next.send()
      if (answer.status < 300) return
      if (answer.status !== 409)
        throw new Error(`${next.call.method} ${next.call.path}: ${answer.status} ${answer.text}`)
      next.reply(answer)
    }
  }

  /** Lets what waits through, and all that comes. */
  release(): void {
    this.#isOpen = true
    for (const { pass } of this.#waiting.splice(0)) pass()
  }

  /** Whether the request waits now. */
  take(waiting: Waiting): boolean {
    if (this.#isOpen || !this.matches(waiting.call)) return false
    this.#waiting.push(waiting)
    return true
  }
}

/** Stands between Joiner and the API server: it can keep requests back, lose answers, and throttle. */
export class ApiProxy {
  readonly #server: Server
  readonly #upstream: { readonly port: number; readonly ca: string; readonly agent: Agent }
  #holds: Hold[] = []
  #throttledUntilMs = 0
  #refused = 0

  private constructor(server: Server, port: number, ca: string) {
    this.#server = server
    this.#upstream = { port, ca, agent: new Agent({ keepAlive: true, ca }) }
    server.on('request', (incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy())
    })
  }

  /** `kubeconfig` is Joiner's own, but that it leads through the proxy. */
  static async start({ cluster, installation }: World): Promise<{ proxy: ApiProxy; kubeconfig: string }> {
    const { caFile, serverCertFile, serverKeyFile } = cluster.pki
    const [ca, cert, key] = await Promise.all(
      [caFile, serverCertFile, serverKeyFile].map((file) => readFile(file, 'utf8')),
    )
    const server = createServer({ cert, key })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new ApiProxy(server, cluster.ports.apiserver, ca ?? '')
    const { port } = server.address() as AddressInfo
    const direct = await readFile(installation.kubeconfig, 'utf8')
    const kubeconfig = join(cluster.stateDir, 'proxied.kubeconfig')
    await writeFile(kubeconfig, direct.replaceAll(cluster.server, `https://127.0.0.1:${port}`), { mode: 0o600 })
    return { proxy, kubeconfig }
  }

  hold(matches: (call: ApiCall) => boolean): Hold {
    const hold = new Hold(matches)
    this.#holds.push(hold)
    return hold
  }

  /** Nothing is held any more. What waited is never carried out, except by `carryOut` of its hold. */
  forget(): void {
    this.#holds = []
  }

  /** Answers everything with 429 for so long. Watches that are open go on. */
  throttle(ms: number): void {
    this.#throttledUntilMs = Date.now() + ms
    this.#refused = 0
  }

  /** Requests that the last throttling has refused. */
  get refused(): number {
    return this.#refused
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
    this.#upstream.agent.destroy()
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (Date.now() < this.#throttledUntilMs) {
      this.#refused += 1
      return refuse(response)
    }
    const waiting: Waiting = {
      call: {
        method: incoming.method ?? '',
        path: (incoming.url ?? '').replace(/\?.*$/, ''),
        body: body.toString('utf8'),
      },
      send: () => this.#send(incoming, body),
      reply: ({ status, headers, text }) => void response.writeHead(status, headers).end(text),
      // A throttling may have begun meanwhile.
      pass: () => (Date.now() < this.#throttledUntilMs ? refuse(response) : this.#pipe(incoming, body, response)),
    }
    if (!this.#holds.some((hold) => hold.take(waiting))) this.#pipe(incoming, body, response)
  }

  #pipe(incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const outgoing = this.#forward(incoming, body, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('error', () => outgoing.destroy())
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy()
    })
  }

  #send(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#forward(incoming, body, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: answer.statusCode ?? 502, headers: answer.headers, text })
        })
        answer.on('error', reject)
      })
      outgoing.on('error', reject)
    })
  }

  #forward({ method, url, headers }: IncomingMessage, body: Buffer, onAnswer: (answer: IncomingMessage) => void) {
    const { port, agent } = this.#upstream
    const options = { host: '127.0.0.1', port, agent, headers, ...(method && { method }), ...(url && { path: url }) }
    const outgoing = request(options, onAnswer)
    outgoing.end(body)
    return outgoing
  }
}

/** As the API server's priority and fairness does. */
function refuse(response: ServerResponse): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'TooManyRequests', code: 429 }
  response
    .writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
    .end(JSON.stringify({ ...status, message: 'Too many requests, please try again later.' }))
}
