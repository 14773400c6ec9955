// Finds which names a file offers to others and takes from them: what only tests take, the product does not need.
import { type Program, Visitor } from 'oxc-parser'

/** What a file offers and takes. */
export interface Names {
  /** Exported names that nothing else in the file uses, with their offset in the text. */
  readonly offered: readonly { readonly name: string; readonly start: number }[]
  /** Names of other files by the specifier they come from; `*`: all of a file. */
  readonly taken: readonly { readonly from: string; readonly name: string }[]
}

export function namesOf(program: Program): Names {
  const offered: { readonly name: string; readonly start: number }[] = []
  const taken: { readonly from: string; readonly name: string }[] = []
  const uses = new Map<string, number>()
  const take = (from: unknown, name: string) => {
    if (typeof from === 'string') taken.push({ from, name })
  }
  new Visitor({
    Identifier: ({ name }) => void uses.set(name, (uses.get(name) ?? 0) + 1),
    ImportDeclaration: ({ source, specifiers }) => {
      for (const one of specifiers)
        take(source.value, one.type === 'ImportSpecifier' && 'name' in one.imported ? one.imported.name : '*')
    },
    ImportExpression: ({ source }) => take('value' in source ? source.value : undefined, '*'),
    TSImportType: ({ source }) => take(source.value, '*'),
    ExportAllDeclaration: ({ source }) => take(source.value, '*'),
    ExportNamedDeclaration: ({ source, specifiers, declaration, start }) => {
      for (const { local } of specifiers) take(source?.value, 'name' in local ? local.name : '*')
      if (declaration === null) return
      const ids =
        declaration.type === 'VariableDeclaration'
          ? declaration.declarations.map(({ id }) => id)
          : 'id' in declaration
            ? [declaration.id]
            : []
      for (const id of ids) if (id?.type === 'Identifier') offered.push({ name: id.name, start })
    },
  }).visit(program)
  return { offered: offered.filter(({ name }) => uses.get(name) === 1), taken }
}
