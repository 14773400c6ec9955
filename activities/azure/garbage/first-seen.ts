/** When each of several things was first seen, for as long as every look sees it again. In memory only: a restart begins anew. */
export class FirstSeen {
  #times: ReadonlyMap<string, number> = new Map()

  /** Records what is seen `now`. Returns the time of each, by its key. */
  look(keys: Iterable<string>, now: number): ReadonlyMap<string, number> {
    this.#times = new Map([...keys].map((key) => [key, this.#times.get(key) ?? now]))
    return this.#times
  }
}
