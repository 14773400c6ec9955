import { objectProblem } from '../../api/shapes/objects.ts'
import { scenarioShape } from '../../api/shapes/scenario.ts'
import { type Problem, problemOf, valueText } from '../../api/shapes/shape.ts'
import { pathText } from '../../core/values/field-error.ts'
import { isDeeper, isObject, mostLevels } from '../../core/values/json.ts'
import { printableStart } from '../../core/values/printable.ts'
import { InputError } from '../document/reported-error.ts'
import { type Json, namespaceOf } from './cluster-objects.ts'
import { type InputFile, inputName, takeText } from './input-file.ts'

/** A JSON or YAML document as a file holds it. */
export interface SourceDocument {
  /** As messages name it. */
  readonly file: string
  readonly value: unknown
  /** The line on which a field stands; undefined where it cannot be reported. */
  readonly lineOf: (path: readonly (string | number)[]) => number | undefined
}

/** The documents of files, in the order given. Errors: InputError. */
export async function readDocuments(files: readonly InputFile[]): Promise<readonly SourceDocument[]> {
  const documents: SourceDocument[] = []
  for (const input of files) {
    const file = inputName(input.file)
    const decoded = takeText(input)
    if (decoded.kind === 'refused') throw new InputError(`${file}: ${decoded.message}`)
    documents.push(...(await parse(file, decoded.text)))
  }
  return documents
}

/** JSON is tried first where it may be: its parser is far faster. */
async function parse(file: string, source: string): Promise<readonly SourceDocument[]> {
  if (!/^\s*[[{]/.test(source)) return parseYaml(file, source)
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (error) {
    // It may be YAML that begins with a brace, or several documents; if not, the JSON parser's word is the clearer one.
    return parseYaml(file, source).catch(() => {
      throw new InputError(`${file}: is not JSON: ${(error as Error).message}`)
    })
  }
  if (isDeeper(value, mostLevels))
    throw new InputError(`${file}: is nested more than ${mostLevels} levels deep; flatten it`)
  return [{ file, value, lineOf: () => undefined }]
}

async function parseYaml(file: string, source: string): Promise<readonly SourceDocument[]> {
  const { readYaml } = await import('../../api/yaml/read.ts')
  return readYaml(source).map(({ value, problems, lineOf }) => {
    const [problem] = problems
    if (problem !== undefined) throw new InputError(`${file}:${problem.line}: is not YAML: ${problem.message}`)
    return { file, value, lineOf }
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
  return listed(document.value, { document, path: [] }, {})
}

function listed(
  value: unknown,
  { document, path }: Omit<Manifest, 'json'>,
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
  return items.flatMap((item, at) => listed(item, { document, path: [...path, 'items', at] }, inherited))
}

/** `file:12`, or `file: items[3]` where there are no lines. */
export function placeOf(document: SourceDocument, path: readonly (string | number)[]): string {
  const line = document.lineOf(path)
  if (line !== undefined) return `${document.file}:${line}`
  const at = pathText(path)
  return at === '' ? document.file : `${document.file}: ${at}`
}

const longestName = 300
/** Errors: InputError that names file, object, field, value and remedy. */
export function checkScenario({ file, value }: SourceDocument): void {
  const problem = problemOf(scenarioShape, value)
  if (problem === undefined) return
  const [list, at, ...rest] = problem.path
  const entry = typeof at === 'number' ? entryOf(value, String(list), at) : undefined
  if (entry === undefined) throw new InputError(`${file}: ${sentence(problem.path, problem)}`)
  const named = list === 'objects' ? subjectOf(entry) : nameOf(entry)
  throw new InputError(`${file}: ${list}[${at}] ${named}: ${sentence(rest, problem)}`)
}

function nameOf({ name }: Json): string {
  return typeof name === 'string' ? `"${printableStart(name, longestName)}"` : 'without a name'
}

function entryOf(value: unknown, name: string, at: number): Json | undefined {
  const entries: unknown = isObject(value) ? value[name] : undefined
  const entry: unknown = Array.isArray(entries) ? entries[at] : undefined
  return isObject(entry) ? entry : undefined
}

/** What is wrong with a manifest of a known kind, as one line; undefined: nothing. */
export function checkManifest({ document, path }: Manifest, json: Json): string | undefined {
  const problem = objectProblem(json)
  if (problem === undefined) return undefined
  return `${placeOf(document, [...path, ...problem.path])}: ${subjectOf(json)}: ${sentence(problem.path, problem)}`
}

function sentence(path: Problem['path'], { value, remedy }: Problem): string {
  const at = pathText(path)
  return `${at === '' ? '' : `${at} `}${valueText(value)}; ${remedy}`
}

/** How messages name an object. */
export function subjectOf({ kind, metadata }: Json): string {
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : undefined
  const shownKind = typeof kind === 'string' ? printableStart(kind, longestName) : 'object'
  if (name === undefined) return `${shownKind} without a name`
  const namespace = namespaceOf(kind, metadata)
  const whole = `${namespace === undefined ? '' : `${namespace}/`}${name}`
  return `${shownKind} "${printableStart(whole, longestName)}"`
}
