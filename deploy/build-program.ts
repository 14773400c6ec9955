// npm run build-program: bundles the program from its sources into dist/. A process that loads some files of JavaScript in place of hundreds of TypeScript
// starts with two thirds of the processor time.
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { buildOnce, root } from './build-once.ts'

const dist = join(root, 'dist')

/** Temporal's packages load files by their paths: a native library, a thread, the workflows' library. The local cluster is for a checkout. */
const external = /^@temporalio\/|deploy\/local\/commands\.ts$/

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
    build: bundle,
  })
  return join(folder, 'joiner.js')
}

async function bundle(dir: string): Promise<void> {
  const bundled = await rolldown({
    cwd: root,
    platform: 'node',
    input: { joiner: 'starter/joiner.ts' },
    external: (id) => external.test(id),
    plugins: [filesBeside],
    tsconfig: false,
  })
  await bundled.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' })
}

if (import.meta.main) console.log(`the program is ${relative(process.cwd(), await buildProgram())}`)
