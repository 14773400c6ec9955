// Golden vectors are kept compressed: a pack holds the JSON files of one suite, a line for each.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

const folder = fileURLToPath(new URL('./golden/', import.meta.url))
const ending = '.ndjson.br'
const packOf = (suite: string) => join(folder, suite + ending)

interface Entry {
  readonly name: string
  readonly content: unknown
}

/** The lines of packs by suite and name: suites in one process share them. Each reader parses its own copy. */
const read = new Map<string, ReadonlyMap<string, string>>()

function linesOf(suite: string): ReadonlyMap<string, string> {
  const known = read.get(suite)
  if (known !== undefined) return known
  const path = packOf(suite)
  if (!existsSync(path))
    throw new Error(
      `golden vectors "${suite}": ${path} is missing; restore it from git, or make it with "npm run vectors -- pack ${suite} FOLDER"`,
    )
  const lines = brotliDecompressSync(readFileSync(path)).toString('utf8').trimEnd().split('\n')
  const byName = new Map(lines.map((line) => [nameOf(line), line]))
  read.set(suite, byName)
  return byName
}

/** The name stands first in a line, so that a large one is not parsed for it. */
function nameOf(line: string): string {
  const name = /^\{"name":"([^"]+)","content":/.exec(line)?.[1]
  if (name === undefined) throw new Error(`not a line of a pack: ${line.slice(0, 80)}`)
  return name
}

/** The suites that have a pack. */
export function suites(): readonly string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(ending))
  return names.map((name) => name.slice(0, -ending.length)).sort()
}

/** The names of the files of a suite, sorted. Errors: the pack is missing. */
export function vectorNames(suite: string): readonly string[] {
  return [...linesOf(suite).keys()]
}

/** One file of a suite, such as `azure/errors`. Errors: the pack or the file is missing. */
export function readVectors(path: string): unknown {
  const [suite = '', name = ''] = path.split('/')
  const line = linesOf(suite).get(name)
  if (line === undefined) throw new Error(`golden vectors "${suite}": there is no file "${name}" in ${packOf(suite)}`)
  return (JSON.parse(line) as Entry).content
}

/** All files of a suite, by name. Errors: the pack is missing. */
export function readSuite(suite: string): readonly unknown[] {
  return vectorNames(suite).map((name) => readVectors(`${suite}/${name}`))
}

/** The bytes of a pack: the same for the same entries, in whatever order they come. */
export function packed(entries: readonly Entry[]): Buffer {
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const text = sorted.map(({ name, content }) => `${JSON.stringify({ name, content })}\n`).join('')
  // A wide window finds what scenarios share over the whole pack.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 }
  return brotliCompressSync(text, { params })
}

/** Puts entries into a suite's pack, in place of those of the same names. Returns how many the pack holds afterwards. */
export function addToPack(suite: string, added: readonly Entry[]): number {
  const names = new Set(added.map(({ name }) => name))
  const kept = existsSync(packOf(suite)) ? vectorNames(suite).filter((name) => !names.has(name)) : []
  const all = [...kept.map((name) => ({ name, content: readVectors(`${suite}/${name}`) })), ...added]
  mkdirSync(folder, { recursive: true })
  writeFileSync(packOf(suite), packed(all))
  read.delete(suite)
  return all.length
}
