import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export interface Ended {
  readonly out: string
  readonly err: string
  readonly code: number | null
}

/** Runs a program with some input until it ends, in whatever way. */
export async function runToEnd(command: string, args: readonly string[], input = ''): Promise<Ended> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  // A program that ends without having read all of it says why by its status.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { out, err, code }
}

/** What a program writes; throws unless it ends well. */
export async function outputOf(command: string, args: readonly string[], input = ''): Promise<Ended> {
  const ended = await runToEnd(command, args, input)
  if (ended.code !== 0)
    throw new Error(`${command} ${args.join(' ')}: exit status ${ended.code}\n${ended.err.slice(-2000)}`)
  return ended
}
