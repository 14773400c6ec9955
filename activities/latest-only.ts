/**
 * Ends work of one kind when later work begins in this process. A loop has one activity at a time; one that it has cancelled hears of that with
 * its next heartbeat, perhaps long after the loop has gone on.
 */
export class LatestOnly {
  #current = new AbortController()

  /** Ends the work before. Returns the signal of the work that begins, which fires with `signal` too. */
  begin(signal: AbortSignal): AbortSignal {
    this.#current.abort(new Error('the loop has gone on'))
    this.#current = new AbortController()
    return AbortSignal.any([signal, this.#current.signal])
  }
}
