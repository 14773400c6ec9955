/** A row of a table that is queried. */
export type Row = Readonly<Record<string, unknown>>

/**
 * The part of the Kusto query language that autoscalers send to Resource Graph: `Resources`, then any of
 * `where`, `project`, `order by`, `limit` and `take`. Conditions compare a column or `column['key']` with a literal (`==`, `!=`, `=~`, `!~`,
 * `has`, `has_cs`, `contains`, `contains_cs`, `in`), test `isempty` or `isnotempty`, and join by `and`, `or`, `not` and brackets.
 * Grammar: https://learn.microsoft.com/azure/governance/resource-graph/concepts/query-language. Errors: what could not be read.
 */
export function runQuery(query: string, rows: readonly Row[]): readonly Row[] {
  const [source = '', ...stages] = splitStages(query)
  if (source.toLowerCase() !== 'resources') throw new QueryError(`table "${source}" is not simulated; use Resources`)
  return stages.reduce<readonly Row[]>((found, stage) => runStage(stage, found), rows)
}

export class QueryError extends Error {}

function runStage(stage: string, rows: readonly Row[]): readonly Row[] {
  const [, word = '', rest = ''] = /^(\w+)\s+([\s\S]*)$/.exec(stage) ?? []
  switch (word.toLowerCase()) {
    case 'where': {
      const condition = new ConditionParser(rest).parse()
      return rows.filter((row) => condition(row))
    }
    case 'project': {
      const columns = rest.split(',').map((name) => name.trim())
      return rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])))
    }
    case 'order':
    case 'sort': {
      const [, column = '', direction] = /^by\s+(\w+)(?:\s+(asc|desc))?$/i.exec(rest) ?? []
      const sign = direction?.toLowerCase() === 'asc' ? 1 : -1
      return [...rows].sort((one, other) => sign * String(one[column]).localeCompare(String(other[column])))
    }
    case 'limit':
    case 'take':
      return rows.slice(0, Number(rest))
    default:
      throw new QueryError(`operator "${word || stage}" is not simulated`)
  }
}

/** Stages between bars that stand outside of quotes. */
function splitStages(query: string): string[] {
  const stages = query.match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^|"'])+/g) ?? []
  return stages.map((stage) => stage.trim())
}

type Condition = (row: Row) => boolean
type Value = (row: Row) => unknown

const token = /\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|==|!=|=~|!~|[()[\],.]|[\w$]+)/gy

class ConditionParser {
  readonly #tokens: string[] = []
  #next = 0

  constructor(text: string) {
    token.lastIndex = 0
    let end = 0
    for (let match = token.exec(text); match !== null; match = token.exec(text)) {
      this.#tokens.push(match[1] ?? '')
      end = token.lastIndex
    }
    if (text.slice(end).trim() !== '') throw new QueryError(`"${text.slice(end).trim()}" could not be read`)
  }

  parse(): Condition {
    const condition = this.#or()
    if (this.#peek() !== undefined) throw new QueryError(`"${this.#peek()}" was not expected`)
    return condition
  }

  #or(): Condition {
    let left = this.#and()
    while (this.#accept('or')) {
      const [first, second] = [left, this.#and()]
      left = (row) => first(row) || second(row)
    }
    return left
  }

  #and(): Condition {
    let left = this.#unary()
    while (this.#accept('and')) {
      const [first, second] = [left, this.#unary()]
      left = (row) => first(row) && second(row)
    }
    return left
  }

  #unary(): Condition {
    if (this.#accept('not')) {
      const inner = this.#bracketed(() => this.#or())
      return (row) => !inner(row)
    }
    if (this.#peek() === '(') return this.#bracketed(() => this.#or())
    for (const [word, wanted] of [
      ['isempty', true],
      ['isnotempty', false],
    ] as const) {
      if (!this.#accept(word)) continue
      const value = this.#bracketed(() => this.#value())
      return (row) => (text(value(row)) === '') === wanted
    }
    return this.#comparison()
  }

  #comparison(): Condition {
    const value = this.#value()
    const operator = this.#take().toLowerCase()
    if (operator === 'in') {
      const list = this.#bracketed(() => {
        const literals = [this.#literal()]
        while (this.#accept(',')) literals.push(this.#literal())
        return literals
      })
      return (row) => list.includes(text(value(row)))
    }
    const compare = comparisons[operator]
    if (compare === undefined) throw new QueryError(`comparison "${operator}" is not simulated`)
    const literal = this.#literal()
    return (row) => compare(text(value(row)), literal)
  }

  /** `name`, `name.key` or `name['key']`. */
  #value(): Value {
    const column = this.#take()
    if (!/^\w+$/.test(column)) throw new QueryError(`"${column}" is no column`)
    let value: Value = (row) => row[column]
    for (;;) {
      let key: string
      if (this.#accept('.')) key = this.#take()
      else if (this.#accept('[')) {
        key = this.#literal()
        this.#expect(']')
      } else return value
      const outer = value
      value = (row) => (outer(row) as Row | undefined | null)?.[key]
    }
  }

  #literal(): string {
    const literal = this.#take()
    if (/^["']/.test(literal)) return literal.slice(1, -1).replace(/\\(.)/g, '$1')
    throw new QueryError(`"${literal}" is no text in quotes`)
  }

  #bracketed<T>(parse: () => T): T {
    this.#expect('(')
    const inner = parse()
    this.#expect(')')
    return inner
  }

  #peek(): string | undefined {
    return this.#tokens[this.#next]
  }

  #take(): string {
    const next = this.#tokens[this.#next++]
    if (next === undefined) throw new QueryError('the query ends too soon')
    return next
  }

  #accept(word: string): boolean {
    if (this.#peek()?.toLowerCase() !== word) return false
    this.#next += 1
    return true
  }

  #expect(word: string): void {
    const found = this.#take()
    if (found !== word) throw new QueryError(`"${word}" was expected, not "${found}"`)
  }
}

const lower = (value: string) => value.toLowerCase()

const comparisons: Readonly<Record<string, (value: string, literal: string) => boolean>> = {
  '==': (value, literal) => value === literal,
  '!=': (value, literal) => value !== literal,
  '=~': (value, literal) => lower(value) === lower(literal),
  '!~': (value, literal) => lower(value) !== lower(literal),
  has: (value, literal) => hasTerm(lower(value), lower(literal)),
  has_cs: hasTerm,
  contains: (value, literal) => lower(value).includes(lower(literal)),
  contains_cs: (value, literal) => value.includes(literal),
}

/** Kusto's `has`: the literal stands in the text with nothing alphanumeric next to it. */
function hasTerm(value: string, literal: string): boolean {
  const isPartOfWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char)
  for (let at = value.indexOf(literal); at !== -1; at = value.indexOf(literal, at + 1))
    if (!isPartOfWord(value[at - 1]) && !isPartOfWord(value[at + literal.length])) return true
  return false
}

/** A dynamic column, such as tags, is searched as its JSON. */
function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
