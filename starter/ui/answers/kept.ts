/** Answers that are kept for a moment: so many clients with the same page cost one look. */
export class Kept<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>
  readonly #forMs: number
  readonly #now: () => number
  readonly #answers = new Map<Key, { readonly atMs: number; readonly answer: Promise<Value> }>()

  constructor(
    read: (key: Key) => Promise<Value>,
    { forMs, now }: { readonly forMs: number; readonly now: () => number },
  ) {
    this.#read = read
    this.#forMs = forMs
    this.#now = now
  }

  /** Errors: those of the reading, which are told to those who asked, and to nobody later. */
  get(key: Key): Promise<Value> {
    const atMs = this.#now()
    const kept = this.#answers.get(key)
    if (kept !== undefined && atMs - kept.atMs < this.#forMs) return kept.answer
    const answer = this.#read(key)
    this.#answers.set(key, { atMs, answer })
    answer.catch(() => {
      if (this.#answers.get(key)?.answer === answer) this.#answers.delete(key)
    })
    return answer
  }
}
