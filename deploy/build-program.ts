// npm run build-program: bundles the program from its sources into dist/. A process that loads some files of JavaScript in place of hundreds of TypeScript
// starts with two thirds of the processor time.
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { OutputChunk, Plugin } from 'rolldown'
import { asciiCode } from '../core/values/ascii-code.ts'
import { buildOnce, root } from './build-once.ts'

const dist = join(root, 'dist')

/** The local cluster is for a checkout. */
const external = [/deploy\/local\/commands\.ts$/]

const fileBeside = /new URL\((['"])(\.[^'"]+)\1, import\.meta\.url\)/g

/** What the program finds by its place beside a module: threads become entries of the bundle, other files stay where they are. */
const filesBeside: Plugin = {
  name: 'files-beside',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta.url' },
    handler(code, id) {
      return code.replaceAll(fileBeside, (_, _quote, target: string) => {
        const path = resolve(dirname(id), target)
        let at = relative(dist, path) + (target.endsWith('/') ? '/' : '')
        if (path.endsWith('.ts')) {
          at = `./${relative(root, path).replace(/\.ts$/, '').replaceAll('/', '-')}.js`
          this.emitFile({ type: 'chunk', id: path, fileName: basename(at) })
        }
        return `new URL(${JSON.stringify(at)}, import.meta.url)`
      })
    },
  },
}

/** A module of a package that is another in the bundle: its text, or what of it is replaced by what. */
interface Changed {
  readonly path: RegExp
  readonly text: string | ((code: string) => string)
}

/** What Temporal's packages find by their places is found from the bundle, and what a program does not need that has its workflows bundled is left out. */
const ofTemporal: readonly Changed[] = [
  { path: /worker\/lib\/workflow\/bundler\.js$/, text: 'exports.defaultWorkflowInterceptorModules = []' },
  { path: /worker\/lib\/debug-replayer\/index\.js$/, text: '' },
  {
    path: /core-bridge\/common\.js$/,
    text: (code) => replaced(code, '__dirname', `require(${JSON.stringify(places)}).coreBridge`),
  },
  {
    path: /worker\/lib\/workflow\/threaded-vm\.js$/,
    text: (code) =>
      replaced(
        code,
        "require.resolve('./workflow-worker-thread')",
        `require(${JSON.stringify(places)}).workflowThread`,
      ),
  },
  {
    path: /source-map\/lib\/read-wasm\.js$/,
    text: (code) =>
      replaced(code, 'path.join(__dirname, "mappings.wasm")', `require(${JSON.stringify(places)}).mappings`),
  },
  { path: /proto\/protos\/json-module\.js$/, text: spokenTypes },
  { path: /protobufjs\/src\/type\.js$/, text: codedWhenUsed },
]

/** Modules of Node that load many others, and that the command line does not need but to start a program or to say that a shell is unknown. */
const ofCommandLine: readonly Changed[] = [
  {
    path: /commander\/lib\/command\.js$/,
    text: (code) =>
      replaced(
        code,
        "import childProcess from 'node:child_process';",
        "const childProcess = { spawn: (...args) => globalThis.process.getBuiltinModule('node:child_process').spawn(...args) };",
      ),
  },
  {
    path: /@bomb\.sh\/tab\/dist\/index\.mjs$/,
    text: (code) =>
      replaced(
        code,
        'import i from"node:assert";',
        'const i = (isTrue, message) => globalThis.process.getBuiltinModule("node:assert")(isTrue, message);',
      ),
  },
  // Descriptions of the syntax tree, which nobody writes out as a message.
  { path: /@bufbuild\/cel-spec\/dist\/esm\/gen\/cel\/expr\/(syntax|checked)_pb\.js$/, text: treeNames },
  {
    path: /@bufbuild\/protobuf\/dist\/esm\/wkt\/google\/protobuf\/(any|descriptor|duration|struct|timestamp|wrappers)_pb\.js$/,
    text: describedWhenUsed,
  },
  { path: /@bufbuild\/cel\/dist\/esm\/registry\.js$/, text: registeredWhenUsed },
]
const changedModules = [...ofTemporal, ...ofCommandLine]

const of = (...names: readonly string[]) => new RegExp(`/(?:${names.join('|')})`)

/**
 * Modules that most commands need, as few files: reading and linking one takes a third of a millisecond, and a command had 60 to 80. Which are in one
 * group load each other's modules, so none of them does more at its start than to fill a table.
 */
const together = [
  {
    name: 'start',
    test: of(
      'starter/cli/(?:arguments|commands|moved|shared/boundary)',
      'starter/document/(?:reported-error|terminal)',
      'core/values/printable',
    ),
    priority: 3,
  },
  {
    name: 'output',
    test: of('starter/document/(?:document|print|text|words)', 'starter/cli/shared/input', 'starter/files/input-file'),
    priority: 3,
  },
  { name: 'zod', test: of('node_modules/zod/'), priority: 3 },
  { name: 'commander', test: of('node_modules/commander/'), priority: 3 },
  {
    name: 'core',
    test: of('core/(?:values|requirements)/', 'core/node-claim/(?:claim-keys|node-names)', 'core/node-class/kubelet'),
    priority: 2,
  },
  {
    name: 'schemas',
    test: of('api/(?:fields|node-claim|node-class|node-pool|node-overlay|node-rules|capacity-buffer|served)'),
    priority: 1,
  },
] as const

const places = 'joiner:places'
const resolvedPlaces = `\0${places}`

const changedPackages: Plugin = {
  name: 'changed-packages',
  resolveId: { filter: { id: /^joiner:places$/ }, handler: () => resolvedPlaces },
  load: {
    filter: { id: /^\0joiner:places$/ },
    async handler() {
      const { resolve: find } = createRequire(join(root, 'package.json'))
      const thread = find('@temporalio/worker/lib/workflow/workflow-worker-thread.js')
      this.emitFile({ type: 'chunk', id: thread, fileName: 'temporal-workflow-thread.js' })
      const mappings = join(dirname(createRequire(thread).resolve('source-map')), 'lib', 'mappings.wasm')
      this.emitFile({ type: 'asset', fileName: 'mappings.wasm', source: await readFile(mappings) })
      const at = (path: string) => `fileURLToPath(new URL(${JSON.stringify(path)}, import.meta.url))`
      return `import { fileURLToPath } from 'node:url'
export const coreBridge = ${at('../node_modules/@temporalio/core-bridge')}
export const workflowThread = ${at('./temporal-workflow-thread.js')}
export const mappings = ${at('./mappings.wasm')}`
    },
  },
  transform: {
    filter: { id: /node_modules\/(@temporalio|source-map|protobufjs|commander|@bomb\.sh|@bufbuild)\/.*\.m?js$/ },
    handler(code, id) {
      const changed = changedModules.find(({ path }) => path.test(id))
      return typeof changed?.text === 'function' ? changed.text(code) : changed?.text
    },
  },
}

const celPlace = 'CEL_PARSED_AHEAD'

/**
 * The CEL of CRDs and policies is parsed here, and schemas are written as JSON, and not at each start. The CEL comes in at the end, since the bundler would
 * print it in a hundred thousand lines.
 */
const celAhead: Plugin = {
  name: 'cel-ahead',
  load: {
    filter: { id: /api\/rules\/parsed-ahead\.ts$/ },
    async handler() {
      const { schemasAheadCode } = await import('./parse-ahead.ts')
      return `${schemasAheadCode()}\nexport const parsedAhead = new Map(${celPlace})`
    },
  },
  async generateBundle(_, bundle) {
    const { parsedAheadCode } = await import('./parse-ahead.ts')
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk' && chunk.code.includes(celPlace))
        chunk.code = chunk.code.replace(celPlace, () => parsedAheadCode())
  },
}

/** `import ... from "node:fs"` as the bundler prints it. */
const builtinImport = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+)|\{ ([^}]*) \})? from "((?:node:)?[\w/]+)";$/gm

/**
 * Modules of Node are required: an import makes each of their exports at once, and those of `process`, `fs` and `util` load streams, workers and promises,
 * a quarter of what a start of the program takes.
 */
const builtinsRequired: Plugin = {
  name: 'builtins-required',
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk')
        chunk.code = chunk.code.replace(builtinImport, (line, ...parts) => {
          const [whole, all, some, name = ''] = parts as readonly (string | undefined)[]
          if (!isBuiltin(name) || name === 'node:module') return line
          return [whole, all, some === undefined ? undefined : `{ ${some.replaceAll(' as ', ': ')} }`]
            .filter((target) => target !== undefined)
            .map((target) => `const ${target} = globalThis.process.getBuiltinModule("${name}");`)
            .join(' ')
        })
  },
}

const asciiChunks: Plugin = {
  name: 'ascii-chunks',
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk') chunk.code = asciiCode(chunk.code)
  },
}

/** Errors: there is nothing to replace, since the package is another version. */
function replaced(code: string, old: string, next: string): string {
  if (!code.includes(old)) throw new Error(`a module of a package has no ${old}; see which version it is of`)
  return code.replace(old, next)
}

/** Messages by their names alone, which is all that a plan of an expression asks of them. */
function treeNames(code: string): string {
  const described = /(\w+)Schema = \/\*@__PURE__\*\/ messageDesc\([^)]*\)/g
  if (!described.test(code)) throw new Error('messages of cel-spec are described otherwise; see which version it is of')
  return code
    .replace(described, (_, name: string) => `${name}Schema = { typeName: 'cel.expr.${name.replaceAll('_', '.')}' }`)
    .replace(/fileDesc\([^)]*\)/, 'undefined')
}

/** Messages of protobuf itself, which no rule has, are read out of their binary descriptions when one is asked for more than its name. */
function describedWhenUsed(code: string): string {
  const made = /export const (\w+) = \/\*@__PURE__\*\/ ((?:boot|fileDesc|messageDesc|enumDesc)\([^;]*\));$/gm
  if (!made.test(code)) throw new Error('messages of protobuf are described otherwise; see which version it is of')
  return `${code.replace(made, (_, name: string, make: string) => `export const ${name} = /*@__PURE__*/ whenUsed('${name}', () => ${make});`)}
function whenUsed(name, make) {
  const typeName = name.endsWith('Schema') ? 'google.protobuf.' + name.slice(0, -'Schema'.length).replaceAll('_', '.') : undefined
  let made
  return new Proxy({}, { get: (_, key) => (key === 'typeName' ? typeName : (made ??= make())[key]) })
}`
}

/** The library's registry holds messages of protobuf itself alone. A name that is no variable is looked up in it. */
function registeredWhenUsed(code: string): string {
  const lazily = replaced(code, 'const wktRegistry = createRegistry(', 'const makeRegistry = () => createRegistry(')
  return `${replaced(lazily, 'return createRegistry(wktRegistry, ...inputs)', 'return inputs.length === 0 ? late : createRegistry(makeRegistry(), ...inputs)')}
let made
const found = (find) => (name) => (name.startsWith('google.protobuf.') ? (made ??= makeRegistry())[find](name) : undefined)
const late = { getMessage: found('getMessage'), getEnum: found('getEnum'), getExtension: found('getExtension'), get: found('get') }`
}

/** Code that protobufjs makes for a type is made function by function, each when it is called first: few types are both sent and received. */
function codedWhenUsed(code: string): string {
  const made = /this\.(encode|decode|verify|fromObject|toObject) = ([\w.]+\(this\)\(\{[^}]*\}\));/g
  if (code.match(made)?.length !== 5)
    throw new Error('a Type of protobufjs is set up otherwise; see which version it is of')
  return `${code.replace(made, "whenUsed(this, '$1', () => $2);")}
function whenUsed(type, name, make) {
  let made
  const first = (...args) => {
    made ??= make()
    if (type[name] === first) type[name] = made
    return made.apply(type, args)
  }
  type[name] = first
}`
}

/** The types of Temporal's messages, as text that is read faster than code, and without those of the account API of Temporal Cloud. */
function spokenTypes(code: string): string {
  const types = JSON.parse(code.slice(code.indexOf('.addJSON(') + '.addJSON('.length, code.lastIndexOf('});') + 1)) as {
    readonly temporal: { readonly nested: { readonly api: { readonly nested: Record<string, unknown> } } }
  }
  delete types.temporal.nested.api.nested['cloud']
  return `const { Root, roots } = require('protobufjs/light')
module.exports = (roots.__temporal ??= new Root()).addJSON(JSON.parse(${JSON.stringify(JSON.stringify(types))}))`
}

/** Beside the program: what {@link packagesOfStart} found. */
export const packagesFile = 'packages-of-start.json'

/**
 * Bundles the program and its workflows unless they are there, built from these very sources, with a package.json. Returns the path of what starts it.
 * Commands do without the workflows.
 */
export async function buildProgram({ withWorkflows = true } = {}): Promise<string> {
  const folder = await buildOnce({
    folder: dist,
    sources: [
      '{core,api,activities,workflows,workers,starter}/**/*.ts',
      'deploy/{build-program,parse-ahead}.ts',
      'deploy/crds/*.yaml',
    ],
    build: async (dir) => {
      const packages = packagesOfStart(await bundleProgram(dir))
      await writeManifest(dir)
      await writeFile(join(dir, packagesFile), `${JSON.stringify(packages)}\n`)
    },
  })
  if (withWorkflows)
    await promisify(execFile)(process.execPath, [join(root, 'workers', 'bundle.ts'), 'plain', 'encrypted'])
  return join(folder, 'joiner.js')
}

/**
 * Bundles the program into a folder of the repository's root or of a package, where it finds other files as from `dist/`. `without`: more that stays
 * outside. Returns its chunks. Errors: it imports a package that is not in it.
 */
export async function bundleProgram(dir: string, without: readonly RegExp[] = []): Promise<readonly OutputChunk[]> {
  // Most find the program built, and need no bundler.
  const { rolldown } = await import('rolldown')
  const bundled = await rolldown({
    cwd: root,
    platform: 'node',
    input: { joiner: 'starter/joiner.ts' },
    external: [...external, ...without],
    plugins: [filesBeside, changedPackages, celAhead, builtinsRequired, asciiChunks],
    tsconfig: false,
    // A comment for each module, which each start would read.
    experimental: { attachDebugInfo: 'none' },
  })
  const { output } = await bundled.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: { groups: [...together] },
    // A third of the text, which each start reads.
    comments: { legal: true, annotation: false, jsdoc: false },
  })
  const own = new Set(output.map(({ fileName }) => fileName))
  const chunks = output.filter((one) => one.type === 'chunk')
  const imported = chunks.flatMap((one) => [...one.imports, ...one.dynamicImports])
  const packages = imported.filter((name) => !own.has(name) && !isBuiltin(name) && !/^[./]/.test(name))
  if (packages.length > 0)
    throw new Error(`the bundle imports ${[...new Set(packages)].join(', ')} and does not hold it`)
  return chunks
}

/** Of each package, how many modules `joiner worker` loads before it does anything: those of workers/run-worker.ts, and of what that loads at once. */
function packagesOfStart(chunks: readonly OutputChunk[]): Readonly<Record<string, number>> {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const start = chunks.find(({ moduleIds }) => moduleIds.includes(join(root, 'workers', 'run-worker.ts')))
  if (start === undefined) throw new Error('no chunk of the bundle holds workers/run-worker.ts')
  const loaded = new Set<OutputChunk>()
  const load = (chunk: OutputChunk | undefined) => {
    if (chunk === undefined || loaded.has(chunk)) return
    loaded.add(chunk)
    for (const name of chunk.imports) load(byName.get(name))
  }
  for (const name of [start.fileName, ...start.dynamicImports]) load(byName.get(name))
  const names = [...loaded].flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? []))
  const counts = Map.groupBy(names.toSorted(), (name) => name)
  return Object.fromEntries([...counts].map(([name, { length }]) => [name, length]))
}

function packageOf(moduleId: string): string | undefined {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(moduleId)?.[1]
}

/** Writes the package.json of a bundle into a folder: name, version and licence are the repository's unless `more` has others. */
export async function writeManifest(folder: string, more: object = {}): Promise<void> {
  const { name, version, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
  const manifest = { name, version, license, ...more, type: 'module' }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

if (import.meta.main) console.log(`the program is ${relative(process.cwd(), await buildProgram())}`)
