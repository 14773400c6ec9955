// A command on a pseudo-terminal, which `script` of util-linux makes.
import { spawn, spawnSync } from 'node:child_process'

/** Whether this machine has `script`. */
export const hasPseudoTerminals = spawnSync('script', ['--version']).status === 0

/** A text that is waited for comes within this time, or the command is ended. */
const patienceMs = 60_000

/** How a command is run. */
export interface TerminalOptions {
  readonly rows: number
  readonly columns: number
  readonly env?: Readonly<Record<string, string | undefined>>
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Runs a command on a terminal. After its end a shell prints its exit code and the terminal's settings there. */
export function onTerminal(words: readonly string[], { rows, columns, env = process.env }: TerminalOptions) {
  const inner = `echo "PID=$$ TTY=$(tty)"; exec ${words.map(quoted).join(' ')}`
  const shell = `stty rows ${rows} cols ${columns}; sh -c ${quoted(inner)}; echo "CODE=$?"; stty -a`
  const child = spawn('script', ['-qfec', shell, '/dev/null'], { env: { ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  const waiting: (() => void)[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    for (const look of waiting.splice(0)) look()
  })
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => {
      for (const look of waiting.splice(0)) look()
      resolve()
    })
  })
  const value = (name: string) => new RegExp(`${name}=(\\S+)`).exec(output)?.[1] ?? ''
  return {
    /** Waits for a text, with `from` behind that position. Returns how much was printed by then. */
    async until(text: string, from = 0): Promise<number> {
      const late = setTimeout(() => child.kill(), patienceMs)
      while (!output.includes(text, from)) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`the terminal never showed ${JSON.stringify(text)}, but: ${output.slice(-2000)}`)
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      clearTimeout(late)
      return output.length
    },
    press: (keys: string) => child.stdin.write(keys),
    signal: (name: NodeJS.Signals) => process.kill(Number(value('PID')), name),
    resize: (lines: number, characters: number) =>
      spawnSync('stty', ['-F', value('TTY'), 'rows', String(lines), 'cols', String(characters)]),
    kill: () => child.kill('SIGKILL'),
    /** Waits for the end. */
    async end(): Promise<{ readonly code: number; readonly output: string }> {
      await closed
      return { code: Number(value('CODE')), output }
    },
  }
}
