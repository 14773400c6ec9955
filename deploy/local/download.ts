import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Release {
  readonly url: string
  /** A file that holds the SHA-256 of the download: alone, or in a line that ends with its name. */
  readonly checksumUrl: string
  /** The path inside, when the download is a tar archive. */
  readonly member?: string
}

/** A place that does not answer within this time is taken for unreachable, and the server is built instead. */
const answerMs = 2000
const downloadMs = 180_000

/** Whether a binary's official place answers at once. */
export async function answers({ checksumUrl }: Release): Promise<boolean> {
  return (await fetchBytes(checksumUrl, answerMs)) !== undefined
}

/** The bytes of a binary from its official place; undefined where that does not answer at once. Errors: a wrong checksum. */
export async function download(
  { url, checksumUrl, member }: Release,
  progress: (line: string) => void,
): Promise<Buffer | undefined> {
  const sums = await fetchBytes(checksumUrl, answerMs)
  if (sums === undefined) return undefined
  progress(`downloading ${url}`)
  const bytes = await fetchBytes(url, downloadMs)
  if (bytes === undefined) return undefined
  const file = url.slice(url.lastIndexOf('/') + 1)
  const lines = sums.toString().trim().split('\n')
  const wanted = (lines.find((line) => line.trim().endsWith(file)) ?? lines[0] ?? '').trim().split(/\s+/)[0]
  const got = createHash('sha256').update(bytes).digest('hex')
  if (got !== wanted)
    throw new Error(`${url}: SHA-256 is ${got}, but ${checksumUrl} says ${wanted}; the download was not used`)
  return member === undefined ? bytes : extract(bytes, member)
}

async function fetchBytes(url: string, ms: number): Promise<Buffer | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ms) })
    return response.ok ? Buffer.from(await response.arrayBuffer()) : undefined
  } catch {
    return undefined
  }
}

async function extract(archive: Buffer, member: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-download-'))
  try {
    await writeFile(join(folder, 'archive.tar.gz'), archive)
    await run('tar', ['-xzf', 'archive.tar.gz', member], { cwd: folder })
    return await readFile(join(folder, member))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
