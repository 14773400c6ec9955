import { readYaml, type YamlDocument } from '../../../api/yaml/read.ts'
import { pathText } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { note, print } from '../../document/print.ts'
import { type InputFile, takeText } from '../../files/input-file.ts'
import { type UnreadableFile } from '../shared/input.ts'
import { itemsOf, subjectOf } from '../shared/manifest-words.ts'
import type { OutputFormat } from '../shared/options.ts'
import { validateObject } from './validate-object.ts'

/** What the command line asks for, with its files. */
interface ValidateInput {
  readonly files: readonly (InputFile | UnreadableFile)[]
  readonly output: OutputFormat
}

interface FileError {
  readonly path: string
  readonly message: string
  /** Looked up only where it is printed; of the file as a whole: undefined. */
  readonly line: (() => number) | undefined
}

interface FileResult {
  readonly file: string
  readonly errors: readonly FileError[]
  /** What cannot work or changes nothing, and is no error. */
  readonly warnings: readonly FileError[]
  readonly skipped: readonly string[]
  readonly isUnreadable?: true
}

/** Errors that are printed of one file. */
const mostErrors = 100
const longestMessage = 1000
const longestName = 300

/** Checks files and prints what is wrong with them. Returns the exit code. */
export async function validateFiles({ files, output }: ValidateInput): Promise<number> {
  const results = files.map(validateFile)
  for (const { file, skipped, warnings } of results) {
    note(...skipped.map((what) => `${file}: ${what}`))
    note(...shown(warnings, 'warnings').map((one) => `${placeOf(file, one)}: warning: ${one.message}`))
  }
  await print(output, { json: results.map(asJson), document: () => [results.flatMap(linesOf)] })
  if (results.some(({ isUnreadable }) => isUnreadable)) return 2
  return results.some(({ errors }) => errors.length > 0) ? 1 : 0
}

function asJson({ file, errors, warnings }: FileResult) {
  const reported = ({ path, message, line }: FileError) => ({
    path,
    message: line === undefined ? message : `line ${line()}: ${message}`,
  })
  return {
    file,
    valid: errors.length === 0,
    errors: shown(errors, 'errors').map(reported),
    warnings: shown(warnings, 'warnings').map(reported),
  }
}

function linesOf({ file, errors }: FileResult): readonly string[] {
  if (errors.length === 0) return [`${file}: valid`]
  return shown(errors, 'errors').map(
    (error) => `${placeOf(file, error)}: ${error.path === '' ? '' : `${error.path}: `}${error.message}`,
  )
}

function placeOf(file: string, { line }: FileError): string {
  return line === undefined ? file : `${file}:${line()}`
}

function shown(errors: readonly FileError[], what: string): readonly FileError[] {
  const first = errors.slice(0, mostErrors).sort((a, b) => (a.line?.() ?? 0) - (b.line?.() ?? 0))
  const next = errors[mostErrors]
  if (next === undefined) return first
  const message = `and ${errors.length - mostErrors} ${what} more; correct these first`
  return [...first, { path: '', message, line: next.line }]
}

function validateFile(input: InputFile | UnreadableFile): FileResult {
  const { file } = input
  if (!('bytes' in input)) return { ...refused(file, input.message), isUnreadable: true }
  const taken = takeText(input)
  if (taken.kind === 'refused') return refused(file, taken.message)
  const documents = readYaml(taken.text).filter(({ value }) => value !== null)
  if (documents.length === 0) return refused(file, 'holds no manifest; give YAML or JSON with apiVersion and kind')
  const errors: FileError[] = []
  const warnings: FileError[] = []
  const skipped: string[] = []
  for (const document of documents) {
    for (const result of validateDocument(document)) {
      if (result.kind === 'skipped') skipped.push(result.message)
      else {
        errors.push(...result.errors)
        warnings.push(...result.warnings)
      }
    }
  }
  return { file, errors, warnings, skipped }
}

function refused(file: string, message: string): FileResult {
  return { file, errors: [{ path: '', message, line: undefined }], warnings: [], skipped: [] }
}

type DocumentResult =
  | { readonly kind: 'skipped'; readonly message: string }
  | { readonly kind: 'checked'; readonly errors: readonly FileError[]; readonly warnings: readonly FileError[] }

/** One object of a file. The line of a list's item is looked up only where it is printed. */
interface Manifest {
  readonly value: unknown
  /** How remarks name its place. */
  readonly place: string
  readonly lineOf: YamlDocument['lineOf']
}

/** The objects of a document: those of a list, as `kubectl get` writes it, one by one. */
function manifestsOf({ value, line, lineOf }: YamlDocument): readonly Manifest[] {
  const items = isObject(value) ? itemsOf(value) : undefined
  if (items === undefined)
    return [{ value, place: `line ${line}`, lineOf: (path) => (path.length === 0 ? line : lineOf(path)) }]
  return items.map((item, at) => ({
    value: item,
    place: `items[${at}]`,
    lineOf: (path) => lineOf(['items', at, ...path]),
  }))
}

function validateDocument(document: YamlDocument): readonly DocumentResult[] {
  const errors = document.problems.map(({ message, line }) => ({
    path: '',
    message: `is not YAML: ${message}`,
    line: () => line,
  }))
  if (errors.length > 0) return [{ kind: 'checked', errors, warnings: [] }]
  return manifestsOf(document).map(validateManifest)
}

function validateManifest({ value, place, lineOf }: Manifest): DocumentResult {
  const here = (message: string): FileError => ({ path: '', message, line: () => lineOf([]) })
  if (!isObject(value))
    return { kind: 'checked', errors: [here('is not a manifest; write a map with apiVersion and kind')], warnings: [] }
  const subject = subjectOf(value, longestName)
  const result = validateObject(value)
  if (result.kind === 'skipped') {
    const remark = result.remark === undefined ? '' : `: ${result.remark}`
    return { kind: 'skipped', message: `${place}: ${subject} skipped${remark}` }
  }
  const reported = (message: string) => `${subject}: ${printableStart(message, longestMessage)}`
  return {
    kind: 'checked',
    errors: result.errors.map(({ path, message }) => ({
      path: pathText(path),
      message: reported(message),
      line: () => lineOf(path),
    })),
    warnings: result.warnings.map((message) => ({
      path: '',
      message: reported(message),
      line: () => lineOf(fieldOf(message)),
    })),
  }
}

/** The field that a warning begins with, in the words of the tables of warnings. */
function fieldOf(message: string): readonly string[] {
  const [field] = /^spec[.a-zA-Z]*/.exec(message) ?? []
  return field?.split('.') ?? []
}
