// As much of CEL as the rules in api/ use: what the API server does with them, without one.

type Scope = ReadonlyMap<string, unknown>
type Expression = (scope: Scope) => unknown

const tokenPattern =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(\|\||&&|[=!<>]=|[()[\]{}.,?:!<>+]))/y

/** A CEL expression that was read. */
export interface CelExpression {
  /** Its value where these names are known. Errors: as in the API server, a field that is not there, or a value of another type. */
  readonly valueOf: (names: Readonly<Record<string, unknown>>) => unknown
  /** Whether it is true there; as in the API server, a rule that fails is broken. */
  readonly holds: (names: Readonly<Record<string, unknown>>) => boolean
}

const compiled = new Map<string, CelExpression>()

/** Reads an expression; each is read once. Errors: it uses what is not known here. */
export function compileCel(text: string): CelExpression {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const expression = new Parser(tokens(text)).whole()
  const valueOf: CelExpression['valueOf'] = (names) => expression(new Map(Object.entries(names)))
  const made: CelExpression = {
    valueOf,
    holds: (names) => {
      try {
        return valueOf(names) === true
      } catch {
        return false
      }
    },
  }
  compiled.set(text, made)
  return made
}

function tokens(rule: string): string[] {
  const found: string[] = []
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < rule.trimEnd().length) {
    const at = tokenPattern.lastIndex
    const match = tokenPattern.exec(rule)
    if (match === null) throw new Error(`rule "${rule}": cannot read it from character ${at} on`)
    found.push(match[0].trimStart())
  }
  return found
}

const comparisons: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => (left as number) < (right as number),
  '<=': (left, right) => (left as number) <= (right as number),
  '>': (left, right) => (left as number) > (right as number),
  '>=': (left, right) => (left as number) >= (right as number),
  in: (left, right) => (Array.isArray(right) ? right.includes(left) : Object.hasOwn(right as object, String(left))),
}

class Parser {
  readonly #tokens: string[]

  constructor(list: string[]) {
    this.#tokens = list
  }

  whole(): Expression {
    const expression = this.#choice()
    if (this.#tokens.length > 0) throw new Error(`a rule goes on with ${this.#tokens.join(' ')}`)
    return expression
  }

  #choice(): Expression {
    const condition = this.#any()
    if (!this.#take('?')) return condition
    const yes = this.#choice()
    this.#expect(':')
    const no = this.#choice()
    return (scope) => (condition(scope) === true ? yes(scope) : no(scope))
  }

  #any(): Expression {
    let left = this.#every()
    while (this.#take('||')) left = either(left, this.#every(), true)
    return left
  }

  #every(): Expression {
    let left = this.#comparison()
    while (this.#take('&&')) left = either(left, this.#comparison(), false)
    return left
  }

  #comparison(): Expression {
    const left = this.#sum()
    const operator = this.#tokens[0] ?? ''
    const compare = Object.hasOwn(comparisons, operator) ? comparisons[operator] : undefined
    if (compare === undefined) return left
    this.#tokens.shift()
    const right = this.#sum()
    return (scope) => compare(left(scope), right(scope))
  }

  #sum(): Expression {
    let left = this.#unary()
    while (this.#take('+')) {
      const [first, second] = [left, this.#unary()]
      left = (scope) => sum(first(scope), second(scope))
    }
    return left
  }

  #unary(): Expression {
    if (!this.#take('!')) return this.#members()
    const inner = this.#unary()
    return (scope) => inner(scope) !== true
  }

  #members(): Expression {
    let value = this.#primary()
    for (;;) {
      if (this.#take('[')) {
        const [object, index] = [value, this.#choice()]
        this.#expect(']')
        value = (scope) => member(object(scope), index(scope))
      } else if (this.#take('.')) {
        const [object, name] = [value, this.#tokens.shift() ?? '']
        value = this.#take('(') ? this.#call(object, name) : (scope) => member(object(scope), name)
      } else return value
    }
  }

  #call(object: Expression, name: string): Expression {
    const macro = Object.hasOwn(macros, name) ? macros[name] : undefined
    if (macro !== undefined) {
      const variable = this.#tokens.shift() ?? ''
      this.#expect(',')
      const each = this.#choice()
      this.#expect(')')
      return (scope) => macro(elements(object(scope)), (element) => each(new Map([...scope, [variable, element]])))
    }
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined
    if (method === undefined) throw new Error(`a rule calls ${name}(), which is not known`)
    const given = this.#list(')')
    return (scope) => method(object(scope), ...given.map((each) => each(scope)))
  }

  #primary(): Expression {
    const token = this.#tokens.shift() ?? ''
    if (token === '(') {
      const inner = this.#choice()
      this.#expect(')')
      return inner
    }
    if (token === '[') {
      const list = this.#list(']')
      return (scope) => list.map((each) => each(scope))
    }
    if (token === '{') return this.#map()
    if (/^["']/.test(token)) return constant(token.slice(1, -1).replace(/\\(.)/g, '$1'))
    if (/^[0-9]/.test(token)) return constant(Number(token))
    if (token === 'true' || token === 'false') return constant(token === 'true')
    if (this.#take('(')) return this.#function(token)
    return (scope) => scope.get(token)
  }

  #function(name: string): Expression {
    const [value = constant(undefined)] = this.#list(')')
    if (name === 'has')
      return (scope) => {
        try {
          return value(scope) !== undefined
        } catch {
          return false
        }
      }
    if (name === 'size') return (scope) => elements(value(scope)).length
    if (name === 'int') return (scope) => integer(value(scope))
    if (name === 'string') return (scope) => String(value(scope))
    throw new Error(`a rule calls ${name}(), which is not known`)
  }

  #map(): Expression {
    const entries: [Expression, Expression][] = []
    while (!this.#take('}')) {
      const key = this.#choice()
      this.#expect(':')
      entries.push([key, this.#choice()])
      this.#take(',')
    }
    return (scope) => Object.fromEntries(entries.map(([key, value]) => [String(key(scope)), value(scope)]))
  }

  #list(end: string): Expression[] {
    const list: Expression[] = []
    while (!this.#take(end)) {
      list.push(this.#choice())
      this.#take(',')
    }
    return list
  }

  #take(token: string): boolean {
    if (this.#tokens[0] !== token) return false
    this.#tokens.shift()
    return true
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw new Error(`a rule lacks a "${token}" before ${this.#tokens.join(' ')}`)
  }
}

/** What a macro makes of a list, with an expression of each element. */
type Macro = (list: readonly unknown[], each: (element: unknown) => unknown) => unknown

const macros: Readonly<Record<string, Macro>> = {
  all: (list, each) => !decides(list, each, false),
  exists: (list, each) => decides(list, each, true),
  filter: (list, each) => list.filter((element) => each(element) === true),
  map: (list, each) => list.map(each),
}

/** Whether the expression of an element has this value. An element that decides does so even where others cannot be told. */
function decides(list: readonly unknown[], each: (element: unknown) => unknown, value: boolean): boolean {
  let failure: { readonly error: unknown } | undefined
  for (const element of list) {
    try {
      if ((each(element) === true) === value) return true
    } catch (error) {
      failure ??= { error }
    }
  }
  if (failure !== undefined) throw failure.error
  return false
}

const methods: Readonly<Record<string, (object: unknown, ...given: unknown[]) => unknown>> = {
  size: (object) => elements(object).length,
  endsWith: (object, end) => String(object).endsWith(String(end)),
  find: (object, pattern) => new RegExp(String(pattern)).exec(String(object))?.[0] ?? '',
  matches: (object, pattern) => new RegExp(String(pattern)).test(String(object)),
  join: (object, by) => (object as readonly unknown[]).map(String).join(String(by)),
  split: (object, by) => String(object).split(String(by)),
  startsWith: (object, start) => String(object).startsWith(String(start)),
  substring: (object, from, to) => Array.from(String(object)).slice(Number(from), Number(to)).join(''),
}

function constant(value: unknown): Expression {
  return () => value
}

/** CEL's `||` (deciding: true) and `&&`: the side that decides does so even where the other cannot be told. */
function either(left: Expression, right: Expression, deciding: boolean): Expression {
  return (scope) => {
    let first: unknown
    try {
      first = left(scope)
    } catch (error) {
      if (right(scope) === deciding) return deciding
      throw error
    }
    return first === deciding ? deciding : right(scope)
  }
}

function member(object: unknown, key: unknown): unknown {
  const name = String(key)
  if (typeof object === 'object' && object !== null && Object.hasOwn(object, name))
    return (object as Record<string, unknown>)[name]
  throw new Error(`no such key: ${name}`)
}

function elements(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return Array.from(value)
  if (Array.isArray(value)) return value
  if (typeof value === 'object' && value !== null) return Object.keys(value)
  throw new Error('not a list, a map or a text')
}

function sum(left: unknown, right: unknown): unknown {
  if (Array.isArray(left) && Array.isArray(right)) return [...(left as unknown[]), ...(right as unknown[])]
  if (typeof left === 'string' && typeof right === 'string') return left + right
  if (typeof left === 'number' && typeof right === 'number') return left + right
  throw new Error('no such overload of +')
}

const int64 = { least: -(1n << 63n), most: (1n << 63n) - 1n }

function integer(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && /^[+-]?[0-9]+$/.test(value)) {
    const exact = BigInt(value.replace('+', ''))
    if (exact >= int64.least && exact <= int64.most) return Number(exact)
  }
  throw new Error('not an integer')
}
