import { computed, signal } from '@preact/signals'
import type { Session, StreamEvent } from '../../contract.ts'
import { getJson, Refused } from './api.ts'
import { missing, takeChange, takeCluster } from './cluster.ts'

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** What is shown is old. `atMs`: when it is tried again. */
  | { readonly kind: 'lost'; readonly atMs: number; readonly message: string }
  /** Only a person can help. */
  | { readonly kind: 'ended'; readonly message: string }

export const connection = signal<Connection>({ kind: 'connecting' })

type DataOf = { readonly [E in StreamEvent as E['event']]: E['data'] }

/** The server sends a beat each 10 s. */
const silenceMs = 25_000
const longestWaitMs = 10_000

/** Follows the cluster as long as the page is open: connects again after each loss. `onReach`: what the server can reach may have changed. */
export function follow(onReach: () => void): void {
  new Follower(onReach).connect()
}

class Follower {
  #failures = 0
  #heardMs = 0
  #source: EventSource | undefined
  #watchdog: ReturnType<typeof setInterval> | undefined
  readonly #onReach: () => void

  constructor(onReach: () => void) {
    this.#onReach = onReach
  }

  connect(): void {
    const source = new EventSource('api/stream')
    this.#source = source
    this.#heardMs = Date.now()
    this.#watchdog = setInterval(() => {
      if (Date.now() - this.#heardMs > silenceMs) this.#lose('The server is silent.')
    }, 5000)
    const on = <E extends keyof DataOf>(event: E, take: (data: DataOf[E]) => void) =>
      source.addEventListener(event, (message: MessageEvent<string>) => {
        this.#heardMs = Date.now()
        take(JSON.parse(message.data) as DataOf[E])
      })
    on('cluster', (view) => {
      this.#failures = 0
      takeCluster(view)
      connection.value = { kind: 'live' }
    })
    on('change', takeChange)
    on('missing', (texts) => {
      missing.value = texts
      this.#onReach()
    })
    on('beat', () => undefined)
    on('end', ({ message }) => this.#lose(message))
    source.addEventListener('error', () => this.#lose('The connection to joiner ui is lost.'))
  }

  #lose(message: string): void {
    this.#source?.close()
    clearInterval(this.#watchdog)
    const waitMs = Math.min(longestWaitMs, 1000 * 2 ** this.#failures)
    this.#failures += 1
    connection.value = { kind: 'lost', atMs: Date.now() + waitMs, message }
    setTimeout(() => void this.#again(), waitMs)
  }

  /** An EventSource does not say why it fails, a plain request does. */
  async #again(): Promise<void> {
    try {
      await getJson('api/session')
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        connection.value = { kind: 'ended', message: error.message }
        return
      }
    }
    this.connect()
  }
}

export const session = signal<Session | undefined>(undefined)

/** Whether the page offers actions: it knows that it may. */
export const canAct = computed(() => session.value?.isReadOnly === false)

/** Asks who this is, and what may be done. Without a first answer there is nothing to show but the reason. */
export async function readSession(): Promise<boolean> {
  try {
    session.value = await getJson<Session>('api/session')
    return true
  } catch (error) {
    if (session.value !== undefined) return true
    connection.value = { kind: 'ended', message: error instanceof Error ? error.message : String(error) }
    return false
  }
}
