import { once } from 'node:events'
import { connect as openSocket } from 'node:net'

/** How processes of an installation reach one another. */
export interface Peers {
  /** Where others reach this process, as host:port; undefined: they are not told. */
  readonly address: string | undefined
  /** Connects to another. Errors: the code is ECONNREFUSED where its machine answers and nobody listens. */
  readonly connect: (address: string) => Promise<PeerConnection>
}

export interface PeerConnection {
  /** Fires when it breaks, or is closed. */
  readonly broken: AbortSignal
  close(): void
}

/** How long a process that stands by waits for a connection, which is a look at the Lease later. */
const connectMs = 500

/** A connection to the health port of another process, on which nothing is sent. */
export async function connectToPeer(address: string): Promise<PeerConnection> {
  const at = address.lastIndexOf(':')
  const host = address.slice(0, at).replace(/^\[|\]$/g, '')
  const socket = openSocket({ host, port: Number(address.slice(at + 1)) })
  // Neither keeps the process from its end, nor is its breaking an error.
  socket.unref().on('error', () => {})
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) })
  } catch (error) {
    socket.destroy()
    throw error
  }
  const broken = new AbortController()
  // It hears of an end only while it reads.
  socket
    .resume()
    .once('end', () => socket.destroy())
    .once('close', () => broken.abort())
  return { broken: broken.signal, close: () => void socket.destroy() }
}

/**
 * A connection that one process holds to another, whose end it is to notice sooner than a Lease runs out. A connection that breaks, and is then refused,
 * proves the end: its kernel closes what a process had open, and answers for it no more. Silence proves nothing: a process may stand still, and a
 * network be cut.
 */
export class HeldConnection {
  readonly #connect: Peers['connect']
  #address: string | undefined
  /** The last one to this address, broken or not. */
  #connection: PeerConnection | undefined

  constructor(connect: Peers['connect']) {
    this.#connect = connect
  }

  /** Fires when the last connection breaks; undefined: there was none. */
  get broken(): AbortSignal | undefined {
    return this.#connection?.broken
  }

  /** Whether no process is at this address now, where one was. It connects, or connects again. */
  async isGone(address: string | undefined): Promise<boolean> {
    if (address !== this.#address) this.close()
    this.#address = address
    if (address === undefined || this.broken?.aborted === false) return false
    try {
      this.#connection = await this.#connect(address)
      return false
    } catch (error) {
      return this.#connection !== undefined && (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
    }
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}
