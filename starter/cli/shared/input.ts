import {
  closeSync,
  createReadStream,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { ReportedError } from '../../document/reported-error.ts'
import { type InputFile, inputName } from '../../files/input-file.ts'

/** A file that could not be read: why, and what to do. */
export interface UnreadableFile {
  readonly file: string
  readonly message: string
}

/** Just below the longest text that there can be. */
const mostBytes = 500 * 1024 * 1024

let standardInput: Promise<Uint8Array<ArrayBuffer>> | undefined

/** Reads a file, or standard input for `-`, which is the same however often it is asked for. No two share their bytes. */
export async function readInput(file: string): Promise<InputFile | UnreadableFile> {
  try {
    if (file !== '-') return { file, bytes: await readFile(file) }
    standardInput ??= collect(process.stdin)
    return { file, bytes: (await standardInput).slice() }
  } catch (error) {
    return { file, message: `cannot be read: ${reasonOf(error)}` }
  }
}

/** Reads a file that a command cannot do without. Errors: ReportedError. */
export async function needInput(file: string): Promise<InputFile> {
  const input = await readInput(file)
  if ('bytes' in input) return input
  throw new ReportedError(`${inputName(file)}: ${input.message}`)
}

/** How names of manifests end. */
export const manifestSuffixes = ['.json', '.yaml', '.yml']

/** Returns the manifests below a directory, which may have none, or what is named. Links are followed, and what two names lead to is there once. */
export function filesOf(input: string): readonly string[] {
  if (input === '-' || !isDirectory(input)) return [input]
  return manifestsBelow(input, new Set()).toSorted()
}

/** `seen`: real paths of what was looked at, since a link may lead back to a directory that it is in. */
function manifestsBelow(directory: string, seen: Set<string>): readonly string[] {
  if (isTwice(directory, seen)) return []
  const entries = readdirSync(directory, { withFileTypes: true })
  // What is there itself goes by its own name.
  const ordered = entries.toSorted((a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()))
  return ordered.flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory() || (entry.isSymbolicLink() && isDirectory(path))) return manifestsBelow(path, seen)
    const isManifest = manifestSuffixes.some((suffix) => entry.name.endsWith(suffix))
    return isManifest && (entry.isFile() || entry.isSymbolicLink()) && !isTwice(path, seen) ? [path] : []
  })
}

function isTwice(path: string, seen: Set<string>): boolean {
  return seen.size === seen.add(realPath(path)).size
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A link to nothing: reading it says so.
    return path
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Reading it says what is wrong.
    return false
  }
}

class TooLarge extends Error {}

/** Without promises of `fs`, whose code would take longer to load than most files to read. */
async function readFile(file: string): Promise<Uint8Array<ArrayBuffer>> {
  const fd = openSync(file, 'r')
  try {
    const stats = fstatSync(fd)
    if (stats.isFile() && stats.size > mostBytes) throw new TooLarge()
    // The size of pipes and devices says nothing.
    if (!stats.isFile() || stats.size === 0) return await collect(createReadStream(file, { fd, autoClose: false }))
    return owned(readFileSync(fd))
  } finally {
    closeSync(fd)
  }
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    size += chunk.length
    if (size > mostBytes) throw new TooLarge()
  }
  return owned(Buffer.concat(chunks))
}

/** Bytes whose memory can be given back: those of small buffers lie together with others'. */
function owned(buffer: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer: memory, byteLength } = buffer
  return memory instanceof ArrayBuffer && memory.byteLength === byteLength
    ? new Uint8Array(memory)
    : new Uint8Array(buffer)
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file (ENOENT); check the path',
  ENOTDIR: 'there is no such file (ENOTDIR); check the path',
  EISDIR: 'it is a directory (EISDIR); name the files in it',
  EACCES: 'permission denied (EACCES); make it readable',
  EPERM: 'permission denied (EPERM); make it readable',
  ELOOP: 'its links go in a circle (ELOOP); check the path',
  ENAMETOOLONG: 'its name is too long (ENAMETOOLONG); check the path',
}

function reasonOf(error: unknown): string {
  if (error instanceof TooLarge)
    return `it is larger than the ${mostBytes / 1024 / 1024} MiB that are read; give it in parts, such as one for each namespace`
  const { code, message } = error as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? message
}
