/** What a process waits for until it reaches Temporal, and lacks again when it does not. */
export const connected = 'temporal'

/** What a process still waits for, or lacks again, and why: the answer of `/readyz`. */
export class Readiness {
  readonly #reasons = new Map<string, string | undefined>()

  constructor(...waitingFor: readonly string[]) {
    for (const what of waitingFor) this.#reasons.set(what, undefined)
  }

  /** Something is not there, for a reason that is known or not. */
  lacks(what: string, why?: string): void {
    this.#reasons.set(what, why)
  }

  isLacking(what: string): boolean {
    return this.#reasons.has(what)
  }

  has(what: string): void {
    this.#reasons.delete(what)
  }

  /** A line for each thing that is not there. */
  get reasons(): readonly string[] {
    return [...this.#reasons].map(([what, why]) => `waiting for ${what}${why === undefined ? '' : `: ${why}`}`)
  }
}
