import { type Command, Option } from 'commander'
import { isNode, LineCounter, type ParsedNode, parseAllDocuments } from 'yaml'
import { isObject } from '../api/conversion/residue.ts'
import type { FieldError } from '../core/field-error.ts'
import { pathText } from '../core/shape.ts'
import { readInput } from './input.ts'
import { validateObject } from './validate-object.ts'

interface FileError {
  readonly path: string
  readonly message: string
  readonly line: number
}

interface FileResult {
  readonly file: string
  readonly errors: readonly FileError[]
  /** What cannot work or changes nothing, and is no error. */
  readonly warnings: readonly FileError[]
  readonly skipped: readonly string[]
}

export function registerValidate(program: Command): void {
  program
    .command('validate')
    .argument('<files...>', 'YAML files with manifests, or - for standard input')
    .addOption(new Option('--output <format>', 'how the result is printed').choices(['text', 'json']).default('text'))
    .description(
      "check manifests as the API server and Joiner would, without a cluster; other programs' kinds are skipped",
    )
    .action(async (files: readonly string[], { output }: { readonly output: string }) => {
      const results = await Promise.all(files.map(validateFile))
      for (const { file, skipped, warnings } of results) {
        for (const what of skipped) console.error(`${file}: ${what} skipped`)
        for (const { line, message } of warnings) console.error(`${file}:${line}: warning: ${message}`)
      }
      if (output === 'json') console.log(JSON.stringify(results.map(asJson), undefined, 2))
      else for (const result of results) console.log(asText(result))
      if (results.some(({ errors }) => errors.length > 0)) process.exitCode = 1
    })
}

function asJson({ file, errors, warnings }: FileResult): object {
  const told = ({ path, message, line }: FileError) => ({ path, message: `line ${line}: ${message}` })
  return { file, valid: errors.length === 0, errors: errors.map(told), warnings: warnings.map(told) }
}

function asText({ file, errors }: FileResult): string {
  if (errors.length === 0) return `${file}: valid`
  return errors
    .map(({ path, message, line }) => `${file}:${line}: ${path === '' ? '' : `${path}: `}${message}`)
    .join('\n')
}

async function validateFile(file: string): Promise<FileResult> {
  let source: string
  try {
    source = await readInput(file)
  } catch (error) {
    return {
      file,
      errors: [{ path: '', message: `cannot be read: ${String(error)}`, line: 1 }],
      warnings: [],
      skipped: [],
    }
  }
  const lines = new LineCounter()
  const errors: FileError[] = []
  const warnings: FileError[] = []
  const skipped: string[] = []
  for (const document of parseAllDocuments(source, { lineCounter: lines, prettyErrors: false })) {
    const broken = document.errors.map(({ message, pos }) => ({ path: '', message, line: lines.linePos(pos[0]).line }))
    errors.push(...broken)
    const object: unknown = broken.length > 0 ? null : document.toJS()
    if (object === null) continue
    const start = lines.linePos(document.contents?.range[0] ?? 0).line
    if (!isObject(object)) {
      errors.push({ path: '', message: 'is not a manifest', line: start })
      continue
    }
    const result = validateObject(object)
    const subject = `${String(object['kind'])} ${nameOf(object['metadata'])}`
    if (result.kind === 'skipped') skipped.push(`line ${start}: ${subject}`)
    else {
      errors.push(
        ...result.errors.map(({ path, message }) => ({
          path: pathText(path),
          message: `${subject}: ${message}`,
          line: lineOf(document.contents, path, lines) ?? start,
        })),
      )
      warnings.push(...result.warnings.map((text) => ({ path: '', message: `${subject}: ${text}`, line: start })))
    }
  }
  return { file, errors, warnings, skipped }
}

function nameOf(metadata: unknown): string {
  return isObject(metadata) && typeof metadata['name'] === 'string' ? `"${metadata['name']}"` : 'without a name'
}

/** Where a field stands; of one that is missing, the nearest that should hold it. */
function lineOf(contents: ParsedNode | null, path: FieldError['path'], lines: LineCounter): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const offset = lookUp(contents, path.slice(0, length))
    if (offset !== undefined) return lines.linePos(offset).line
  }
  return undefined
}

/** The offset of a field's key, or of a list's element. */
function lookUp(contents: ParsedNode | null, path: FieldError['path']): number | undefined {
  let node: unknown = contents
  let offset: number | undefined
  for (const key of path) {
    const items: unknown = isNode(node) && 'items' in node ? node.items : undefined
    if (!Array.isArray(items)) return undefined
    const item: unknown = typeof key === 'number' ? items[key] : items.find((pair) => String(pair.key) === key)
    const holder = typeof key === 'number' ? item : isPair(item) ? item.key : undefined
    if (!isNode(holder)) return undefined
    offset = holder.range?.[0]
    node = typeof key === 'number' ? item : isPair(item) ? item.value : undefined
  }
  return offset
}

function isPair(value: unknown): value is { readonly key: unknown; readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value
}
