import { once } from 'node:events'
import { printable, printableLines } from '../../core/values/printable.ts'
import type { CsvTable } from './csv.ts'
import { type Document, isLine, type Line, type Part, wordsOf } from './document.ts'
import { anywhere, linesOf } from './text.ts'
import { Times } from './words.ts'

/** How a command prints: for people, for people at any width, for programs, or as a file. */
export type Format =
  | 'table'
  | 'wide'
  /** A table of any width without its header. */
  | 'plain'
  | 'name'
  | `custom-columns=${string}`
  | 'json'
  | 'yaml'
  | 'csv'
  | 'markdown'
  | 'html'

/** What a command answers, in each form that it has. JSON is made from the answer, and not from what people see of it. */
export interface Answer {
  readonly json: unknown
  readonly document: () => Document
  readonly csv?: () => CsvTable
  /** The moment that it is of, epoch ms; unset: now. */
  readonly now?: number
}

/** Whether programs read it: nothing else goes to standard output then. */
export function isForPrograms(output: Format): output is 'json' | 'yaml' {
  return output === 'json' || output === 'yaml'
}

/** Returns the value as JSON or YAML, with a line feed at its end. */
export async function structured(output: 'json' | 'yaml', value: unknown): Promise<string> {
  const json = JSON.stringify(value, null, 2)
  // YAML has what JSON has: nothing for what is undefined, text for dates.
  return output === 'json' ? printableLines(`${json}\n`) : (await import('./yaml-text.ts')).yamlText(JSON.parse(json))
}

/** Prints an answer as was asked for. */
export async function print(output: Format, answer: Answer): Promise<void> {
  await write(await piecesOf(output, answer))
}

/** Returns an answer as text in a format, with a line feed at its end. */
export async function piecesOf(output: Format, answer: Answer): Promise<Iterable<string>> {
  const { json, document, csv, now = Date.now() } = answer
  const times = new Times(now)
  switch (output) {
    case 'json':
    case 'yaml':
      return [await structured(output, json)]
    case 'csv':
      return [`${(await import('./csv.ts')).csvText(csv?.() ?? { header: [], rows: [] })}\n`]
    case 'markdown':
      return [`${(await import('./markdown.ts')).markdownOf(document())}\n`]
    case 'html':
      return [`${(await import('./html.ts')).htmlOf(document())}\n`]
    case 'name':
      return ended((await import('./csv.ts')).namesOf(json))
    case 'plain':
      return ended(
        linesOf(
          document().map((parts) => parts.map(withoutHeader)),
          { ...anywhere, times },
        ),
      )
    case 'table':
    case 'wide':
      return ended(
        linesOf(document(), {
          width: output === 'wide' ? Number.POSITIVE_INFINITY : terminalWidth(),
          paint: (text) => text,
          times,
        }),
      )
    default: {
      const rows = (await import('./csv.ts')).customColumns(output.slice('custom-columns='.length), json)
      return ended(linesOf([[{ rows }]]))
    }
  }
}

function withoutHeader(part: Part): Part {
  if (part === undefined || isLine(part) || !('rows' in part)) return part
  const { header: _, ...rest } = part
  return rest
}

function* ended(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`
}

/** How many characters a line may have: those of the terminal, which `--watch` names, else any number. */
function terminalWidth(): number {
  return (
    (process.stdout.isTTY ? process.stdout.columns : Number(process.env['JOINER_WIDTH'])) || Number.POSITIVE_INFINITY
  )
}

/** Writes to standard output piece by piece, no faster than the reader takes them. */
export async function write(pieces: Iterable<string>): Promise<void> {
  let buffer = ''
  for (const piece of pieces) {
    buffer += piece
    if (buffer.length < 65_536) continue
    if (!process.stdout.write(buffer)) await once(process.stdout, 'drain')
    buffer = ''
  }
  process.stdout.write(buffer)
}

/** Prints a document for people. */
export function show(document: Document): Promise<void> {
  return print('table', { json: undefined, document: () => document })
}

/** Prints lines for people, each on a line of its own whatever it holds. */
export function say(...lines: readonly Line[]): void {
  for (const line of lines) process.stdout.write(`${toldNow(line)}\n`)
}

/** Prints the same to standard error. */
export function note(...lines: readonly Line[]): void {
  for (const line of lines) process.stderr.write(`${toldNow(line)}\n`)
}

function toldNow(line: Line): string {
  return new Times(Date.now()).text(printable(wordsOf(line)))
}
