/** Values by name, without regard to case, that can be read in the order of their names from any name on. */
export class SortedMap<T> {
  readonly #values = new Map<string, T>()
  readonly #keys: string[] = []

  get(name: string): T | undefined {
    return this.#values.get(name.toLowerCase())
  }

  get size(): number {
    return this.#values.size
  }

  set(name: string, value: T): void {
    const key = name.toLowerCase()
    if (!this.#values.has(key)) this.#keys.splice(this.#position(key), 0, key)
    this.#values.set(key, value)
  }

  delete(name: string): void {
    const key = name.toLowerCase()
    if (this.#values.delete(key)) this.#keys.splice(this.#position(key), 1)
  }

  /** All values in the order of their names. */
  get all(): readonly T[] {
    return this.after(undefined, this.#keys.length).map(([, value]) => value)
  }

  /** So many names and values behind a name, which need not be there (any more). */
  after(name: string | undefined, count: number): readonly (readonly [string, T])[] {
    const at = name === undefined ? 0 : this.#position(name.toLowerCase())
    const start = name !== undefined && this.#keys[at] === name.toLowerCase() ? at + 1 : at
    return this.#keys.slice(start, start + count).map((key) => [key, this.#values.get(key) as T] as const)
  }

  /** Where a key is, or would be. */
  #position(key: string): number {
    let [low, high] = [0, this.#keys.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#keys[middle] as string) < key) low = middle + 1
      else high = middle
    }
    return low
  }
}
