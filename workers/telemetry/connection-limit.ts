import type { Socket } from 'node:net'

type Countable = Pick<Socket, 'remoteAddress' | 'destroy' | 'once'>

/**
 * Holds connections to a number. When there is one too many, the address with the most loses its oldest: the API server, the kubelet and Prometheus
 * need a few, and who opens hundreds closes his own.
 */
export class ConnectionLimit {
  readonly #most: number
  readonly #byAddress = new Map<string, Set<Countable>>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Counts a new connection until it closes. Returns whether one was closed for it. */
  add(socket: Countable): boolean {
    const address = socket.remoteAddress ?? ''
    const own = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, own)
    own.add(socket)
    this.#count += 1
    socket.once('close', () => this.#remove(address, socket))
    if (this.#count <= this.#most) return false
    const [busiest] = [...this.#byAddress].sort(([, a], [, b]) => b.size - a.size)
    const [oldest] = busiest?.[1] ?? []
    if (busiest === undefined || oldest === undefined) return false
    this.#remove(busiest[0], oldest)
    oldest.destroy()
    return true
  }

  #remove(address: string, socket: Countable): void {
    const own = this.#byAddress.get(address)
    if (own?.delete(socket) !== true) return
    this.#count -= 1
    if (own.size === 0) this.#byAddress.delete(address)
  }
}
