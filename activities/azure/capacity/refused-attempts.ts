/** What a refused attempt leaves to the one that follows it. */
interface Left {
  readonly attempt: number
  readonly token: string
  readonly atMs: number
}

const lifetimeMs = 30_000
const mostKept = 1000

/**
 * What the next attempt at a claim need not find out again, for the attempt after one whose PUT Azure refused at once: there is no VM of the
 * claim's name, since the attempt had looked and its PUT makes a VM or nothing; and the bootstrap token that it minted is unused, since the
 * lifecycle does nothing between two attempts. Kept for a moment in the process that was refused; another process looks for itself.
 */
export class RefusedAttempts {
  readonly #left = new Map<string, Left>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  leave(claimUid: string, attempt: number, token: string): void {
    if (this.#left.size >= mostKept) this.#left.delete(this.#left.keys().next().value ?? '')
    this.#left.set(claimUid, { attempt, token, atMs: this.#now() })
  }

  /** What the attempt just before this one left, for this one use. */
  take(claimUid: string, attempt: number): { readonly token: string } | undefined {
    const left = this.#left.get(claimUid)
    this.#left.delete(claimUid)
    const isFresh = left !== undefined && left.attempt === attempt - 1 && this.#now() - left.atMs < lifetimeMs
    return isFresh ? { token: left.token } : undefined
  }
}
