import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

/** The text of a file, or of standard input for `-`; it has to be asked for once only. Errors: of the file system. */
export function readInput(file: string): Promise<string> {
  // Reading the descriptor at once would fail with EAGAIN on a pipe that does not block and whose writer is slow.
  return file === '-' ? text(process.stdin) : readFile(file, 'utf8')
}
