import type { Socket } from 'node:net'
import type { WebhookLimits } from './limits.ts'

interface InFlight {
  requests: number
  bytes: number
}

type RequestLimits = Pick<WebhookLimits, 'requests' | 'requestsOfAddress' | 'bytes' | 'bytesOfAddress'>

/** Counts the requests that are being read or answered, together and by address, so that one client leaves room for the others. */
export class Admission {
  readonly #limits: RequestLimits
  readonly #all: InFlight = { requests: 0, bytes: 0 }
  readonly #byAddress = new Map<string, InFlight>()

  constructor(limits: RequestLimits) {
    this.#limits = limits
  }

  /** Admits a request of so many bytes. Returns what ends it, which may be called more than once; undefined: there is no room now. */
  enter(address: string, bytes: number): (() => void) | undefined {
    const own = this.#byAddress.get(address) ?? { requests: 0, bytes: 0 }
    const { requests, requestsOfAddress, bytes: mostBytes, bytesOfAddress } = this.#limits
    if (!hasRoom(this.#all, requests, mostBytes, bytes) || !hasRoom(own, requestsOfAddress, bytesOfAddress, bytes))
      return undefined
    this.#byAddress.set(address, own)
    const counts = [this.#all, own]
    for (const count of counts) {
      count.requests += 1
      count.bytes += bytes
    }
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      for (const count of counts) {
        count.requests -= 1
        count.bytes -= bytes
      }
      if (own.requests === 0) this.#byAddress.delete(address)
    }
  }
}

function hasRoom({ requests, bytes }: InFlight, mostRequests: number, mostBytes: number, more: number): boolean {
  return requests < mostRequests && bytes + more <= mostBytes
}

/** Sockets, as far as they are counted. */
type Countable = Pick<Socket, 'remoteAddress' | 'destroy' | 'once'>

/**
 * Holds connections to a number. When there is one too many, the address with the most loses its oldest: the API server needs a few, and who opens
 * hundreds closes his own.
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
