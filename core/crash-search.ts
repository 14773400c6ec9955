/** What a crash of a trial says. */
export type CrashVerdict =
  /** More trials are needed. */
  | { readonly kind: 'searching' }
  /** This member alone crashes a pass. */
  | { readonly kind: 'found'; readonly member: string }
  /** A pass without any of them crashes as well. */
  | { readonly kind: 'outside' }

/**
 * The search for what crashes a pass, by trials with some members only. A member is found at its second crash, in a pass with nothing but it,
 * where a pass with nothing at all ended well, unless the thread was at work on that very member. So what was merely in the same pass is never found.
 */
export class CrashSearch {
  /** Groups to be tried, each in a pass of its own, the next one first. */
  #groups: (readonly string[])[] = []
  /** Whether a pass with nothing ended well in this search. */
  #isEmptyFine = false

  /** Members to try next; undefined: no search is under way, and all are tried. */
  get trial(): ReadonlySet<string> | undefined {
    const [group] = this.#groups
    return group && new Set(group)
  }

  /** Notes that the trial ended well, or that nothing is left of its members. */
  passed(): void {
    if (this.#groups[0]?.length === 0) this.#isEmptyFine = true
    this.#groups.shift()
    if (this.#groups.length === 0) this.#isEmptyFine = false
  }

  /** Notes that a pass with these members crashed. `inHand`: what the thread was at work on, if that is known. */
  crashed(tried: readonly string[], inHand?: string): CrashVerdict {
    const isTrial = this.#groups.shift() !== undefined
    if (tried.length === 0) {
      this.#groups = []
      return { kind: 'outside' }
    }
    const [member = ''] = tried
    if (isTrial && tried.length === 1 && (inHand === member || this.#isEmptyFine)) {
      if (this.#groups.length === 0) this.#isEmptyFine = false
      return { kind: 'found', member }
    }
    this.#groups.unshift(...groupsOf(tried, inHand))
    return { kind: 'searching' }
  }
}

/** Those that are not suspected come first: they wait for a place. */
function groupsOf(tried: readonly string[], inHand: string | undefined): readonly (readonly string[])[] {
  if (tried.length === 1) return inHand === tried[0] ? [tried] : [[], tried]
  if (inHand !== undefined && tried.includes(inHand)) return [tried.filter((one) => one !== inHand), [inHand]]
  const half = Math.ceil(tried.length / 2)
  return [tried.slice(0, half), tried.slice(half)]
}
