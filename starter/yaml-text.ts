import { Document, Scalar, visit } from 'yaml'
import { printableLines, printableYaml } from '../core/printable.ts'

/** A document as text that a terminal shows and a parser reads as what it is: characters that a terminal would obey are escaped. */
export function documentText(document: Document): string {
  const text = document.toString({ lineWidth: 0 })
  if (printableLines(text) === text) return text
  // Escapes exist within double quotes only.
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && printableLines(scalar.value) !== scalar.value)
        scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  return printableYaml(document.toString({ lineWidth: 0 }))
}

/** A value as YAML, in the same way. */
export function yamlText(value: unknown, comment: string | null = null): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  document.commentBefore = comment
  return documentText(document)
}
