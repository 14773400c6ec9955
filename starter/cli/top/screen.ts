import { writeStyled } from '../../document/terminal.ts'

/** Another screen, without a cursor, whose long lines are cut rather than continued. */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Terminals that know it show what is between these at once. */
const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']

/** Draws frames on a terminal, writing only lines that changed, and gives the terminal back as it was. */
export class Screen {
  readonly #out: NodeJS.WriteStream
  #lines: readonly string[] = []
  #isOpen = false

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#lines = []
    writeStyled(this.#out, enter)
  }

  /** Gives the terminal back. More calls do nothing. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    writeStyled(this.#out, leave)
  }

  /** After the terminal changed its size, everything is drawn again. */
  forget(): void {
    this.#lines = []
    if (this.#isOpen) writeStyled(this.#out, '\u001b[2J')
  }

  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    const changes = changesBetween(this.#lines, lines)
    this.#lines = lines
    if (changes !== '') writeStyled(this.#out, `${begin}${changes}${end}`)
  }
}

/** Returns what turns one frame into another on a terminal. */
export function changesBetween(before: readonly string[], after: readonly string[]): string {
  const written = after.flatMap((line, at) => (line === before[at] ? [] : [`${lineStart(at)}${line}\u001b[K`]))
  const rest = before.length > after.length ? [`${lineStart(after.length)}\u001b[J`] : []
  return [...written, ...rest].join('')
}

/** Moves the cursor to the beginning of a line, counted from 0. */
const lineStart = (line: number) => `\u001b[${line + 1};1H`
