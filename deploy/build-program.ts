// npm run build-program: bundles the program from its sources into dist/. A process that loads some files of JavaScript in place of hundreds of TypeScript
// starts with two thirds of the processor time.
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

/** Bundles the program unless it is there, built from these very sources. Returns the path of what starts it. */
export async function buildProgram(): Promise<string> {
  const folder = await buildOnce({
    folder: dist,
    sources: ['{core,api,activities,workflows,workers,starter}/**/*.ts', 'deploy/build-program.ts'],
    build: bundleProgram,
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

/** `@scope/package` of `@scope/package/file.js`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

if (import.meta.main) console.log(`the program is ${relative(process.cwd(), await buildProgram())}`)
