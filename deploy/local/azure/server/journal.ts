import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

interface Line {
  readonly table: string
  readonly key: string
  /** Absent: the row was deleted. */
  readonly row?: object
}

/** Lines beyond the live rows that the file may hold before it is written again. */
const slack = 20_000

/**
 * Tables in one append-only file: a line per change, written before it is reported, so that a `kill -9` loses nothing that was
 * answered. The file is rewritten without its history at every start, and when the history outgrows the rows. Without a file they are in memory.
 */
export class Journal {
  readonly #file: string | undefined
  readonly #rows = new Map<string, Map<string, object>>()
  #lines = 0
  /** The file as it is appended to; kept open, for a line is written for every change. */
  #descriptor: number | undefined

  constructor(file?: string) {
    this.#file = file
    if (file === undefined) return
    mkdirSync(dirname(file), { recursive: true })
    if (existsSync(file)) this.#load(file)
    this.#compact(file)
  }

  table<T extends object>(name: string): Table<T> {
    return new Table<T>(this.#tableRows(name) as Map<string, T>, (key, row) =>
      this.#append({ table: name, key, ...row }),
    )
  }

  #append(line: Line): void {
    if (this.#file === undefined) return
    this.#descriptor ??= openSync(this.#file, 'a')
    writeSync(this.#descriptor, `${JSON.stringify(line)}\n`)
    this.#lines += 1
    const live = [...this.#rows.values()].reduce((sum, rows) => sum + rows.size, 0)
    if (this.#lines > live * 2 + slack) this.#compact(this.#file)
  }

  #load(file: string): void {
    const lines = readFileSync(file, 'utf8').split('\n')
    // A process that was killed while it wrote leaves a last line without its end, which was not reported.
    lines.pop()
    for (const text of lines) {
      const { table, key, row } = JSON.parse(text) as Line
      if (row === undefined) this.#tableRows(table).delete(key)
      else this.#tableRows(table).set(key, row)
    }
  }

  #compact(file: string): void {
    const lines = [...this.#rows].flatMap(([table, rows]) =>
      [...rows].map(([key, row]) => `${JSON.stringify({ table, key, row } satisfies Line)}\n`),
    )
    writeFileSync(`${file}.tmp`, lines.join(''))
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
    renameSync(`${file}.tmp`, file)
    this.#lines = lines.length
  }

  #tableRows(table: string): Map<string, object> {
    const rows = this.#rows.get(table) ?? new Map<string, object>()
    this.#rows.set(table, rows)
    return rows
  }
}

/** Rows by key. Keys are ARM names, which have no case. */
export class Table<T extends object> {
  readonly #rows: Map<string, T>
  readonly #write: (key: string, row?: { readonly row: T }) => void

  constructor(rows: Map<string, T>, write: (key: string, row?: { readonly row: T }) => void) {
    this.#rows = rows
    this.#write = write
  }

  get(key: string): T | undefined {
    return this.#rows.get(key.toLowerCase())
  }

  get all(): readonly T[] {
    return [...this.#rows.values()]
  }

  get size(): number {
    return this.#rows.size
  }

  put(key: string, row: T): void {
    this.#rows.set(key.toLowerCase(), row)
    this.#write(key.toLowerCase(), { row })
  }

  delete(key: string): void {
    if (this.#rows.delete(key.toLowerCase())) this.#write(key.toLowerCase())
  }
}
