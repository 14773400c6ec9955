// Finds what modules remember. Tests run several processes of Joiner in one process of Node, in virtual time: those share their modules.
import { type Class, type Expression, type Program, type VariableDeclarator, Visitor } from 'oxc-parser'

/** A variable, a static field or an import that keeps something from one call to the next. */
export interface ModuleState {
  readonly name: string
  /** Offset in the text. */
  readonly start: number
  readonly why: string
}

/** Files and folders whose modules may remember, and why. Elsewhere state belongs to an object that the process makes, or to a WeakMap by such an object. */
const allowed: Readonly<Record<string, string>> = {
  'api/rules/cel.ts': 'what an expression compiles to follows from its text alone',
  'api/shapes/shape.ts': 'whether a text is a quantity follows from it alone',
  'workers/conversion/thread.ts': 'is the entry of a thread, which has modules of its own',
  'starter/cli/': 'a command is a process of its own',
  'starter/ui/page/': 'runs in a browser',
}

/** Whether the modules of a file may remember something. */
export function mayRemember(path: string): boolean {
  return Object.keys(allowed).some((place) => path.startsWith(place))
}

/** Objects of these remember nothing of what a process does. A WeakMap knows only of objects, which belong to one process. */
const stateless: ReadonlySet<string> = new Set([
  'AbortController',
  'AsyncLocalStorage',
  'DefaultFailureConverter',
  'RegExp',
  'Schema',
  'URL',
  'WeakMap',
])
/** These are tables, unless something changes them. */
const containers: ReadonlySet<string> = new Set(['Map', 'Set', 'WeakSet'])
const mutators: ReadonlySet<string> = new Set(
  'add clear copyWithin delete fill pop push reverse set shift sort splice unshift'.split(' '),
)

/** Functions whose result is another in each process, and the clocks and timers that virtual time replaces. */
const differing: ReadonlySet<string> = new Set([
  'hostname',
  'now',
  'random',
  'randomBytes',
  'randomInt',
  'randomUUID',
  'setInterval',
  'setTimeout',
])

/** Returns what a module remembers: what can be assigned, is changed in its file, holds an object with state, or differs between processes. */
export function moduleState(program: Program): readonly ModuleState[] {
  const changed = changedNames(program)
  const found: ModuleState[] = []
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('node:timers'))
      found.push({ name: statement.source.value, start: statement.start, why: 'keeps the timers of Node' })
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration' || declaration.declare === true) continue
    for (const one of declaration.declarations) {
      const why = declaration.kind === 'const' ? whyState(one, changed) : `is declared with ${declaration.kind}`
      if (why !== undefined) found.push({ name: nameOf(one), start: one.start, why })
    }
  }
  return [...found, ...staticFields(program)]
}

const nameOf = ({ id }: VariableDeclarator) => (id.type === 'Identifier' ? id.name : '(pattern)')

function whyState(declarator: VariableDeclarator, changed: ReadonlySet<string>): string | undefined {
  const value = plain(declarator.init)
  const made = value?.type === 'NewExpression' ? calledName(value.callee) : undefined
  if (made !== undefined && stateless.has(made)) return undefined
  if (made !== undefined && !containers.has(made)) return `is an object of ${made}`
  if (changed.has(nameOf(declarator))) return 'is changed'
  const origin = value === null ? '' : calledName(value.type === 'CallExpression' ? value.callee : value)
  return differing.has(origin) ? `keeps ${origin}` : undefined
}

/** A value without what is only for the compiler. */
function plain(value: Expression | null): Expression | null {
  return value?.type === 'TSAsExpression' || value?.type === 'TSSatisfiesExpression' ? plain(value.expression) : value
}

function calledName(callee: Expression): string {
  if (callee.type === 'Identifier') return callee.name
  return callee.type === 'MemberExpression' && callee.property.type === 'Identifier' ? callee.property.name : ''
}

function staticFields(program: Program): readonly ModuleState[] {
  const found: ModuleState[] = []
  const enter = ({ body }: Class) => {
    for (const field of body.body) {
      if (field.type !== 'PropertyDefinition' || !field.static || field.readonly) continue
      const name =
        field.key.type === 'Identifier' || field.key.type === 'PrivateIdentifier' ? field.key.name : '(computed)'
      found.push({ name, start: field.start, why: 'is a static field that can be assigned' })
    }
  }
  new Visitor({ ClassDeclaration: enter, ClassExpression: enter }).visit(program)
  return found
}

/** Names of variables whose object something in the file changes: by a method, or by an assignment to a field. */
function changedNames(program: Program): ReadonlySet<string> {
  const names = new Set<string>()
  const see = (target: { readonly type: string }) => {
    let at = target
    while ('object' in at || at.type === 'TSNonNullExpression')
      at = ('object' in at ? at.object : (at as { expression?: unknown }).expression) as typeof at
    if (at !== target && 'name' in at) names.add(String(at.name))
  }
  new Visitor({
    AssignmentExpression: ({ left }) => see(left),
    UpdateExpression: ({ argument }) => see(argument),
    UnaryExpression: ({ operator, argument }) => operator === 'delete' && see(argument),
    CallExpression: ({ callee }) =>
      callee.type === 'MemberExpression' && mutators.has(calledName(callee)) && see(callee),
  }).visit(program)
  return names
}
