// Makes what a release publishes besides the image, in build/packages: the command line as an npm package, and the chart. With `--try` the package is
// installed in a folder of its own and run.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const entry = 'starter/joiner.ts'
/** What the image runs and a laptop does not. */
const leftOut = ['workers/', 'deploy/']
export const packageName = '@joiner-autoscaler/cli'

interface Manifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** Sources that the command line loads, and the packages that they import. Both are relative to the root. */
interface Needed {
  readonly sources: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
}

const imports = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+|new URL\(\s*)'([^']+)'/g

/** Follows imports, also those that are made late, and files that threads start from. */
async function needed(): Promise<Needed> {
  const sources = new Set<string>([entry])
  const packages = new Set<string>()
  for (const source of sources) {
    const text = stripTypeScriptTypes(await readFile(join(root, source), 'utf8'))
    for (const [, name = ''] of text.matchAll(imports)) {
      const isOwn = name.startsWith('.') || /^[\w-]+\.ts$/.test(name)
      if (isOwn && name.endsWith('.ts')) {
        const target = relative(root, resolve(root, dirname(source), name))
        if (!leftOut.some((folder) => target.startsWith(folder))) sources.add(target)
      } else if (/^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/.test(name) && !isOwn) packages.add(packageOf(name))
    }
  }
  return { sources, packages }
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Node runs TypeScript, but none within node_modules: types are blanked out, so that lines stay what they were. */
function compiled(text: string): string {
  return stripTypeScriptTypes(text).replaceAll(/'([^'\n]*)\.ts'/g, (whole, path: string) =>
    /^[\w./-]+$/.test(path) ? `'${path}.js'` : whole,
  )
}

/** Writes the package's files to a folder. Returns its version. */
export async function writePackage(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
  const { sources, packages } = await needed()
  await rm(folder, { recursive: true, force: true })
  for (const source of sources) {
    const file = join(folder, source.replace(/\.ts$/, '.js'))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, compiled(await readFile(join(root, source), 'utf8')))
  }
  await cp(join(root, 'deploy', 'crds'), join(folder, 'deploy', 'crds'), { recursive: true })
  for (const file of ['LICENSE', 'docs/command-line.md']) await cp(join(root, file), join(folder, file))
  const dependencies = [...packages].toSorted().map((name) => {
    const version = manifest.dependencies[name]
    if (version === undefined) throw new Error(`${name} is imported and is no dependency in package.json`)
    return [name, version] as const
  })
  const command = './starter/joiner.js'
  const own = {
    name: packageName,
    version: manifest.version,
    description: manifest.description,
    license: manifest.license,
    type: 'module',
    engines: { node: '>=22.13' },
    bin: { joiner: command, 'kubectl-joiner': command, 'kubectl_complete-joiner': command },
    dependencies: Object.fromEntries(dependencies),
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
  return manifest.version
}

async function main(isTried: boolean): Promise<void> {
  const out = join(root, 'build', 'packages')
  const folder = join(root, 'build', 'package')
  await mkdir(out, { recursive: true })
  console.log('the command line ...')
  const version = await writePackage(folder)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', out], { cwd: folder })
  const file = join(out, fileIn(stdout))
  console.log(`${file} (${packageName} ${version})`)
  console.log('the chart ...')
  const packed = await run('helm', ['package', join(root, 'deploy', 'chart'), '--destination', out]).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      throw new Error('helm is not on the PATH, so the chart is not packaged; install Helm 3 or 4', { cause: error })
    },
  )
  console.log(packed.stdout.trim())
  if (isTried) await tryOut(file, version)
}

function fileIn(json: string): string {
  const parsed = JSON.parse(json) as unknown
  const [first] = (Array.isArray(parsed) ? parsed : Object.values(parsed as object)) as [{ readonly filename: string }]
  return first.filename.replace('@', '').replace('/', '-')
}

/** Installs the package as its users do, and runs it. Errors: something does not run, or is another version. */
async function tryOut(file: string, version: string): Promise<void> {
  const prefix = await mkdtemp(join(tmpdir(), 'joiner-package-'))
  try {
    console.log(`installing it in ${prefix} ...`)
    await run('npm', ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', file])
    for (const command of ['joiner', 'kubectl-joiner']) {
      const { stdout } = await run(join(prefix, 'bin', command), ['--version'])
      if (stdout.trim() !== version) throw new Error(`${command} --version says ${stdout.trim()}, not ${version}`)
    }
    const manifest = join(root, 'test/manifests/karpenter-v1.yaml')
    const { stdout } = await run(join(prefix, 'bin', 'joiner'), ['convert', manifest])
    if (!stdout.includes('apiVersion: karpenter.sh/v1\n')) throw new Error(`joiner convert printed: ${stdout}`)
    console.log('it runs')
  } finally {
    await rm(prefix, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.includes('--try'))
