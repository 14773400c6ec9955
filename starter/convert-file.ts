import { toNewest } from '../api/conversion/convert.ts'
import { isObject } from '../api/conversion/residue.ts'
import { readYaml, type YamlDocument } from '../api/yaml/read.ts'
import { printable } from '../core/printable.ts'
import { doing } from './bounded/doing.ts'
import { type InputFile, inputName } from './bounded/input.ts'
import { takeText } from './bounded/text.ts'
import { InputError } from './simulate/shape.ts'
import { documentText, yamlText } from './yaml-text.ts'

/** What the command line asks for. */
export interface ConvertInput {
  readonly file: InputFile
}

/** Prints the manifests of a file with the newest API versions, all or none. Returns the exit code. Errors: InputError. */
export function convertFile({ file }: ConvertInput): number {
  const name = inputName(file.file)
  doing(name)
  const taken = takeText(file)
  if (taken.kind === 'refused') throw new InputError(`${name}: ${taken.message}`)
  const results = readYaml(taken.text).map((document) => converted(document, name))
  const errors = results.flatMap((result) => result.errors)
  if (errors.length > 0) throw new InputError(errors.join('\n'))
  process.stdout.write(results.map(({ text }) => text.replace(/^---\n/, '')).join('---\n'))
  return 0
}

interface Converted {
  readonly text: string
  readonly errors: readonly string[]
}

function converted({ value, problems, line, lineOf, tree }: YamlDocument, name: string): Converted {
  if (problems.length > 0 || tree === undefined)
    return { text: '', errors: problems.map((problem) => `${name}:${problem.line}: is not YAML: ${problem.message}`) }
  doing(`${name}:${line}`)
  const result = isObject(value) ? toNewest(value) : undefined
  if (result === undefined) return { text: documentText(tree), errors: [] }
  // Only the comment on top can be kept: the fields below it have moved.
  if (result.kind === 'converted') return { text: yamlText(result.object, tree.commentBefore), errors: [] }
  const place = `${name}:${lineOf(result.path.split('.'))}`
  return { text: '', errors: [`${place}: ${printable(`${result.path} ${result.message}`)}`] }
}
