import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as after } from 'node:timers/promises'
import { writeStyled } from '../../document/terminal.ts'

/** As often as `kubectl top` has something new to say to a person. */
const everyMs = 5000
const clear = '\u001b[H\u001b[2J'

/** Runs the command that was typed again and again, and shows its answer where it differs, until Ctrl-C. Returns its exit code where its options are wrong. */
export async function watch(): Promise<number> {
  const args = process.argv.slice(1).filter((arg) => !/^(-w|--watch)$/.test(arg))
  const width = process.stdout.isTTY ? { JOINER_WIDTH: String(process.stdout.columns) } : {}
  let shown: string | undefined
  for (;;) {
    const child = spawn(process.execPath, [...process.execArgv, ...args], { env: { ...process.env, ...width } })
    const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
    const [said, answer, code] = await Promise.all([text(child.stderr), text(child.stdout), ended])
    if (said + answer !== shown) {
      if (process.stdout.isTTY) writeStyled(process.stdout, clear)
      else if (shown !== undefined) process.stdout.write('\n')
      process.stderr.write(said)
      process.stdout.write(answer)
    }
    shown = said + answer
    if (code === 2) return code
    await after(everyMs)
  }
}
