// Functions of Kubernetes' CEL that the library lacks or evaluates differently. `test/api/cel-cases.ts` compares each with a real API server.
import { type CelFunc, CelScalar, celFunc, celMethod } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'

const { INT, STRING } = CelScalar

/** The library's string functions that match the API server's; the others count UTF-16 units instead of characters. */
const exact: ReadonlySet<string> = new Set(['join', 'lowerAscii', 'replace', 'split'])

const int64 = { least: -(1n << 63n), most: (1n << 63n) - 1n }

/** Parses as Go's `strconv.ParseInt` in base 10. The library also accepts the empty text and `0b1`. */
function integerOf(text: string): bigint {
  if (/^[+-]?[0-9]+$/.test(text)) {
    const value = BigInt(text.replace('+', ''))
    if (value >= int64.least && value <= int64.most) return value
  }
  throw new Error(`int("${text}"): not a 64-bit integer`)
}

/** Counts characters; the library counts UTF-16 units. */
function substring(this: string, from: bigint, to?: bigint): string {
  const characters = Array.from(this)
  const end = to === undefined ? characters.length : Number(to)
  if (from < 0n || Number(from) > end || end > characters.length)
    throw new Error(`substring(${from}, ${end}): index out of range of ${characters.length} characters`)
  return characters.slice(Number(from), end).join('')
}

/** Kubernetes' `find`: the first match, or an empty text. The library's RE2 only reports whether there is a match. */
function find(this: string, pattern: string): string {
  // RE2 and JavaScript interpret these differently.
  if (/[\\.]|\(\?/.test(pattern))
    throw new Error(`find("${pattern}"): escapes, "." and "(?" are not supported; write classes such as [^/]`)
  return new RegExp(pattern, 'u').exec(this)?.[0] ?? ''
}

/** Functions to register beside the library's standard ones. */
export const kubernetesFunctions: CelFunc[] = [
  ...strings.filter(({ name }) => exact.has(name)),
  celFunc('int', [STRING], INT, integerOf),
  celMethod('substring', STRING, [INT], STRING, substring),
  celMethod('substring', STRING, [INT, INT], STRING, substring),
  celMethod('find', STRING, [STRING], STRING, find),
]
