export type CrashVerdict =
  /** More trials are needed. */
  | { readonly kind: 'searching' }
  /** This member alone crashes a pass. */
  | { readonly kind: 'found'; readonly member: string }
  /** A pass without any of them crashes as well. */
  | { readonly kind: 'outside' }

/**
 * Searches for members that crash a pass, by trials with some members only. A member is found at its second crash or later, in a pass with it alone,
 * after a trial without it has ended well. So a member that was merely in the same pass is never found, nor any member when the cluster itself is to
 * blame.
 */
export class CrashSearch {
  /** Groups to try, each in a pass of its own, the next one first. */
  #groups: (readonly string[])[] = []
  /** Whether a trial of this search ended well. */
  #hasPassed = false

  /** Members to try next; undefined when no search is under way and all are tried. */
  get trial(): ReadonlySet<string> | undefined {
    const [group] = this.#groups
    return group && new Set(group)
  }

  /** Records that a pass ended well. */
  passed(): void {
    this.#hasPassed = true
    this.skip()
  }

  /** Skips a trial whose members are gone. */
  skip(): void {
    this.#groups.shift()
    if (this.#groups.length === 0) this.#hasPassed = false
  }

  /** Records that a pass with these members crashed. `inHand`: the member that the thread was working on, if known. */
  crashed(tried: readonly string[], inHand?: string): CrashVerdict {
    const [member] = tried
    const isTrial = this.#groups.length > 0
    if (member === undefined) {
      this.#groups = []
      this.#hasPassed = false
      return { kind: 'outside' }
    }
    if (isTrial && tried.length === 1 && this.#hasPassed) {
      this.skip()
      return { kind: 'found', member }
    }
    this.#groups.splice(0, 1, ...groupsOf(tried, inHand))
    return { kind: 'searching' }
  }
}

/** Members that are not suspected come first: they wait for a place. */
function groupsOf(tried: readonly string[], inHand: string | undefined): readonly (readonly string[])[] {
  if (tried.length === 1) return [[], tried]
  if (inHand !== undefined && tried.includes(inHand)) return [tried.filter((one) => one !== inHand), [inHand]]
  const half = Math.ceil(tried.length / 2)
  return [tried.slice(0, half), tried.slice(half)]
}
