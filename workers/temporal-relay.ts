import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { NativeConnectionOptions } from '@temporalio/worker'
import { hostAndPort } from '../starter/temporal/handshake.ts'

const dialMs = 5000

/** Opens a connection to host:port. */
export type Dial = (address: string) => Socket

const dialTcp: Dial = (address) => connect({ ...hostAndPort(address), noDelay: true })

/**
 * HTTP CONNECT proxy of this process alone, through which a native connection reaches Temporal. The native library waits for a connection as long as the
 * system repeats SYN, more than two minutes, and keeps the workers' polls on a connection whose server is gone. Here a dial has a limit, and `cut` ends
 * the connections that are open: the library connects again, and workers and their activities go on. TLS is between the library and the server.
 */
export class TemporalRelay {
  readonly #server: Server
  readonly #dial: Dial
  readonly #dialMs: number
  readonly #credentials = { username: 'joiner', password: randomBytes(32).toString('hex') }
  readonly #open = new Set<Duplex>()

  private constructor(dial: Dial, limitMs: number) {
    this.#dial = dial
    this.#dialMs = limitMs
    this.#server = createServer((_request, response) => response.writeHead(405).end())
    this.#server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) =>
      this.#serve(request, client, head),
    )
    this.#server.on('connection', (socket: Socket) => socket.setNoDelay(true))
  }

  static async open(dial: Dial = dialTcp, limitMs: number = dialMs): Promise<TemporalRelay> {
    const relay = new TemporalRelay(dial, limitMs)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    relay.#server.unref()
    return relay
  }

  /** What a native connection needs to go through here. */
  get proxy(): NonNullable<NativeConnectionOptions['proxy']> {
    const { port } = this.#server.address() as AddressInfo
    return { type: 'http-connect', targetHost: `127.0.0.1:${port}`, basicAuth: this.#credentials }
  }

  /** Ends the connections that are open now. */
  cut(): void {
    for (const each of this.#open) each.destroy()
  }

  /** Accepts no more. What is open stays until its client ends it: polls that are under way may still bring a task. */
  retire(): void {
    this.#server.close()
  }

  #serve(request: IncomingMessage, client: Duplex, head: Buffer): void {
    client.on('error', () => client.destroy())
    if (!this.#isOurs(request.headers['proxy-authorization'] ?? '')) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const server = this.#dial(request.url ?? '')
    const late = setTimeout(() => server.destroy(), this.#dialMs)
    this.#track(client, server)
    server.on('error', () => server.destroy())
    server.once('connect', () => {
      clearTimeout(late)
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      server.write(head)
      server.pipe(client)
      client.pipe(server)
    })
    server.once('close', () => clearTimeout(late))
  }

  #isOurs(header: string): boolean {
    const { username, password } = this.#credentials
    const expected = Buffer.from(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
    const given = Buffer.from(header)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  /** Each side ends with the other: a pipe hands on that one has ended, and not that it was lost. */
  #track(client: Duplex, server: Duplex): void {
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(one)
      one.once('close', () => {
        this.#open.delete(one)
        if (!one.readableEnded) other.destroy()
      })
    }
  }
}
