import { AsyncLocalStorage } from 'node:async_hooks'

/** What processes work with. */
export type ServerName = 'kubernetes' | 'temporal' | 'azure'

const current = new AsyncLocalStorage<SimulatedProcess | undefined>()
/** Outside of all that is known of what runs, such as Temporal's activity: a process that is started where another one was killed is no part of it. */
const nowhere = AsyncLocalStorage.snapshot()

/** A process of Joiner in this one. Its timers and answers stop when it is killed, and wait while it is frozen. */
export class SimulatedProcess {
  readonly name: string
  /** By how much the clock of its machine is ahead; negative: behind. */
  skewMs = 0
  #state: 'running' | 'frozen' | 'killed' = 'running'
  /** Those that may still fire. */
  readonly timers = new Set<{ close(): unknown }>()
  #held: (() => void)[] = []
  readonly #ends: (() => void)[] = []
  /** Servers that it is cut off from, and what happens once each is reached again. */
  readonly #cuts = new Map<ServerName, (() => void)[]>()
  readonly #onCut = new Set<() => void>()

  constructor(name: string) {
    this.name = name
  }

  /** The process that the running code belongs to; undefined for a test's own code. */
  static get current(): SimulatedProcess | undefined {
    return current.getStore()
  }

  /** Does something that belongs to no process: the work of a server, say, that a process has asked for. */
  static outside<T>(work: () => T): T {
    return nowhere(work)
  }

  get isKilled(): boolean {
    return this.#state === 'killed'
  }

  get isFrozen(): boolean {
    return this.#state === 'frozen'
  }

  run<T>(work: () => T): T {
    return current.run(this, work)
  }

  /** Does something in the process: never when it was killed, and when it goes on where it is frozen. */
  deliver(what: () => void): void {
    if (this.#state === 'running' && current.getStore() === this) what()
    else if (this.#state === 'running') this.run(what)
    else if (this.#state === 'frozen') this.#held.push(what)
  }

  kill(): void {
    this.#state = 'killed'
    for (const timer of this.timers) timer.close()
    this.#held = []
    // Promises of workflows, which live longer, know the process that they were made in.
    this.#onCut.clear()
    for (const end of this.#ends.splice(0)) end()
  }

  /** What others notice of its end: their connections to it break. */
  whenKilled(end: () => void): void {
    this.#ends.push(end)
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen'
  }

  /** The process goes on, with all that was due in between: a zombie, if its successor works already. */
  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#state = 'running'
    for (const what of this.#held.splice(0)) this.deliver(what)
  }

  isCutFrom(server: ServerName): boolean {
    return this.#cuts.has(server)
  }

  /** From now on no packet goes between the process and a server. */
  cut(server: ServerName): void {
    if (!this.isCutFrom(server)) this.#cuts.set(server, [])
    for (const hear of this.#onCut) hear()
  }

  /** Packets go again. */
  reach(server: ServerName): void {
    const waiting = this.#cuts.get(server) ?? []
    this.#cuts.delete(server)
    for (const what of waiting) what()
  }

  /** Does something as soon as the server is reached, which may be now. */
  whenReached(server: ServerName, what: () => void): void {
    const waiting = this.#cuts.get(server)
    if (waiting === undefined) what()
    else waiting.push(what)
  }

  /** Calls back whenever the process is cut off from the server, and now where it is. Returns what ends it. */
  whenCut(server: ServerName, hear: () => void): () => void {
    const look = () => {
      if (this.isCutFrom(server)) hear()
    }
    this.#onCut.add(look)
    look()
    return () => void this.#onCut.delete(look)
  }

  /** Goes on where the process runs: at once, when it thaws, or never. */
  async untilRunning(): Promise<void> {
    if (this.#state !== 'running') await new Promise<void>((resolve) => this.deliver(resolve))
  }

  /** Waits for an answer as a process does: what comes after a kill never arrives. `then` happens with the answer, before anything follows from it. */
  async answered<T>(answer: Promise<T>, then: () => void = () => {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const arrive = (take: () => void) =>
        this.deliver(() => {
          take()
          then()
        })
      answer.then(
        (value) => arrive(() => resolve(value)),
        (error: unknown) => arrive(() => reject(error)),
      )
    })
  }
}
