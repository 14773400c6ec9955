import { addressAnnotation, type LeaseDeps, type LeaseObject, readLease, writeLease } from './lease-object.ts'
import { HeldConnection, type Peers } from './peers.ts'

/** A holder that lives has renewed its lease within this time, whatever became of a connection to it. */
const aliveMs = 2500
/** Time between two looks of a process that stands by: connected to the holder, and not. */
const lookMs = { connected: 2000, otherwise: 500 } as const

interface LeaseOptions {
  readonly name: string
  readonly identity: string
  readonly durationSeconds: number
  /** Time after which `tryHold` no longer waits for a request, in milliseconds. Default: as long as the client does. */
  readonly requestMs?: number
  /** With them a process that stands by is connected to the holder, so it need not look often. Default: it looks often. */
  readonly peers?: Peers
  /** Whether it takes the lease of a holder that is gone before the lease runs out. Default: with `peers` it does. */
  readonly takesFromDead?: boolean
  /** A clock that never goes back, in milliseconds. Default: `performance.now`. */
  readonly monotonicMs?: () => number
}

/** Another process, and for how long this one has seen it hold the Lease. */
export interface OtherHolder {
  readonly holder: string
  readonly heldMs: number
}

/** How long a process that stands by may leave the lease alone, in milliseconds, unless the signal fires: then what holds it may be gone. */
export interface NextLook {
  readonly withinMs: number
  readonly sooner?: AbortSignal
}

/** Result of an attempt to hold a lease. */
export type Holding =
  /** Held since now: another process or none held it, or this holder was too late to renew it. */
  | 'taken'
  /** Held without a gap. */
  | 'renewed'
  /** Another process holds it, or was first to take it. */
  | 'other'

/**
 * A coordination.k8s.io Lease, held by name: it decides who bridges, and which planning attempt may write. Its age is the time since this process
 * saw it change, by this process's monotonic clock. Times in the object are never compared with a clock: clocks of two machines may differ.
 */
export class Lease {
  readonly #deps: LeaseDeps
  readonly #name: string
  readonly #identity: string
  readonly #durationSeconds: number
  readonly #requestMs: number | undefined
  readonly #now: () => number
  /** As this process has written it last. */
  #own: LeaseObject | undefined
  /** The last seen version of the object, and when it was first seen. */
  #seen: { readonly version: string; readonly atMs: number } | undefined
  /** The newest version of the object that this process has read or written. */
  #newest = 0n
  #heldUntilMs = Number.NEGATIVE_INFINITY
  #takenFrom = ''
  #tookFromDead = false
  /** Who else held it at the last attempt, and since when this process has seen that. */
  #other: { readonly holder: string; readonly sinceMs: number } | undefined
  /** As the annotation has it. */
  readonly #address: string | undefined
  /** To the process that holds it. */
  readonly #holder: HeldConnection | undefined
  readonly #takesFromDead: boolean

  constructor(deps: LeaseDeps, options: LeaseOptions) {
    this.#deps = deps
    this.#name = options.name
    this.#identity = options.identity
    this.#durationSeconds = options.durationSeconds
    this.#requestMs = options.requestMs
    this.#now = options.monotonicMs ?? (() => performance.now())
    const address = options.peers?.address
    this.#address = address && `${options.identity} ${address}`
    this.#holder = options.peers === undefined ? undefined : new HeldConnection(options.peers.connect)
    this.#takesFromDead = options.takesFromDead ?? true
  }

  /** For how long, in milliseconds, no other process can hold the lease, which `tryHold` held less than its duration ago. */
  get validMs(): number {
    return Math.max(this.#heldUntilMs - this.#now(), 0)
  }

  /** Who held it, when `tryHold` took it; empty for one that was given up. */
  get takenFrom(): string {
    return this.#takenFrom
  }

  /** Whether `tryHold` took it from a process that was gone. Otherwise it ran out, and its holder may only stand still. */
  get tookFromDead(): boolean {
    return this.#tookFromDead
  }

  /** Who kept this process from it at the last attempt; undefined: nobody did. */
  get heldBy(): OtherHolder | undefined {
    return this.#other && { holder: this.#other.holder, heldMs: this.#now() - this.#other.sinceMs }
  }

  /** When to try again, after another held it. */
  get nextLook(): NextLook {
    const broken = this.#holder?.broken
    if (broken === undefined || broken.aborted) return { withinMs: lookMs.otherwise }
    const overMs = (this.#seen?.atMs ?? Number.NEGATIVE_INFINITY) + this.#durationSeconds * 1000
    const withinMs = Math.min(Math.max(overMs - this.#now(), lookMs.otherwise), lookMs.connected)
    return { withinMs, sooner: broken }
  }

  /** Takes the lease from any holder: for a caller that knows itself to be the only rightful holder. */
  async seize(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (await this.#write(await this.#read())) return
      if (attempt >= 5)
        throw new Error(
          `Lease ${this.#deps.namespace}/${this.#name}: lost ${attempt} races for it; another attempt keeps taking it`,
        )
    }
  }

  /**
   * Takes or renews the lease. What this process has written last is renewed without a read, as long as nobody else could take it. A lease of another
   * holder is taken once it has not changed for its duration, or its holder is gone and has not renewed it. A process that sees it for the first time
   * waits that long from then on. A duration longer than this process's own counts as that: anybody may write 68 years into the object. Errors: the
   * API server's, and that it did not answer in time; a lease that is held stays valid meanwhile, and an answer that comes later than that renews it.
   */
  async tryHold(): Promise<Holding> {
    const renewedMs = this.#now()
    if (this.#own !== undefined && this.validMs > 0 && (await this.#inTime(this.#renew(this.#own, renewedMs))))
      return this.#held(renewedMs)
    const { lease, ageMs } = await this.#inTime(this.#observe())
    const { holderIdentity = '', leaseDurationSeconds = this.#durationSeconds } = lease?.spec ?? {}
    const isOthers = holderIdentity !== '' && holderIdentity !== this.#identity
    const isOver = ageMs >= Math.min(leaseDurationSeconds, this.#durationSeconds) * 1000
    // Nobody is there after the lease was read, so a process that comes back meanwhile has written it since, and this write fails.
    const isDead = isOthers && !isOver && (await this.#isGone(lease)) && ageMs >= aliveMs && this.#takesFromDead
    this.#see(isOthers ? holderIdentity : undefined)
    if (isOthers && !isOver && !isDead) return 'other'
    return this.#take(lease, isOthers ? holderIdentity : undefined, isDead)
  }

  async #take(lease: LeaseObject | undefined, from: string | undefined, isDead: boolean): Promise<Holding> {
    const takenMs = this.#now()
    if (!(await this.#inTime(this.#renew(lease, takenMs)))) return (await this.#isOwnLate()) ? 'renewed' : 'other'
    this.#holder?.close()
    this.#tookFromDead = isDead
    return this.#held(takenMs, from)
  }

  #see(holder: string | undefined): void {
    if (this.#other?.holder !== holder) this.#other = holder === undefined ? holder : { holder, sinceMs: this.#now() }
  }

  async #isGone(lease: LeaseObject | undefined): Promise<boolean> {
    const [writer, address] = lease?.metadata.annotations?.[addressAnnotation]?.split(' ') ?? []
    const isHolders = writer === lease?.spec?.holderIdentity
    return (await this.#holder?.isGone(isHolders ? address : undefined)) === true
  }

  /** Writes the lease. While it is held the answer prolongs that whenever it comes: the write has reached the server after `beganMs`, if at all. */
  async #renew(previous: LeaseObject | undefined, beganMs: number): Promise<boolean> {
    const isWritten = await this.#write(previous)
    if (isWritten && this.validMs > 0)
      this.#heldUntilMs = Math.max(this.#heldUntilMs, beganMs + this.#durationSeconds * 1000)
    return isWritten
  }

  /** Whether who was first is a write of this holder's own, for which it had not waited to the end. */
  async #isOwnLate(): Promise<boolean> {
    return this.validMs > 0 && (await this.#inTime(this.isHeld()))
  }

  /** After a write. `beganMs`: when it was sent, as the next holder begins to count when it has reached the server, which is later. */
  #held(beganMs: number, from?: string): Holding {
    const wasValid = this.validMs > 0 && from === undefined
    if (!wasValid) this.#takenFrom = from ?? ''
    this.#other = undefined
    this.#heldUntilMs = beganMs + this.#durationSeconds * 1000
    return wasValid ? 'renewed' : 'taken'
  }

  /** Waits for a request no longer than is set. */
  async #inTime<T>(request: Promise<T>): Promise<T> {
    if (this.#requestMs === undefined) return request
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => reject(new Error(`Lease ${this.#name}: the API server has not answered for ${this.#requestMs} ms`)),
      this.#requestMs,
    )
    try {
      return await Promise.race([request, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Reads the lease, and how long this process has seen it unchanged. */
  async #observe(): Promise<{ readonly lease: LeaseObject | undefined; readonly ageMs: number }> {
    const lease = await this.#read()
    const version = lease?.metadata.resourceVersion ?? ''
    if (this.#seen?.version !== version) this.#seen = { version, atMs: this.#now() }
    return { lease, ageMs: this.#now() - this.#seen.atMs }
  }

  /** Returns whether the lease still names this holder, read from the API server. */
  async isHeld(): Promise<boolean> {
    return (await this.#read())?.spec?.holderIdentity === this.#identity
  }

  /** Returns whether nobody holds the lease since it was given up, read from the API server. */
  async isFree(): Promise<boolean> {
    return (await this.#read())?.spec?.holderIdentity === ''
  }

  /** Gives the lease up, so that the next holder need not wait for it to run out. */
  async release(): Promise<void> {
    this.#heldUntilMs = Number.NEGATIVE_INFINITY
    const lease = await this.#read()
    if (lease?.spec?.holderIdentity === this.#identity) await this.#write(lease, '')
  }

  async #read(): Promise<LeaseObject | undefined> {
    const known = this.#newest
    return this.#inOrder(known, await readLease(this.#deps, this.#name))
  }

  /** Returns whether it was written: nobody was first. */
  async #write(previous: LeaseObject | undefined, holderIdentity = this.#identity): Promise<boolean> {
    this.#own = undefined
    const known = this.#newest
    const holder = { name: this.#name, holderIdentity, address: this.#address, durationSeconds: this.#durationSeconds }
    this.#own = this.#inOrder(known, await writeLease(this.#deps, previous, holder))
    return this.#own !== undefined
  }

  /**
   * Says that the store has gone back where an answer is older than `known`, the version that this process knew when it asked: the API server
   * answers for one object in the order of its versions, but after a restore of etcd.
   */
  #inOrder(known: bigint, lease: LeaseObject | undefined): LeaseObject | undefined {
    const version = BigInt(lease?.metadata.resourceVersion ?? known)
    if (version < known)
      this.#deps.onGoneBack?.(
        `Lease ${this.#deps.namespace}/${this.#name} went back from version ${known} to ${version}, as etcd does when it is restored from a backup`,
      )
    if (version > this.#newest || version < known) this.#newest = version
    return lease
  }
}
