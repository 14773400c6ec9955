// CEL as the API server evaluates it: expressions of the CRDs' rules and of the chart's admission policies.
import {
  type CelFunc,
  type CelInput,
  CelScalar,
  celEnv,
  celFunc,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  type CelResult as LibraryResult,
  parse,
  plan,
} from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { parsedAhead, type SyntaxTree } from './parsed-ahead.ts'

// The library lacks these functions of Kubernetes' CEL, or evaluates them differently. `test/api/cel-cases.ts` compares each with a real API server.
const { BOOL, INT, STRING } = CelScalar

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

/** Longest text that JavaScript searches: a search may take its length squared. */
const mostSearched = 300

/**
 * Whether JavaScript takes a pattern as RE2 does, and searches in little time: without escapes, ".", flags and classes in classes, and without anything
 * repeated that is repeated itself.
 */
function isPlain(pattern: string): boolean {
  return !/[\\.[\]]|\(\?|\)[*+{]|\{(?!\d{1,3}(?:,\d{0,3})?\})/.test(pattern.replaceAll(/\[\^?[^[\]\\]+\]/g, 'c'))
}

/** The library compiles a pattern in milliseconds, and a policy has many: those that JavaScript takes as RE2 does are left to it. */
function matches(this: string, pattern: string): boolean {
  // JavaScript has other blanks besides.
  const plain = pattern.replaceAll(String.raw`\s`, '[\t\n\f\r ]')
  if (this.length <= mostSearched && isPlain(plain)) return new RegExp(plain, 'u').test(this)
  const result = plan(library, parse('text.matches(pattern)'))({ text: this, pattern })
  if (typeof result === 'boolean') return result
  throw new Error(isCelError(result) ? result.message : `matches("${pattern}"): no answer`)
}

/** Functions to register beside the library's standard ones. */
const kubernetesFunctions: CelFunc[] = [
  ...strings.filter(({ name }) => exact.has(name)),
  celFunc('int', [STRING], INT, integerOf),
  celMethod('substring', STRING, [INT], STRING, substring),
  celMethod('substring', STRING, [INT, INT], STRING, substring),
  celMethod('find', STRING, [STRING], STRING, find),
  celMethod('matches', STRING, [STRING], BOOL, matches),
]

/** A filter by an element's key and further conditions, all of which have to hold. */
const byKey = /^(variables\.\w+)\.filter\(r, r\.key in \[('[^'\\]+'(?:, '[^'\\]+')*)\] && (?:(?!\|\||\?).)*$/

const library = celEnv({})
const env = celEnv({ funcs: kubernetesFunctions })

/** Result of an expression, as JSON; integers are numbers. */
export type CelResult =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string }

/** JSON by variable name. */
export type CelVariables = Readonly<Record<string, unknown>>

export interface CelExpression {
  /** Its free and bound variables, such as `self` and `oldSelf`. */
  readonly identifiers: ReadonlySet<string>
  readonly evaluate: (scope: CelScope) => CelResult
  /** Returns whether the result is `true`. As in the API server, a rule that fails is violated. */
  readonly holds: (scope: CelScope) => boolean
}

/** Variables of an evaluation, converted once for any number of expressions. */
export class CelScope {
  readonly #values: Record<string, CelInput> = Object.create(null) as Record<string, CelInput>

  constructor(variables: CelVariables) {
    for (const [name, value] of Object.entries(variables)) this.#values[name] = fromJson(value)
  }

  /** Adds a variable of a policy, used as `variables.NAME`. It is parsed and evaluated at its first use; if that fails, each use of it fails. */
  define(name: string, text: string): void {
    let result: CelInput | LibraryResult | undefined
    Object.defineProperty(this.#values, `variables.${name}`, {
      get: () => {
        result ??= this.#selectsNothing(text) ? [] : compiledOf(text).run(this.#values)
        return result
      },
    })
  }

  /** Whether an expression filters a variable by keys that no element of it has. Parsing most of a policy's expressions would take longer than all else. */
  #selectsNothing(text: string): boolean {
    const [, list = '', keys = ''] = byKey.exec(text) ?? []
    const elements = this.#values[list]
    if (!isCelList(elements)) return false
    const known = new Set(keys.split(', ').map((key) => key.slice(1, -1)))
    return Array.from(elements).every((one) => {
      const key = isCelMap(one) ? one.get('key') : undefined
      return typeof key === 'string' && !known.has(key)
    })
  }

  /** Returns the variables in the library's types. */
  get values(): Record<string, CelInput> {
    return this.#values
  }
}

interface Compiled extends CelExpression {
  readonly run: (values: Record<string, CelInput>) => LibraryResult
}

const compiled = new Map<string, Compiled>()

/** Parses an expression; each text is parsed once. Errors: throws on a syntax error or an unknown function. */
export function compileCel(text: string): CelExpression {
  return compiledOf(text)
}

function compiledOf(text: string): Compiled {
  let known = compiled.get(text)
  if (known === undefined) {
    known = compile(text)
    compiled.set(text, known)
  }
  return known
}

function compile(text: string): Compiled {
  const [, variable] = isEmpty.exec(text) ?? []
  return variable === undefined ? compileAny(text) : compileIsEmpty(text, variable)
}

/** Most rules of a policy ask this of a variable, which a list answers without a parser. */
const isEmpty = /^(variables\.\w+)\.size\(\) == 0$/

function compileIsEmpty(text: string, variable: string): Compiled {
  const run: Compiled['run'] = (values) => {
    const value = values[variable]
    if (Array.isArray(value)) return value.length === 0
    return isCelList(value) ? value.size === 0 : compileAny(text).run(values)
  }
  return compiledBy(run, new Set(['variables']))
}

function compileAny(text: string): Compiled {
  const expr = parsedAhead.get(text)?.() ?? parsed(text)
  const names = { identifiers: new Set<string>(), functions: new Set<string>() }
  collectNames(expr, names)
  // Operators and macros have names that no identifier has.
  for (const name of names.functions)
    if (/^[a-z]/i.test(name) && env.funcs.find(name) === undefined)
      throw new Error(`CEL "${text}": function "${name}" is unknown; add it to api/rules/cel.ts`)
  return compiledBy(plan(env, expr) as Compiled['run'], names.identifiers)
}

function compiledBy(run: Compiled['run'], identifiers: Compiled['identifiers']): Compiled {
  const evaluate: CelExpression['evaluate'] = ({ values }) => {
    const result = run(values)
    if (isCelError(result)) return { kind: 'failed', message: result.message }
    return { kind: 'value', value: toJson(result) }
  }
  return { identifiers, run, evaluate, holds: ({ values }) => run(values) === true }
}

function parsed(text: string): SyntaxTree {
  try {
    return parse(text).expr
  } catch (error) {
    throw new Error(`CEL "${text}": ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

interface Names {
  readonly identifiers: Set<string>
  readonly functions: Set<string>
}

/** Walks a syntax tree, each of whose nodes is a message with its kind under `case`. */
function collectNames(node: unknown, names: Names): void {
  if (typeof node !== 'object' || node === null) return
  const { case: kind, value } = node as { readonly case?: unknown; readonly value?: Readonly<Record<string, unknown>> }
  if (kind === 'identExpr') names.identifiers.add(String(value?.['name']))
  if (kind === 'callExpr') names.functions.add(String(value?.['function']))
  for (const child of Object.values(node)) collectNames(child, names)
}

/** Objects become maps: the library would treat an object with a key such as `constructor` as an instance of a class. */
function fromJson(value: unknown): CelInput {
  if (Array.isArray(value)) return value.map(fromJson)
  if (typeof value === 'object' && value !== null)
    return new Map(
      Object.entries(value)
        .filter(([, field]) => field !== undefined)
        .map(([key, field]) => [key, fromJson(field)]),
    )
  // No field of the CRDs has the type number, so a value without a fraction is an integer.
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  return value as CelInput
}

function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (isCelList(value)) return Array.from(value, toJson)
  if (isCelMap(value))
    return Object.fromEntries(Array.from(value, ([key, field]) => [isCelUint(key) ? key.value : key, toJson(field)]))
  return value
}
