import type { Writable } from 'node:stream'
import type { ClusterChange, ClusterView, StreamEvent } from '../contract.ts'

/** A client, as far as a stream needs it: the answer that its events are written to. */
export type Receiver = Pick<Writable, 'write' | 'end' | 'destroy' | 'once' | 'destroyed'>

/** Where the events come from. */
export interface StreamSource {
  /** The cluster as it is now; undefined until it was read for the first time. */
  readonly view: () => ClusterView | undefined
  readonly missing: () => readonly string[]
}

interface Client {
  readonly receiver: Receiver
  /** It has not read what it was sent. */
  isBlocked: boolean
  /** It missed events, and gets the whole view once it reads on. */
  isBehind: boolean
  blockedSince: number
}

const beatMs = 10_000
/** A client that reads nothing for so long is gone: a sleeping laptop, a stopped process. */
const longestBlockMs = 30_000

/**
 * Sends a cluster's view and its changes to the open streams. A client that does not read as fast as events come has at most one event waiting: it
 * misses what comes meanwhile, and gets the whole view afterwards.
 */
export class Streams {
  readonly #source: StreamSource
  readonly #most: number
  readonly #now: () => number
  readonly #clients = new Set<Client>()
  readonly #timer: NodeJS.Timeout
  #missing = ''

  constructor(source: StreamSource, { most, now = Date.now }: { readonly most: number; readonly now?: () => number }) {
    this.#source = source
    this.#most = most
    this.#now = now
    this.#timer = setInterval(() => this.beat(), beatMs).unref()
  }

  get count(): number {
    return this.#clients.size
  }

  get isFull(): boolean {
    return this.#clients.size >= this.#most
  }

  /** Adds a client until it goes, and sends it the view. */
  add(receiver: Receiver): void {
    this.#sendMissing()
    const client: Client = { receiver, isBlocked: false, isBehind: false, blockedSince: 0 }
    this.#clients.add(client)
    receiver.once('close', () => this.#clients.delete(client))
    this.#sendView(client)
    if (!client.isBlocked) this.#write(client, eventText({ event: 'missing', data: this.#source.missing() }))
  }

  /** Sends a change to everyone who has read what came before. */
  change(change: ClusterChange): void {
    if (this.#clients.size > 0) this.#send(eventText({ event: 'change', data: change }))
    this.#sendMissing()
  }

  /** Sends a sign of life, and ends clients that read nothing. */
  beat(): void {
    const now = this.#now()
    for (const { receiver, isBlocked, blockedSince } of this.#clients)
      if (isBlocked && now - blockedSince > longestBlockMs) receiver.destroy()
    this.#sendMissing()
    this.#send(eventText({ event: 'beat', data: { atMs: now } }))
  }

  /** Says why the server stops, and ends all streams. */
  close(message: string): void {
    clearInterval(this.#timer)
    const text = eventText({ event: 'end', data: { message } })
    for (const { receiver } of this.#clients) receiver.end(text)
  }

  #sendMissing(): void {
    const missing = this.#source.missing()
    const key = JSON.stringify(missing)
    if (key === this.#missing) return
    this.#missing = key
    this.#send(eventText({ event: 'missing', data: missing }))
  }

  #send(text: string): void {
    for (const client of this.#clients) {
      if (client.isBlocked) client.isBehind = true
      else this.#write(client, text)
    }
  }

  #sendView(client: Client): void {
    if (client.isBlocked) {
      client.isBehind = true
      return
    }
    const view = this.#source.view()
    if (view !== undefined) this.#write(client, eventText({ event: 'cluster', data: view }))
  }

  #write(client: Client, text: string): void {
    if (client.receiver.destroyed || client.receiver.write(text)) return
    client.isBlocked = true
    client.blockedSince = this.#now()
    client.receiver.once('drain', () => {
      client.isBlocked = false
      if (!client.isBehind) return
      client.isBehind = false
      this.#sendView(client)
    })
  }
}

/** An event as the browser's EventSource reads it. JSON has no line feeds. */
export function eventText({ event, data }: StreamEvent): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
