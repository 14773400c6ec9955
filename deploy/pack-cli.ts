// Writes the npm package of the command line: npm run pack-cli. Node strips no types of what is under node_modules, so the package holds JavaScript. It
// has the files that the command line reaches, without workers and the local cluster, and depends on what those files import.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseSync } from 'oxc-parser'
import { buildUi } from './build-ui.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
/** Where tsconfig.cli.json has the compiler write. */
const compiledFolder = join(root, 'build', 'npm')
const entry = 'starter/joiner.js'
/** Parts of the repository that need the image, or a checkout. */
const left = ['workers/', 'deploy/', 'test/', 'bench/']

/** Name on the npm registry: `joiner` is somebody else's. */
export const packageName = '@joiner-autoscaler/joiner'

interface Manifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** What a compiled file refers to. */
interface References {
  /** Files of the package, by path. */
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

/** Compiles the command line and packs it into a folder. Returns the path of the archive. Errors: what the compiler or npm says. */
export async function packCli(folder: string): Promise<string> {
  await rm(compiledFolder, { recursive: true, force: true })
  const compiler = join(root, 'node_modules', '.bin', 'tsc')
  await run(compiler, ['-p', join(root, 'tsconfig.cli.json')], { cwd: root }).catch(
    (error: { readonly stdout: string }) => {
      throw new Error(`the command line does not compile:\n${error.stdout}`, { cause: error })
    },
  )
  const package_ = join(folder, 'package')
  await rm(package_, { recursive: true, force: true })
  const { files, packages } = await reach(compiledFolder)
  for (const [path, text] of files) {
    await mkdir(dirname(join(package_, path)), { recursive: true })
    await writeFile(join(package_, path), text)
  }
  await writeFile(join(package_, 'package.json'), `${JSON.stringify(await manifest(packages), null, 2)}\n`)
  await writeFile(join(package_, 'README.md'), readme)
  await cp(join(root, 'LICENSE'), join(package_, 'LICENSE'))
  // What joiner crds applies.
  await cp(join(root, 'deploy', 'crds'), join(package_, 'deploy', 'crds'), { recursive: true })
  // What joiner ui serves; .sources is for the next build.
  const isOfPage = (path: string) => !basename(path).startsWith('.')
  await cp(await buildUi(), join(package_, 'starter', 'ui', 'dist'), { recursive: true, filter: isOfPage })
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: package_,
  })
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[]
  return join(folder, packed?.filename ?? '')
}

/** Returns the files that the entry reaches, with their texts, and the packages that they import. */
async function reach(folder: string) {
  const files = new Map<string, string>()
  const packages = new Set<string>()
  const open = [entry]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files.has(path)) continue
    const text = withScripts(await readFile(join(folder, path), 'utf8'))
    files.set(path, text)
    const found = references(path, text)
    for (const name of found.packages) packages.add(name)
    open.push(...found.files.filter((each) => !left.some((prefix) => each.startsWith(prefix))))
  }
  return { files, packages: [...packages].sort() }
}

const fileUrl = /new URL\((['"])([^'"]+)\.ts\1, import\.meta\.url\)/g

/** The compiler rewrites imports, and not the files of threads. */
function withScripts(text: string): string {
  return text.replaceAll(fileUrl, 'new URL($1$2.js$1, import.meta.url)')
}

/** Returns what a compiled file imports, at once or later, and the files that it runs as threads. */
export function references(path: string, text: string): References {
  const { module } = parseSync(path, text)
  const imported = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.map((each) => each.moduleRequest?.value ?? '')),
    // The specifier of a dynamic import is text with its quotes; one that is computed is none.
    ...module.dynamicImports.map(
      ({ moduleRequest: { start, end } }) => /^['"](.*)['"]$/.exec(text.slice(start, end))?.[1] ?? '',
    ),
  ].filter((target) => target !== '')
  const threads = [...text.matchAll(/new URL\((['"])([^'"]+\.js)\1, import\.meta\.url\)/g)].map(
    ([, , target = '']) => target,
  )
  const isFile = (target: string) => target.startsWith('.')
  const files = [...imported.filter(isFile), ...threads].map((target) => posix.join(posix.dirname(path), target))
  const packages = imported
    .filter((target) => !isFile(target) && !target.startsWith('node:'))
    .map((target) =>
      target
        .split('/')
        .slice(0, target.startsWith('@') ? 2 : 1)
        .join('/'),
    )
  return { files, packages }
}

async function manifest(packages: readonly string[]): Promise<object> {
  const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
  const dependencies = packages.map((name) => {
    const version = own.dependencies[name]
    if (version === undefined)
      throw new Error(`package.json: dependencies have no "${name}", which the command line imports; add it`)
    return [name, version]
  })
  const { version, license } = own
  const description = 'The command line of Joiner, a node autoscaler for AKS'
  const bin = { joiner: entry, 'kubectl-joiner': entry, 'kubectl_complete-joiner': entry }
  return {
    name: packageName,
    version,
    description,
    license,
    type: 'module',
    // Tests run on this one.
    engines: { node: '>=24' },
    bin,
    dependencies: Object.fromEntries(dependencies),
  }
}

const readme = `# Joiner's command line

\`joiner\` looks into and operates Joiner, a node autoscaler for AKS, from a laptop; \`kubectl joiner\` is the same. Joiner itself runs from its image.

    npm install -g ${packageName}
    joiner --help
`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = join(root, 'build')
  console.log(await packCli(folder))
}
