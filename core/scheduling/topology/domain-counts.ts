const unknown = -1
const pageBits = 6
const pageSize = 1 << pageBits
const emptyPage: readonly number[] = Array.from({ length: pageSize }, () => unknown)

/**
 * Pods by domain; domains may be unknown. A copy shares its pages with the original, which must not change any more, until it changes them. Hostnames
 * are many, and a pass changes few of them.
 */
export class DomainCounts {
  readonly #pages: (readonly number[])[]
  /** Whether a page is its own. */
  readonly #own: boolean[] = []

  constructor(before?: DomainCounts) {
    this.#pages = before === undefined ? [] : before.#pages.slice()
  }

  /** Returns -1 for an unknown domain. */
  get(domain: number): number {
    const page = this.#pages[domain >>> pageBits]
    return page === undefined ? unknown : (page[domain & (pageSize - 1)] as number)
  }

  /** Sets a count; -1 makes the domain unknown. */
  set(domain: number, count: number): void {
    const at = domain >>> pageBits
    while (this.#pages.length <= at) this.#pages.push(emptyPage)
    if (this.#own[at] !== true) {
      this.#pages[at] = (this.#pages[at] as readonly number[]).slice()
      this.#own[at] = true
    }
    ;(this.#pages[at] as number[])[domain & (pageSize - 1)] = count
  }

  /** Returns known domains, in order of their numbers. */
  known(): number[] {
    const known: number[] = []
    this.#pages.forEach((page, at) => {
      if (page === emptyPage) return
      for (let index = 0; index < pageSize; index++) if (page[index] !== unknown) known.push((at << pageBits) + index)
    })
    return known
  }
}
