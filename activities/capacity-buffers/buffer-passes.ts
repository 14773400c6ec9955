/** Time after a change of the cluster until buffers are looked at again: pods come in bursts. */
const settleMs = 1000
/** Interval of passes without a change. */
const lookEveryMs = 30_000
/** Interval of passes while a virtual pod has no place: as pods are tried again. */
const retryMs = 10_000
/** Passes for buffers alone take up no more than a fifth of a core, however fast pods come and go. */
const restPerWork = 4

/** When buffers have to be planned again. Passes that pods ask for do not depend on it. Times are epoch ms. */
export class BufferPasses {
  #dueAt = Number.POSITIVE_INFINITY
  #restUntil = Number.NEGATIVE_INFINITY
  #beganAt = 0

  get dueAt(): number {
    return this.#dueAt
  }

  /** Records that buffers ask for other pods than before. */
  changed(now: number): void {
    this.#bringForward(Math.max(now, this.#restUntil))
  }

  /** Records a change of the cluster that may have taken a buffer's room, or made some. */
  touched(now: number): void {
    this.#bringForward(Math.max(now + settleMs, this.#restUntil))
  }

  /** Records that a pass begins: later changes may not be in it. */
  began(now: number): void {
    this.#beganAt = now
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  /** Records its end. `isComplete`: every virtual pod has a place. Undefined: there are no buffers. */
  ended(now: number, isComplete: boolean | undefined): void {
    this.#restUntil = now + Math.max(settleMs, restPerWork * (now - this.#beganAt))
    if (isComplete !== undefined)
      this.#bringForward(Math.max(this.#restUntil, now + (isComplete ? lookEveryMs : retryMs)))
  }

  #bringForward(at: number): void {
    this.#dueAt = Math.min(this.#dueAt, at)
  }
}
