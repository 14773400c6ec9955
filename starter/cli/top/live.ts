import { emitKeypressEvents } from 'node:readline'
import { writeStyled } from '../../document/terminal.ts'
import type { ClusterWatch } from '../../picture/watch/from-watch.ts'
import { frameOf, type Place } from './frame.ts'
import { type Key, pressed, type TopState } from './keys.ts'

type Watch = Pick<ClusterWatch, 'view' | 'onChange'>

/** What a shell counts for a process that these signals end. */
const signals = [
  ['SIGINT', 130],
  ['SIGHUP', 129],
  ['SIGTERM', 143],
] as const
const clockMs = 1000
const [defaultColumns, defaultRows] = [80, 24]

/** How a live view begins, and where. */
export interface LiveOptions extends Pick<Place, 'paint' | 'server' | 'resources'> {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly state: TopState
}

/** Shows a cluster until the user leaves or a signal comes. Returns the exit code. The terminal is as before, however it ends. */
export function showLive(watch: Watch, options: LiveOptions): Promise<number> {
  return new Promise((resolve) => new LiveView(watch, options, resolve).start())
}

class LiveView {
  readonly #watch: Watch
  readonly #options: LiveOptions
  readonly #end: (code: number) => void
  readonly #screen: Screen
  readonly #undo: (() => void)[] = []
  #state: TopState
  #shown = { page: 1, count: 0, offset: 0, nodePools: [] as readonly string[] }

  constructor(watch: Watch, options: LiveOptions, end: (code: number) => void) {
    this.#watch = watch
    this.#options = options
    this.#end = end
    this.#state = options.state
    this.#screen = new Screen(options.stdout)
  }

  start(): void {
    const { stdin, stdout } = this.#options
    const giveBack = () => this.#giveBack()
    // What ends the process otherwise prints its error on the user's own screen.
    process.prependListener('uncaughtException', giveBack)
    process.prependListener('unhandledRejection', giveBack)
    process.on('exit', giveBack)
    this.#undo.push(() => {
      process.off('uncaughtException', giveBack)
      process.off('unhandledRejection', giveBack)
      process.off('exit', giveBack)
    })
    for (const [signal, code] of signals) {
      const stop = () => this.#stop(code)
      process.on(signal, stop)
      this.#undo.push(() => process.off(signal, stop))
    }
    const resized = () => {
      this.#screen.forget()
      this.#draw()
    }
    stdout.on('resize', resized)
    const clock = setInterval(() => this.#draw(), clockMs)
    const forgetListener = this.#watch.onChange(() => this.#draw())
    const onKey = (_: string | undefined, key: Key) => this.#press(key)
    if (stdin.isTTY) {
      emitKeypressEvents(stdin)
      stdin.on('keypress', onKey)
    }
    this.#undo.push(() => {
      stdout.off('resize', resized)
      clearInterval(clock)
      forgetListener()
      stdin.off('keypress', onKey)
    })
    this.#take()
  }

  /** Takes the terminal: another screen, and keys as they are pressed. */
  #take(): void {
    const { stdin } = this.#options
    this.#screen.open()
    if (stdin.isTTY) stdin.setRawMode(true).resume()
    this.#draw()
  }

  #giveBack(): void {
    const { stdin } = this.#options
    this.#screen.close()
    if (stdin.isTTY) stdin.setRawMode(false).pause()
  }

  #stop(code: number): void {
    this.#giveBack()
    for (const undo of this.#undo.splice(0)) undo()
    this.#end(code)
  }

  #press(key: Key): void {
    const next = pressed(this.#state, key, this.#shown)
    if (next === 'quit') return this.#stop(0)
    if (next === 'interrupt') return this.#stop(130)
    if (next === 'suspend') return this.#suspend()
    this.#state = next
    this.#draw()
  }

  /** Ctrl-Z: the shell has its terminal until it continues this process. */
  #suspend(): void {
    this.#giveBack()
    process.once('SIGCONT', () => this.#take())
    // The whole job, as the terminal would do.
    process.kill(0, 'SIGTSTP')
  }

  #draw(): void {
    const { stdout, paint, server, resources } = this.#options
    const { columns, rows } = stdout
    const view = { ...this.#watch.view(), atMs: Date.now() }
    const place = { columns: columns || defaultColumns, rows: rows || defaultRows, paint, server, resources }
    const { lines, ...shown } = frameOf(view, this.#state, place)
    this.#shown = { ...shown, nodePools: view.pools.map(({ name }) => name) }
    this.#state = { ...this.#state, offset: shown.offset }
    this.#screen.draw(lines)
  }
}

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
