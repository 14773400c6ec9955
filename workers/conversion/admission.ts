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
    const isRoomForAll = hasRoom(this.#all, { requests, bytes: mostBytes }, bytes)
    if (!isRoomForAll || !hasRoom(own, { requests: requestsOfAddress, bytes: bytesOfAddress }, bytes)) return undefined
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

function hasRoom({ requests, bytes }: InFlight, most: Readonly<InFlight>, more: number): boolean {
  return requests < most.requests && bytes + more <= most.bytes
}
