import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the page. */
export interface PageFile {
  readonly type: string
  readonly bytes: Buffer
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

const pageFolder = fileURLToPath(new URL('../dist/', import.meta.url))

/**
 * Reads the built page into memory, by the path of each file in a URL: a request names a key of this map, and never a path of the machine. Files of
 * other types, such as source maps, are left out. Empty where the page was not built.
 */
export async function readPage(folder = pageFolder): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>()
  for (const entry of await entriesOf(folder)) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    files.set(`/${relative(folder, path).split(sep).join('/')}`, { type, bytes, etag })
  }
  const index = files.get('/index.html')
  if (index !== undefined) files.set('/', index)
  return files
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { recursive: true, withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
