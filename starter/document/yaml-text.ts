import { Document, type DocumentOptions, Scalar, type SchemaOptions, visit } from 'yaml'
import { printable, printableLines, printableYaml } from '../../core/values/printable.ts'

/** kubectl and Helm read YAML 1.1, where y, on and 1:20 are no text unless they are quoted. */
export const forKubectl: SchemaOptions & DocumentOptions = { compat: 'yaml-1.1' }

/** A document as text that a terminal shows and a parser reads as what it is: characters that a terminal would obey are escaped. */
export function documentText(document: Document): string {
  // Escapes exist within double quotes only.
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && isObeyed(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  return printableYaml(document.toString({ lineWidth: 0 }))
}

/** Texts as a comment, each on a line of its own. */
export function commentOf(...lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n')
}

/** A value as YAML, in the same way. `comment`: above it, as `commentOf` returns it. */
export function yamlText(value: unknown, comment: string | null = null): string {
  const document = new Document(value, { ...forKubectl, aliasDuplicateObjects: false })
  document.commentBefore = comment
  return holdsObeyed(value) ? documentText(document) : printableYaml(document.toString({ lineWidth: 0 }))
}

function isObeyed(text: string): boolean {
  return printableLines(text) !== text
}

function holdsObeyed(value: unknown): boolean {
  if (typeof value === 'string') return isObeyed(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, inner]) => isObeyed(key) || holdsObeyed(inner))
}
