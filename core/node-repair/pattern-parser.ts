/** A pattern as it was parsed. `accepts` judges one character. */
export type PatternNode =
  | { readonly kind: 'character'; readonly accepts: (code: string) => boolean }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly least: number; readonly most: number }

/** Why a text is no pattern, and what to write. */
export class PatternError extends Error {}

const mostRepeats = 1000
const classes: Readonly<Record<string, RegExp>> = { d: /^[0-9]$/, s: /^[\t\n\f\r ]$/, w: /^[0-9A-Za-z_]$/ }

/** Parses by descent: choice, sequence, repetition, one item. */
export class PatternParser {
  readonly #characters: readonly string[]
  readonly #ignoresCase: boolean
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#ignoresCase = text.startsWith('(?i)')
    this.#characters = Array.from(this.#ignoresCase ? text.slice(4) : text)
  }

  parse(): PatternNode {
    const root = this.#choice()
    if (this.#at < this.#characters.length)
      throw new PatternError('has a ")" without its "("; write \\) for the character')
    return root
  }

  #peek(): string | undefined {
    return this.#characters[this.#at]
  }

  #take(): string | undefined {
    return this.#characters[this.#at++]
  }

  #choice(): PatternNode {
    if (++this.#depth > 50) throw new PatternError('nests more than 50 groups')
    const parts = [this.#sequence()]
    while (this.#peek() === '|') {
      this.#at += 1
      parts.push(this.#sequence())
    }
    this.#depth -= 1
    return { kind: 'choice', parts }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek())
      parts.push(this.#repetition())
    return { kind: 'sequence', parts }
  }

  #repetition(): PatternNode {
    const part = this.#item()
    const [least, most] = this.#bounds() ?? []
    if (least === undefined || most === undefined) return part
    // The shortest or the longest match: whether there is one is the same.
    if (this.#peek() === '?') this.#at += 1
    if (this.#bounds() !== undefined) throw new PatternError('repeats a repetition; put the inner one into a group')
    return { kind: 'repeat', part, least, most }
  }

  #bounds(): readonly [number, number] | undefined {
    const next = this.#peek()
    const simple = { '*': [0, Number.POSITIVE_INFINITY], '+': [1, Number.POSITIVE_INFINITY], '?': [0, 1] } as const
    if (next === '*' || next === '+' || next === '?') {
      this.#at += 1
      return simple[next]
    }
    if (next !== '{') return undefined
    const found = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(this.#characters.slice(this.#at, this.#at + 12).join(''))
    // As in RE2, a brace that counts nothing is a character.
    if (found === null) return undefined
    const least = Number(found[1])
    const most = found[2] === undefined ? least : found[3] === '' ? Number.POSITIVE_INFINITY : Number(found[3])
    if (least > mostRepeats || (most > mostRepeats && most !== Number.POSITIVE_INFINITY) || most < least)
      throw new PatternError(`has the repetition ${found[0]}; use counts up to ${mostRepeats}, the smaller one first`)
    this.#at += found[0].length
    return [least, most]
  }

  #item(): PatternNode {
    const next = this.#take() as string
    switch (next) {
      case '(':
        return this.#group()
      case '[':
        return this.#set()
      case '.':
        return { kind: 'character', accepts: (one) => one !== '\n' }
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '\\':
        return { kind: 'character', accepts: this.#escape() }
      case '*':
      case '+':
      case '?':
        throw new PatternError(`has a "${next}" with nothing to repeat; write \\${next} for the character`)
      default:
        return { kind: 'character', accepts: this.#literal(next) }
    }
  }

  #group(): PatternNode {
    if (this.#peek() === '?') {
      const isPlain = this.#characters[this.#at + 1] === ':'
      if (!isPlain) throw new PatternError('has a "(?" that is not supported; use (...), (?:...), or (?i) at its begin')
      this.#at += 2
    }
    const inner = this.#choice()
    if (this.#take() !== ')') throw new PatternError('has a "(" without its ")"; write \\( for the character')
    return inner
  }

  #literal(wanted: string): (one: string) => boolean {
    if (!this.#ignoresCase) return (one) => one === wanted
    const lower = wanted.toLowerCase()
    return (one) => one.toLowerCase() === lower
  }

  #escape(): (one: string) => boolean {
    const next = this.#take()
    if (next === undefined) throw new PatternError('ends with "\\"; write \\\\ for the character')
    const own = classes[next.toLowerCase()]
    if (own !== undefined && /[dswDSW]/.test(next)) return (one) => own.test(one) === (next === next.toLowerCase())
    if (/[0-9A-Za-z]/.test(next)) throw new PatternError(`has "\\${next}", which is not supported; use \\d, \\s or \\w`)
    return this.#literal(next)
  }

  #set(): PatternNode {
    const isNegated = this.#peek() === '^'
    if (isNegated) this.#at += 1
    const accepted: ((one: string) => boolean)[] = []
    for (let isFirst = true; ; isFirst = false) {
      const next = this.#take()
      if (next === undefined) throw new PatternError('has a "[" without its "]"; write \\[ for the character')
      if (next === ']' && !isFirst) break
      accepted.push(next === '\\' ? this.#escape() : this.#range(next))
    }
    return { kind: 'character', accepts: (one) => accepted.some((accepts) => accepts(one)) !== isNegated }
  }

  #range(first: string): (one: string) => boolean {
    if (first === '[' && [':', '.', '='].includes(this.#peek() ?? ''))
      throw new PatternError(`has "[${this.#peek()}" in a set, which is not supported; use \\d, \\s, \\w or a range`)
    const isRange = this.#peek() === '-' && ![']', undefined].includes(this.#characters[this.#at + 1])
    if (!isRange) return this.#literal(first)
    this.#at += 1
    const last = this.#take() as string
    if (last === '\\' || last < first)
      throw new PatternError(`has the range ${first}-${last}; write the smaller one first`)
    const isWithin = (one: string) => one >= first && one <= last
    return this.#ignoresCase ? (one) => isWithin(one.toLowerCase()) || isWithin(one.toUpperCase()) : isWithin
  }
}
