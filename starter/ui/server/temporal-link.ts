import type { OpenedTemporal } from '../../cli/operate/temporal-access.ts'
import { CommandError } from '../../document/reported-error.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { grpcCode } from '../../temporal/grpc-code.ts'

type Open = Extract<OpenedTemporal, { readonly kind: 'open' }>

const openEveryMs = 15_000
/** Requests of a lost connection go on trying for a while, and must find it open. */
const retriesMs = 60_000
/** gRPC's DEADLINE_EXCEEDED and UNAVAILABLE. */
const lostCodes: readonly (number | undefined)[] = [4, 14]

/**
 * The connection of a long-lived process to Joiner in Temporal. It is opened at the start and again after it was lost: what it leads through, such as a
 * pod that ports are forwarded to, may have gone for good.
 */
export class TemporalLink {
  readonly #open: () => Promise<OpenedTemporal>
  readonly #timer: NodeJS.Timeout
  readonly #retired = new Map<Open, NodeJS.Timeout>()
  #current: Open | undefined
  #opening: Promise<void> | undefined
  #problem: string | undefined
  #isClosed = false

  constructor(open: () => Promise<OpenedTemporal>) {
    this.#open = open
    this.#timer = setInterval(() => void this.#ensure(), openEveryMs).unref()
  }

  /** Why Temporal is not reached now; undefined: it is, or the first try is under way. */
  get problem(): string | undefined {
    return this.#problem
  }

  get access(): TemporalAccess | undefined {
    return this.#current?.access
  }

  /** Tries to connect. */
  async start(): Promise<void> {
    await this.#ensure()
  }

  /** Does the work. Errors: `CommandError` when Temporal is not reached, when it refuses, or with what the work says. */
  async use<T>(work: (access: TemporalAccess) => Promise<T>): Promise<T> {
    await this.#opening
    const used = this.#current
    if (used === undefined)
      throw new CommandError(this.#problem ?? 'Temporal is not reached yet; ask again in a moment')
    try {
      return await work(used.access)
    } catch (error) {
      if (error instanceof CommandError) throw error
      const message = await used.explain(error)
      if (lostCodes.includes(grpcCode(error))) this.#retire(used, message)
      throw new CommandError(...message.split('\n'))
    }
  }

  /** Closes all connections. One that is being opened is closed once it is open. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    const open = [...this.#retired.keys(), ...(this.#current === undefined ? [] : [this.#current])]
    for (const timer of this.#retired.values()) clearTimeout(timer)
    this.#retired.clear()
    this.#current = undefined
    await Promise.all(open.map((each) => each.close()))
  }

  #ensure(): Promise<void> {
    if (this.#isClosed || this.#current !== undefined) return Promise.resolve()
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #connect(): Promise<void> {
    try {
      const opened = await this.#open()
      if (opened.kind === 'problem') this.#problem = opened.message
      else if (this.#isClosed) await opened.close()
      else {
        this.#problem = undefined
        this.#current = opened
      }
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error)
    }
  }

  #retire(lost: Open, message: string): void {
    if (this.#current !== lost) return
    this.#current = undefined
    this.#problem = message
    const close = () => {
      this.#retired.delete(lost)
      void lost.close()
    }
    this.#retired.set(lost, setTimeout(close, retriesMs).unref())
    void this.#ensure()
  }
}
