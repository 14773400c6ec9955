// npm run build-program: bundles the program from its sources into dist/. A process that loads some files of JavaScript in place of hundreds of TypeScript
// starts with two thirds of the processor time.
import { readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { buildOnce, root } from './build-once.ts'

const dist = join(root, 'dist')

/** Temporal's packages load files by their paths: a native library, a thread, the workflows' library. The local cluster is for a checkout. */
const external = [/^@temporalio\//, /deploy\/local\/commands\.ts$/]

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

/** Bundles the program unless it is there, built from these very sources, with the package.json of what it needs to run. Returns the path of what starts it. */
export async function buildProgram(): Promise<string> {
  const folder = await buildOnce({
    folder: dist,
    sources: ['{core,api,activities,workflows,workers,starter}/**/*.ts', 'deploy/build-program.ts'],
    build: async (dir) => writeManifest(dir, await runtimeManifest(await bundleProgram(dir))),
  })
  return join(folder, 'joiner.js')
}

/**
 * Bundles the program into a folder of the repository's root or of a package, where it finds other files as from `dist/`. `without`: more that stays
 * outside. Returns the packages that it loads when it runs.
 */
export async function bundleProgram(dir: string, without: readonly RegExp[] = []): Promise<readonly string[]> {
  const bundled = await rolldown({
    cwd: root,
    platform: 'node',
    input: { joiner: 'starter/joiner.ts' },
    external: [...external, ...without],
    plugins: [filesBeside],
    tsconfig: false,
  })
  const { output } = await bundled.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  const own = new Set(output.map(({ fileName }) => fileName))
  const imported = output.flatMap((one) => (one.type === 'chunk' ? [...one.imports, ...one.dynamicImports] : []))
  const packages = imported.filter((name) => !own.has(name) && !isBuiltin(name) && !/^[./]/.test(name))
  return [...new Set(packages.map(packageOf))].toSorted()
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** The package.json of a bundle that loads these packages. Errors: one that the repository's package.json has only for development, or not at all. */
export async function runtimeManifest(packages: readonly string[]): Promise<Manifest> {
  const { name, version, license, dependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  ) as Manifest
  const needed = packages.map((each) => {
    const pinned = dependencies[each]
    if (pinned === undefined)
      throw new Error(`package.json: dependencies have no "${each}", which the bundle imports; add it`)
    return [each, pinned]
  })
  return { name, version, license, dependencies: Object.fromEntries(needed) }
}

/** Writes a package.json of ES modules into a folder. */
export async function writeManifest(folder: string, manifest: object): Promise<void> {
  await writeFile(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, type: 'module' }, null, 2)}\n`)
}

/** `@scope/package` of `@scope/package/file.js`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

if (import.meta.main) console.log(`the program is ${relative(process.cwd(), await buildProgram())}`)
