import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Answer, type Call, Gate, type Waiting } from './faults/gate.ts'
import type { World } from './world.ts'

/** Stands between Joiner and a server: it sees what is asked for, can keep requests back, lose answers, and throttle. */
export class Proxy extends Gate {
  readonly address: string
  readonly #server: Server
  readonly #upstream: { readonly port: number; readonly ca: string; readonly agent: Agent }

  private constructor(server: Server, port: number, ca: string) {
    super()
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

  override stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
    this.#upstream.agent.destroy()
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (this.refuses()) return refuse(response)
    const call = {
      method: incoming.method ?? '',
      path: (incoming.url ?? '').replace(/\?.*$/, ''),
      body: body.toString('utf8'),
    }
    this.asked(call)
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
      pass: () => (this.isThrottling ? refuse(response) : this.#relay(waiting, incoming, body, response)),
      isAwaited: () => !response.destroyed,
    }
    if (!this.keeps(waiting)) this.#relay(waiting, incoming, body, response)
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
          this.answered(call, whole)
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
