import { objectProblem } from '../../../api/shapes/objects.ts'
import { scenarioShape } from '../../../api/shapes/scenario.ts'
import { type Problem, problemOf, valueText } from '../../../api/shapes/shape.ts'
import { pathText } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'
import type { Json } from './cluster-objects.ts'
import { namespaceOf } from './cluster-objects.ts'
import { InputError } from './input-error.ts'
import { type Manifest, placeOf, type SourceDocument } from './source.ts'

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
