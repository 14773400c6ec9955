import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { patient } from './runner/patience.ts'
import type { World } from './world.ts'

/** A request as it came in. */
export interface Call {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

interface Waiting {
  readonly call: Call
  /** Carries it out, without telling who asked for it. */
  readonly send: () => Promise<Answer>
  /** Reports who asked for it. Resolves when the connection has taken the answer. */
  readonly reply: (answer: Answer) => Promise<void>
  /** Lets it through as if it had never waited. */
  readonly pass: () => void
  /** Whether who asked still waits for the answer. */
  readonly isAwaited: () => boolean
}

/** What a proxy reports requests. */
export interface Listener {
  /** Before anything is done with it. */
  readonly asked?: (call: Call) => void
  /** After the server has answered something that is no GET. */
  readonly answered?: (call: Call, answer: Answer) => void
}

/** Requests of a kind that do not reach the API server until the test says so. What is asked again, as after a timeout, waits again. */
export class Hold {
  readonly matches: (call: Call) => boolean
  #waiting: Waiting[] = []
  #isOpen = false

  constructor(matches: (call: Call) => boolean) {
    this.matches = matches
  }

  get isReached(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * Has the server carry one request out whose answer never comes, unless the function that is returned tells it after all. A lost optimistic
   * lock is answered, so that Joiner asks again. Errors: the server refused it; no request waits within `ms`.
   */
  async carryOut(ms = patient(60_000)): Promise<() => Promise<void>> {
    const deadline = Date.now() + ms
    let conflicts = 0
    for (;;) {
      const awaited = this.#waiting.findIndex(({ isAwaited }) => isAwaited())
      const [next] = this.#waiting.splice(Math.max(awaited, 0), 1)
      if (next === undefined) {
        if (Date.now() > deadline)
          throw new Error(
            `no request to carry out within ${ms / 1000} s, after ${conflicts} optimistic locks were lost`,
          )
        await new Promise((resolve) => setTimeout(resolve, 20))
        continue
      }
      const answer = await next.send()
      // What is to be deleted may be gone already.
      if (answer.status < 300 || answer.status === 404) return () => next.reply(answer)
      if (answer.status !== 409)
        throw new Error(`${next.call.method} ${next.call.path}: ${answer.status} ${answer.text}`)
      conflicts += 1
      await next.reply(answer)
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

/** Stands between Joiner and a server: it sees what is asked for, can keep requests back, lose answers, and throttle. */
export class Proxy {
  readonly address: string
  readonly #server: Server
  readonly #upstream: { readonly port: number; readonly ca: string; readonly agent: Agent }
  #holds: Hold[] = []
  #listener: Listener = {}
  #throttledUntilMs = 0
  #refused = 0

  private constructor(server: Server, port: number, ca: string) {
    this.address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#upstream = { port, ca, agent: new Agent({ keepAlive: true, ca }) }
    server.on('request', (incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy())
    })
  }

  /** A proxy before the API server, and the kubeconfig of Joiner's ServiceAccount that leads through it. */
  static async beforeApiServer({
    cluster,
    installation,
  }: World): Promise<{ readonly proxy: Proxy; readonly kubeconfig: string }> {
    const proxy = await Proxy.#start(cluster, cluster.ports.apiserver)
    const direct = await readFile(installation.kubeconfig, 'utf8')
    const kubeconfig = join(cluster.stateDir, 'proxied.kubeconfig')
    await writeFile(kubeconfig, direct.replaceAll(cluster.server, proxy.address), { mode: 0o600 })
    return { proxy, kubeconfig }
  }

  /** A proxy before the simulated Resource Manager. */
  static beforeAzure({ cluster }: World): Promise<Proxy> {
    return Proxy.#start(cluster, cluster.ports.azure)
  }

  static async #start({ pki }: World['cluster'], port: number): Promise<Proxy> {
    const [ca, cert, key] = await Promise.all(
      [pki.caFile, pki.serverCertFile, pki.serverKeyFile].map((file) => readFile(file, 'utf8')),
    )
    const server = createServer({ cert, key })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Proxy(server, port, ca ?? '')
  }

  listen(listener: Listener): void {
    this.#listener = listener
  }

  hold(matches: (call: Call) => boolean): Hold {
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
    const call = {
      method: incoming.method ?? '',
      path: (incoming.url ?? '').replace(/\?.*$/, ''),
      body: body.toString('utf8'),
    }
    this.#listener.asked?.(call)
    const waiting: Waiting = {
      call,
      send: () => this.#send(incoming, body, call),
      reply: ({ status, headers, text }) =>
        new Promise((resolve) => {
          // Who asked may have given up.
          if (response.destroyed) return resolve()
          response
            .writeHead(status, headers)
            .once('close', resolve)
            .end(text, () => resolve())
        }),
      // A throttling may have begun meanwhile.
      pass: () =>
        Date.now() < this.#throttledUntilMs ? refuse(response) : this.#relay(waiting, incoming, body, response),
      isAwaited: () => !response.destroyed,
    }
    if (!this.#holds.some((hold) => hold.take(waiting))) this.#relay(waiting, incoming, body, response)
  }

  #relay(waiting: Waiting, incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
    if (waiting.call.method === 'GET') this.#pipe(incoming, body, response)
    else waiting.send().then(waiting.reply, () => response.destroy())
  }

  /** Watches have no end, so they are handed on as they come. */
  #pipe(incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const outgoing = this.#forward(incoming, body, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      // A pipe does not hand on that the server went away in the middle.
      answer.once('close', () => {
        if (!answer.complete) response.destroy()
      })
    })
    outgoing.on('error', () => response.destroy())
    response.on('error', () => outgoing.destroy())
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy()
    })
  }

  #send(incoming: IncomingMessage, body: Buffer, call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#forward(incoming, body, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const whole = { status: answer.statusCode ?? 502, headers: answer.headers, text }
          this.#listener.answered?.(call, whole)
          resolve(whole)
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
