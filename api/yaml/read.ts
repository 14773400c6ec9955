import {
  Composer,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  Schema,
} from 'yaml'
import { isDeeper, mostLevels } from '../../core/values/json.ts'
import { printableStart } from '../../core/values/printable.ts'
import { mostProblems, valueOf, type YamlProblem } from './value.ts'

/** A document of a YAML text. JSON is YAML too, and reads far faster with `JSON.parse`. */
export interface YamlDocument {
  /** Plain data: texts, numbers, true, false, null, lists, and maps with own keys only. Undefined when there are problems. */
  readonly value: unknown
  /** Why it cannot be read; empty when it can. */
  readonly problems: readonly YamlProblem[]
  /** First line of its contents. */
  readonly line: number
  /** Returns the line of a field; for a missing one, that of its nearest existing parent. */
  readonly lineOf: (path: Path) => number
  /** The document as written, with comments, anchors and styles; undefined for a text that is entirely JSON, and for an unreadable one. */
  readonly tree: Document.Parsed | undefined
}

/** The parser needs 140 bytes of memory for each character of a manifest, and 200 for the densest text: less than the 2 GiB that any Node may use. */
const mostCharacters = 8 * 1024 * 1024
const mostDocuments = 10_000
/** Each is an object with a trace. */
const mostErrors = 1000
/** Tokens are keys, values, signs, blanks and line breaks: block style has up to 0.45 of them for each character. */
const mostTokens = (characters: number) => 250_000 + 0.5 * characters
/** A token costs some 240 bytes of memory; one that may begin a collection costs as much as several. */
const costs: ReadonlyMap<string, number> = new Map(Object.entries({ '[': 4, '{': 4, '-': 2, '?': 2 }))
/**
 * Longer texts that begin like JSON are read by `JSON.parse`, at a hundredth of the cost. Of duplicate keys the last one counts then, and YAML in
 * braces is not supported at that length.
 */
const longJson = 100_000
/** A level of nesting holds a collection and the value that is being read. */
const mostOpenTokens = mostLevels + 2
const longestMessage = 200

const schema = new Schema({ schema: 'core', resolveKnownTags: false })
const options = { schema, uniqueKeys: false, prettyErrors: false } as const
/** Characters that YAML forbids outside of escapes, as in kubectl's parser. */
const forbidden = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

/**
 * Reads the documents of a possibly hostile text: time and memory grow only with its length. A text beyond the limits ends with a document whose
 * problem says so.
 */
export function readYaml(source: string): readonly YamlDocument[] {
  const json = source.length > longJson && /^\s*[[{]/.test(source) ? readJson(source) : undefined
  const documents = json === undefined ? readDocuments(source) : [json]
  const isTemplate = source.includes('{{') && source.includes('}}')
  return isTemplate && documents.some(({ problems }) => problems.length > 0) ? documents.map(asTemplate) : documents
}

/** A document that cannot be read, of a text with what programs such as Helm fill in. */
function asTemplate(document: YamlDocument): YamlDocument {
  const problems = document.problems.map(({ line, message }) => ({
    line,
    message: `${message}; it seems to be a template: render it first, such as by helm template`,
  }))
  return { ...document, problems }
}

/** Undefined for several documents, of which each may be JSON. */
function readJson(source: string): YamlDocument | undefined {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (error) {
    if (/^---/m.test(source)) return undefined
    const message = error instanceof Error ? error.message : ''
    const line = Number(/\bline (\d+)/.exec(message)?.[1] ?? 1)
    const problem = { line, message: printableStart(message, longestMessage) }
    return { value: undefined, problems: [problem], line, lineOf: () => line, tree: undefined }
  }
  const problems = isDeeper(value, mostLevels) ? [{ line: 1, message: tooDeep }] : []
  // Lines are needed only for errors, which are rare.
  let document: YamlDocument | undefined
  const lineOf = (path: Path) => {
    document ??= readDocuments(source)[0]
    return document?.lineOf(path) ?? 1
  }
  return { value: problems.length > 0 ? undefined : value, problems, line: 1, lineOf, tree: undefined }
}

const tooDeep = `it is nested more than ${mostLevels} levels deep; flatten it`

function readDocuments(source: string): readonly YamlDocument[] {
  const lines = new LineCounter()
  const documents: YamlDocument[] = []
  const stopped = stopReason(source) ?? compose(source, lines, (tree) => documents.push(documentOf(tree, lines)))
  if (stopped === undefined) return documents
  const { line } = stopped
  return [...documents, { value: undefined, problems: [stopped], line, lineOf: () => line, tree: undefined }]
}

/** Returns the value of a text's only document; `refused`: why there is none. */
export function readOneYaml(
  source: string,
): { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'refused'; readonly message: string } {
  const documents = readYaml(source)
  const [problem] = documents.flatMap(({ problems }) => problems)
  if (problem !== undefined) return { kind: 'refused', message: `line ${problem.line}: ${problem.message}` }
  if (documents.length > 1)
    return { kind: 'refused', message: `line ${documents[1]?.line}: a second document begins; give one only` }
  return { kind: 'value', value: documents[0]?.value ?? null }
}

function stopReason(source: string): YamlProblem | undefined {
  if (source.length > mostCharacters)
    return {
      line: 1,
      message: `${source.length} characters of YAML are more than the ${mostCharacters} that are read; split it, or give JSON`,
    }
  const found = forbidden.exec(source)
  if (found === null) return undefined
  const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return {
    line: source.slice(0, found.index).split('\n').length,
    message: `the character U+${code} is not allowed in YAML; remove it, or write it as an escape in double quotes`,
  }
}

type Take = (tree: Document.Parsed) => void

/** Passes on each document. Returns why it stopped before the end. */
function compose(source: string, lines: LineCounter, take: Take): YamlProblem | undefined {
  try {
    return composeAll(source, lines, take)
  } catch (error) {
    if (error instanceof TooManyErrors) return { line: lines.lineStarts.length, message: outOfPlace }
    throw error
  }
}

const outOfPlace = 'up to here there are too many signs out of place to go on; is it YAML?'

class TooManyErrors extends Error {}

/** A composer makes an error for each sign out of place, and a document may consist of such signs. */
function boundedComposer(lineCounter: LineCounter): Composer {
  const composer = new Composer({ ...options, lineCounter })
  const { onError } = composer as unknown as { readonly onError: (...error: readonly unknown[]) => void }
  let left = mostErrors
  const counted = (...error: readonly unknown[]) => {
    if (left === 0) throw new TooManyErrors()
    left -= 1
    onError(...error)
  }
  return Object.defineProperty(composer, 'onError', { value: counted })
}

function composeAll(source: string, lines: LineCounter, take: Take): YamlProblem | undefined {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  const composer = boundedComposer(lines)
  const limit = mostTokens(source.length)
  let [tokens, documents, errors] = [0, 0, 0]
  const stop = (message: string): YamlProblem => ({ line: lines.lineStarts.length, message })
  for (const lexeme of new Lexer().lex(source)) {
    tokens += costs.get(lexeme) ?? 1
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error') errors += 1
      for (const tree of composer.next(token)) {
        documents += 1
        take(tree)
      }
    }
    if (errors > mostProblems) return stop(outOfPlace)
    if (parser.stack.length > mostOpenTokens) return stop(tooDeep)
    if (tokens > limit) return stop('it has more keys, values and signs than a manifest of this length; split the file')
    if (documents > mostDocuments) return stop(`it holds more than ${mostDocuments} documents; split the file`)
  }
  for (const token of parser.end()) for (const tree of composer.next(token)) take(tree)
  for (const tree of composer.end()) take(tree)
  return undefined
}

const remedies: Readonly<Record<string, string>> = {
  TAG_RESOLVE_FAILED: '; leave the tag out',
  TAB_AS_INDENT: '; write blanks in its place',
}

function documentOf(tree: Document.Parsed, lines: LineCounter): YamlDocument {
  const line = lines.linePos(tree.contents?.range[0] ?? tree.range[0]).line
  const lineOf = (path: Path) => lineOfPath(tree.contents, path, lines) ?? line
  const tags = tree.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')
  const broken = [...tree.errors, ...tags].slice(0, mostProblems).map(({ code, message, pos }) => ({
    line: lines.linePos(pos[0]).line,
    message: `${printableStart(message, longestMessage)}${remedies[code] ?? ''}`,
  }))
  if (broken.length > 0) return { value: undefined, problems: broken, line, lineOf, tree }
  const { value, problems } = valueOf(tree.contents, lines)
  return { value: problems.length > 0 ? undefined : value, problems, line, lineOf, tree }
}

/** Keys and indexes that lead to a field. */
type Path = readonly (string | number)[]

/**
 * Returns the line of a field's key or of a list's element. A missing one has the line of its nearest existing parent; undefined when there is none.
 */
function lineOfPath(contents: ParsedNode | null, path: Path, lines: LineCounter): number | undefined {
  let node: unknown = contents
  let offset: number | undefined
  for (const key of path) {
    const [found, inner] = step(node, key)
    if (!isNode(found) || !found.range) break
    offset = found.range[0]
    node = inner
  }
  return offset === undefined ? undefined : lines.linePos(offset).line
}

function step(node: unknown, key: string | number): readonly [holder: unknown, inner: unknown] {
  if (isSeq(node)) {
    const item: unknown = typeof key === 'number' ? node.items[key] : undefined
    return [item, item]
  }
  const pair = isMap(node)
    ? node.items.find((one) => isScalar(one.key) && String(one.key.value) === String(key))
    : undefined
  return [pair?.key, pair?.value]
}
