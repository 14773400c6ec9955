/** When each resource was first seen. One that a look misses begins anew, and so does each after a restart: this is in memory only. */
export class FirstSeen {
  #times: ReadonlyMap<string, number> = new Map()

  /** Records what is seen `now`. Returns the time of each, by its key. */
  look(keys: Iterable<string>, now: number): ReadonlyMap<string, number> {
    this.#times = new Map([...keys].map((key) => [key, this.#times.get(key) ?? now]))
    return this.#times
  }
}
