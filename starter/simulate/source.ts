import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readInput } from '../input.ts'
import { InputError, isObject } from './shape.ts'

/** A JSON or YAML document as a file holds it. */
export interface SourceDocument {
  readonly file: string
  readonly value: unknown
  /** The line on which a field stands; undefined where it cannot be told. */
  readonly lineOf: (path: readonly (string | number)[]) => number | undefined
}

const suffixes = ['.json', '.yaml', '.yml']

/** The documents of files, of all manifests below directories, and of standard input (`-`), in the order given. Errors: InputError. */
export async function readDocuments(inputs: readonly string[]): Promise<readonly SourceDocument[]> {
  const documents: SourceDocument[] = []
  for (const file of inputs.flatMap(filesOf)) documents.push(...(await parse(file, await contentsOf(file))))
  return documents
}

function filesOf(input: string): readonly string[] {
  if (input === '-' || !isDirectory(input)) return [input]
  const files = readdirSync(input, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && suffixes.some((suffix) => entry.name.endsWith(suffix)))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  if (files.length === 0)
    throw new InputError(`${input}: the directory holds no manifests; files end in ${suffixes.join(', ')}`)
  return files
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

async function contentsOf(file: string): Promise<string> {
  try {
    return await readInput(file)
  } catch (error) {
    throw new InputError(`${nameOf(file)}: cannot be read: ${(error as Error).message}`)
  }
}

const nameOf = (file: string) => (file === '-' ? 'standard input' : file)

/** JSON is tried first where it may be: its parser is far faster. */
async function parse(file: string, source: string): Promise<readonly SourceDocument[]> {
  if (!/^\s*[[{]/.test(source)) return parseYaml(file, source)
  try {
    return [{ file: nameOf(file), value: JSON.parse(source), lineOf: () => undefined }]
  } catch (error) {
    // It may be YAML that begins with a brace, or several documents; if not, the JSON parser's word is the clearer one.
    return parseYaml(file, source).catch(() => {
      throw new InputError(`${nameOf(file)}: is not JSON: ${(error as Error).message}`)
    })
  }
}

async function parseYaml(file: string, source: string): Promise<readonly SourceDocument[]> {
  const { isNode, LineCounter, parseAllDocuments } = await import('yaml')
  const lines = new LineCounter()
  return parseAllDocuments(source, { lineCounter: lines, prettyErrors: false }).map((document) => {
    const [error] = document.errors
    if (error !== undefined)
      throw new InputError(`${nameOf(file)}:${lines.linePos(error.pos[0]).line}: is not YAML: ${error.message}`)
    const lineOf = (path: readonly (string | number)[]) => {
      for (let length = path.length; length >= 0; length--) {
        const node = document.getIn(path.slice(0, length), true)
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
      }
      return undefined
    }
    return { file: nameOf(file), value: document.toJS({ maxAliasCount: -1 }), lineOf }
  })
}

/** One object of a manifest. */
export interface Manifest {
  readonly json: Record<string, unknown>
  readonly document: SourceDocument
  /** Where it stands in its document. */
  readonly path: readonly (string | number)[]
}

/** The objects of a document: those of a list one by one. Errors: InputError. */
export function manifestsOf(document: SourceDocument): readonly Manifest[] {
  if (document.value === null || document.value === undefined) return []
  return listed(document.value, document, [], {})
}

function listed(
  value: unknown,
  document: SourceDocument,
  path: readonly (string | number)[],
  defaults: Readonly<Record<string, unknown>>,
): readonly Manifest[] {
  if (!isObject(value))
    throw new InputError(`${placeOf(document, path)}: is not a Kubernetes object; write a map with apiVersion and kind`)
  const json = { ...defaults, ...value }
  const { kind, items } = json
  if (typeof kind !== 'string')
    throw new InputError(
      `${placeOf(document, path)}: kind ${kind === undefined ? 'is missing' : 'is not a text'}; every object has one`,
    )
  if (!kind.endsWith('List') || !Array.isArray(items)) return [{ json, document, path }]
  // Items of a typed list, such as PodList, do not say themselves what they are.
  const inherited = kind === 'List' ? {} : { apiVersion: json['apiVersion'], kind: kind.slice(0, -'List'.length) }
  return items.flatMap((item, at) => listed(item, document, [...path, 'items', at], inherited))
}

/** `file:12`, or `file: items[3]` where there are no lines. */
export function placeOf(document: SourceDocument, path: readonly (string | number)[]): string {
  const line = document.lineOf(path)
  if (line !== undefined) return `${document.file}:${line}`
  const at = path.map((key) => (typeof key === 'number' ? `[${key}]` : key)).join('')
  return at === '' ? document.file : `${document.file}: ${at}`
}
