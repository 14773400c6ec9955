import { type Conversion, toNewest } from '../../../api/conversion/convert.ts'
import { mixedVersions } from '../../../api/conversion/mixed-versions.ts'
import type { Json } from '../../../api/conversion/residue.ts'
import { readYaml, type YamlDocument } from '../../../api/yaml/read.ts'
import { isObject } from '../../../core/values/json.ts'
import { printableLines } from '../../../core/values/printable.ts'
import { note } from '../../document/print.ts'
import { InputError } from '../../document/reported-error.ts'
import { documentText, yamlText } from '../../document/yaml-text.ts'
import { type InputFile, inputName, takeText } from '../../files/input-file.ts'
import { itemsOf, subjectOf } from '../shared/manifest-words.ts'

/** Prints the manifests of a file with the newest API versions, all or none. Returns the exit code. Errors: InputError. */
export function convertFile(file: InputFile): number {
  const name = inputName(file.file)
  const taken = takeText(file)
  if (taken.kind === 'refused') throw new InputError(`${name}: ${taken.message}`)
  const documents = readYaml(taken.text)
  if (documents.length === 0) throw new InputError(`${name}: holds no manifest; give YAML or JSON`)
  const errors: string[] = []
  const remarks: string[] = []
  const texts = documents.map((document, index) => {
    remarks.push(...remarksOn(document, name))
    const result = converted(document, name)
    if (result.kind === 'converted') return result.text
    if (result.kind === 'refused') {
      errors.push(...result.errors)
      return ''
    }
    return unchanged(document.tree, taken.text, documents[index - 1]?.tree?.range[2] ?? 0)
  })
  if (errors.length > 0) throw new InputError(...errors)
  note(...remarks)
  const text = texts.join('---\n')
  process.stdout.write(isTakenForJson(text) ? `---\n${text}` : text)
  return 0
}

/** Whether a reader that goes by the first character would take YAML for JSON: escapes of YAML alone may stand in braces. */
function isTakenForJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

type Converted =
  | { readonly kind: 'converted'; readonly text: string }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly errors: readonly string[] }

function converted({ value, problems, lineOf, tree }: YamlDocument, name: string): Converted {
  if (problems.length > 0)
    return {
      kind: 'refused',
      errors: problems.map((problem) => `${name}:${problem.line}: is not YAML: ${problem.message}`),
    }
  const result = isObject(value) ? newestOf(value) : undefined
  if (result === undefined) return { kind: 'unchanged' }
  // Only the comment on top can be kept: the fields below it have moved.
  if (result.kind === 'converted') return { kind: 'converted', text: yamlText(result.object, tree?.commentBefore) }
  const place = `${name}:${lineOf(pathOf(result.path))}`
  return { kind: 'refused', errors: [`${place}: ${result.path} ${result.message}`] }
}

/** The newest form of an object, or of a list of which at least one item has a newer form. */
function newestOf(object: Json): Conversion | undefined {
  const items = itemsOf(object)
  if (items === undefined) return toNewest(object)
  const results = items.map((item) => (isObject(item) ? toNewest(item) : undefined))
  const refused = results.findIndex((result) => result?.kind === 'refused')
  const why = results[refused]
  if (why?.kind === 'refused') return { ...why, path: `items.${refused}.${why.path}` }
  if (results.every((result) => result === undefined)) return undefined
  const changed = results.map((result, at) => (result?.kind === 'converted' ? result.object : items[at]))
  return { kind: 'converted', object: { ...object, items: changed } }
}

const pathOf = (path: string) => path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key))

/**
 * A document as it stands in the file, without the line that begins it; written again where it holds what a terminal would obey.
 * `from`: where the document before it ends.
 */
function unchanged(tree: YamlDocument['tree'], source: string, from: number): string {
  // It is the whole file, in JSON.
  if (tree === undefined) return `${printableLines(source).trimEnd()}\n`
  const [start, , end] = tree.range
  const before = source.slice(from, start)
  const own = source.slice(start, end).replace(/^---[ \t]*\n/, '')
  const text = `${before}${own}`
  const isWhole = !/^(%|\.\.\.)/m.test(text) && !own.startsWith('---') && printableLines(text) === text
  return isWhole ? `${text.trimEnd()}\n` : documentText(tree).replace(/^---\n/, '')
}

const mostRemarks = 20
const longestName = 100

/** What a reader should check of a document's objects: those of two versions at once, and those too old to convert. */
function remarksOn({ value, lineOf }: YamlDocument, name: string): readonly string[] {
  if (!isObject(value)) return []
  const items = itemsOf(value)
  return (items ?? [value])
    .flatMap((object, at) => {
      const remark = isObject(object) ? remarkOn(object) : undefined
      return remark === undefined ? [] : [{ remark, path: items === undefined ? ['kind'] : ['items', at] }]
    })
    .slice(0, mostRemarks)
    .map(({ remark, path }) => `${name}:${lineOf(path)}: ${remark}`)
}

function remarkOn(object: Json): string | undefined {
  const { apiVersion, kind } = object
  if (kind === 'Provisioner' && typeof apiVersion === 'string' && apiVersion.startsWith('karpenter.sh/'))
    return `${subjectOf(object, longestName)} is left as it is: Provisioners are older than what can be converted; write a NodePool of karpenter.sh/v1`
  const mixed = mixedVersions(object)
  if (mixed === undefined) return undefined
  const { own, other } = mixed
  const what = `${subjectOf(object, longestName)} is of ${own}, with fields of ${other} (${mixed.fields.join(', ')})`
  return own === 'karpenter.sh/v1'
    ? `${what}, and is left as it is; if all of it is that old, write apiVersion: ${other} and convert it again, else correct what joiner validate names`
    : `${what}; check the output with joiner validate`
}
