import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { Document, parseAllDocuments } from 'yaml'
import { toNewest } from '../api/conversion/convert.ts'
import { isObject } from '../api/conversion/residue.ts'

export function registerConvert(program: Command): void {
  program
    .command('convert')
    .argument('<file>', 'a YAML file with manifests, or - for standard input')
    .description('print the manifests of a file with the newest API versions; those of other kinds stay as they are')
    .action((file: string) => {
      const { text, errors } = converted(readFileSync(file === '-' ? 0 : file, 'utf8'), file)
      for (const error of errors) console.error(error)
      if (errors.length > 0) process.exitCode = 1
      else process.stdout.write(text)
    })
}

function converted(source: string, file: string): { readonly text: string; readonly errors: readonly string[] } {
  const errors: string[] = []
  const texts: string[] = []
  for (const document of parseAllDocuments(source)) {
    errors.push(...document.errors.map(({ message }) => `${file}: ${message}`))
    const object: unknown = document.toJS()
    const result = isObject(object) ? toNewest(object) : undefined
    if (result === undefined) texts.push(document.toString({ lineWidth: 0 }))
    else if (result.kind === 'refused') errors.push(`${file}: ${result.path} ${result.message}`)
    else texts.push(rewritten(document, result.object))
  }
  return { text: texts.map((text) => text.replace(/^---\n/, '')).join('---\n'), errors }
}

/** Only the comment on top can be kept: the fields below it have moved. */
function rewritten({ commentBefore }: Document, object: unknown): string {
  const document = new Document(object, { aliasDuplicateObjects: false })
  document.commentBefore = commentBefore
  return document.toString({ lineWidth: 0 })
}
