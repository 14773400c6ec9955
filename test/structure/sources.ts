// Reads the sources of a tree: what each file imports and which functions it has.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import {
  type Function as FunctionNode,
  type ImportDeclaration,
  type ParamPattern,
  parseSync,
  Visitor,
} from 'oxc-parser'
import { type ModuleState, moduleState } from './module-state.ts'
import { namesOf } from './names.ts'

/** A TypeScript file of the tree. */
export interface Source {
  /** From the root of the tree, with slashes. */
  readonly path: string
  readonly lines: number
  /** True for `*.test.ts`. */
  readonly test: boolean
  /** Files that it imports, with imports of types, `import()` of a literal and re-exports. Packages are left out. */
  readonly imports: readonly string[]
  /** Those of them of which it imports more than types, at once. */
  readonly uses: readonly string[]
  readonly functions: readonly SourceFunction[]
  /** What its module remembers. */
  readonly state: readonly SourceState[]
  /** Exported names that nothing else in the file uses. */
  readonly offered: readonly { readonly name: string; readonly line: number }[]
  /** Names of other files, as `core/a.ts#name`; `core/a.ts#*` for all of one. */
  readonly taken: readonly string[]
}

/** A function with a body. */
interface SourceFunction {
  /** The name that it is declared or assigned under; `(callback)` if it has none. */
  readonly name: string
  readonly line: number
  readonly lines: number
  /** How many parameters it declares, without `this`. */
  readonly parameters: number
}

/** Something that a module remembers. */
interface SourceState extends Omit<ModuleState, 'start'> {
  readonly line: number
}

/** Folders at the root that hold sources. */
const sourceFolders = [
  'core',
  'api',
  'activities',
  'workflows',
  'workers',
  'starter',
  'deploy',
  'test',
  'bench',
] as const

/** Reads all TypeScript files in the source folders of a tree, in the order of their paths. Throws on a file that does not parse. */
export function readSources(root: string): readonly Source[] {
  const paths = sourceFolders.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }))
  return paths
    .map((path) => path.replaceAll(sep, '/'))
    .toSorted()
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')))
}

/** Reads one file. `path` is from the root of the tree. */
export function readSource(path: string, text: string): Source {
  const { program, errors } = parseSync(path, text)
  const [error] = errors
  if (error !== undefined) throw new Error(`${path}: does not parse: ${error.message}; fix the syntax`)

  const imports = new Set<string>()
  const uses = new Set<string>()
  const see = (specifier: unknown, isUse = false) => {
    if (typeof specifier !== 'string' || !specifier.startsWith('.')) return
    const imported = posix.normalize(posix.join(dirname(path), specifier))
    imports.add(imported)
    if (isUse) uses.add(imported)
  }
  const functions: SourceFunction[] = []
  const functionNames = new Map<unknown, string>()
  const name = (value: unknown, key: unknown) => {
    functionNames.set(value, nameOf(key))
  }
  const enter = (node: AnyFunction) => {
    if (!node.body) return
    const own = 'id' in node && node.id ? node.id.name : functionNames.get(node)
    functions.push({
      name: own ?? '(callback)',
      line: lineAt(text, node.start),
      lines: lineAt(text, node.end) - lineAt(text, node.start) + 1,
      parameters: node.params.filter((parameter) => !isThis(parameter)).length,
    })
  }
  new Visitor({
    ImportDeclaration: (node) => see(node.source.value, !isOfTypes(node)),
    ExportNamedDeclaration: (node) => see(node.source?.value),
    ExportAllDeclaration: (node) => see(node.source.value),
    ImportExpression: (node) => see('value' in node.source ? node.source.value : undefined),
    TSImportType: (node) => see(node.source.value),
    VariableDeclarator: (node) => name(node.init, node.id),
    AssignmentExpression: (node) => name(node.right, node.left),
    Property: (node) => name(node.value, node.key),
    PropertyDefinition: (node) => name(node.value, node.key),
    MethodDefinition: (node) => name(node.value, node.key),
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
  }).visit(program)
  const state = moduleState(program).map(({ start, ...one }) => ({ ...one, line: lineAt(text, start) }))
  const names = namesOf(program)
  return {
    path,
    lines: lineCount(text),
    test: path.endsWith('.test.ts'),
    imports: [...imports],
    uses: [...uses],
    functions,
    state,
    offered: names.offered.map(({ name, start }) => ({ name, line: lineAt(text, start) })),
    taken: names.taken.map(({ from, name }) => `${posix.normalize(posix.join(dirname(path), from))}#${name}`),
  }
}

/** Whether an import is gone where types are. */
function isOfTypes({ importKind, specifiers }: ImportDeclaration): boolean {
  if (importKind === 'type') return true
  const isType = (one: ImportDeclaration['specifiers'][number]) =>
    one.type === 'ImportSpecifier' && one.importKind === 'type'
  return specifiers.length > 0 && specifiers.every(isType)
}

type AnyFunction = Pick<FunctionNode, 'params' | 'start' | 'end'> & {
  readonly body: unknown
  readonly id?: FunctionNode['id']
}

const isThis = (parameter: ParamPattern) => parameter.type === 'Identifier' && parameter.name === 'this'

/** The name of a declaration, key or assigned expression; `(callback)` if it has none that a reader would search for. */
function nameOf(key: unknown): string {
  if (typeof key !== 'object' || key === null) return '(callback)'
  if ('name' in key && typeof key.name === 'string') return key.name
  if ('value' in key && typeof key.value === 'string') return key.value
  if ('property' in key) return nameOf(key.property)
  return '(callback)'
}

const lineAt = (text: string, offset: number) => text.slice(0, offset).split('\n').length

/** Lines as `wc -l` counts them: line feeds. */
const lineCount = (text: string) => text.split('\n').length - 1
