import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A Service before one server, on a network that drops what goes to an address that is gone: `lose` silences all connections for good, those that are
 * open and those that are made until `serve`.
 */
export class BlackHole {
  readonly address: string
  readonly #server: Server
  readonly #port: number
  readonly #open = new Set<Socket>()
  readonly #lost = new WeakSet<Socket>()
  #isServed = true

  private constructor(server: Server, port: number) {
    this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#port = port
    server.on('connection', (client) => this.#relay(client))
  }

  static async before(port: number): Promise<BlackHole> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new BlackHole(server, port)
  }

  lose(): void {
    this.#isServed = false
    for (const client of this.#open) this.#lost.add(client)
  }

  /** New connections reach the server again, as they would reach the pod after the one that is gone. */
  serve(): void {
    this.#isServed = true
  }

  stop(): void {
    this.#server.close()
    for (const client of this.#open) client.destroy()
  }

  #relay(client: Socket): void {
    this.#open.add(client)
    client.on('error', () => {})
    client.once('close', () => this.#open.delete(client))
    if (!this.#isServed) {
      client.resume()
      return
    }
    const server = connect(this.#port, '127.0.0.1')
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (data) => this.#lost.has(client) || to.write(data))
      from.once('close', () => this.#lost.has(client) || to.destroy())
    }
    server.on('error', () => {})
    pass(client, server)
    pass(server, client)
    client.once('close', () => server.destroy())
  }
}
