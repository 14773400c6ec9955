import type { BootstrapToken } from '../launch/bootstrap-token.ts'

/** Results of a refused attempt for the next one. */
interface Left {
  readonly attempt: number
  /** Absent: what is made needs none. */
  readonly token: BootstrapToken | undefined
  readonly atMs: number
}

const lifetimeMs = 30_000
const mostKept = 1000

/**
 * Results for the attempt after one whose PUT Azure refused at once. There is no VM of the claim's name, since the attempt had checked and its
 * PUT makes a VM or nothing. The bootstrap token that it minted is unused, since the lifecycle does nothing between two attempts. Kept for a
 * moment in the process that was refused; another process checks for itself.
 */
export class RefusedAttempts {
  readonly #left = new Map<string, Left>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  leave(claimUid: string, attempt: number, token: BootstrapToken | undefined): void {
    if (this.#left.size >= mostKept) this.#left.delete(this.#left.keys().next().value ?? '')
    this.#left.set(claimUid, { attempt, token, atMs: this.#now() })
  }

  /** Takes the results of the attempt just before this one, for one use. */
  take(claimUid: string, attempt: number): Pick<Left, 'token'> | undefined {
    const left = this.#left.get(claimUid)
    this.#left.delete(claimUid)
    const isFresh = left !== undefined && left.attempt === attempt - 1 && this.#now() - left.atMs < lifetimeMs
    return isFresh ? { token: left.token } : undefined
  }
}
