import { type ExecFileException, execFile, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, chmod, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { inParallel } from '../../activities/in-parallel.ts'
import { answers, download } from './download.ts'
import { type KubernetesAge, kubernetesVersions, type ServerName, serverOf } from './server-versions.ts'

const run = promisify(execFile)

export type Progress = (line: string) => void

const oldestGo = [1, 26] as const
const goArch: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
const platform = `${process.platform === 'darwin' ? 'darwin' : 'linux'}/${goArch[process.arch] ?? process.arch}`

/** Names in the environment the Kubernetes that is run: `newest` (the default) or `oldest`. */
export const kubernetesVariable = 'JOINER_LOCAL_KUBERNETES'

/** Which Kubernetes the local cluster has. Errors: the environment names another. */
export function chosenKubernetes(): KubernetesAge {
  const named = process.env[kubernetesVariable] || 'newest'
  if (Object.hasOwn(kubernetesVersions, named)) return named as KubernetesAge
  throw new Error(
    `${kubernetesVariable}="${named}": write ${Object.keys(kubernetesVersions).join(' or ')}, or unset it`,
  )
}

const chosen = (name: ServerName) => serverOf(name, chosenKubernetes())

/** A folder for what is built or downloaded once and kept between runs. */
export function cacheFolder(...names: readonly string[]): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'joiner', ...names)
}

/** Where binaries are kept between runs, by name and version. */
function cachePath(name: ServerName): string {
  return cacheFolder('servers', name, `${chosen(name).version}-${platform.replace('/', '-')}`, name)
}

/** Builds under way at a time. One is enough to compile on every core, but not while it downloads modules or links. */
const atOnce = 2

/**
 * Paths of these servers' binaries; what is missing is downloaded or built. Two families are looked after at a time. Servers of one family come one
 * after the other, since they are built from the same packages. `progress` hears of each step, and how many are there.
 */
export async function resolveBinaries<N extends ServerName>(
  names: readonly N[],
  progress: Progress,
): Promise<Readonly<Record<N, string>>> {
  const paths: Partial<Record<N, string>> = {}
  const families = [...Map.groupBy(names, (name) => chosen(name).family).values()]
  // The largest first, so that the small ones fill its gaps.
  families.sort((one, other) => other.length - one.length)
  const counted: Progress = (line) =>
    progress(`${line} [${Object.keys(paths).length} of ${names.length} servers are there]`)
  await inParallel(families, atOnce, async (family) => {
    for (const name of family) paths[name] = await resolveBinary(name, counted)
  })
  return paths as Record<N, string>
}

/**
 * The path of one server's binary: from the environment (`JOINER_ETCD_BINARY` and so on), the right version on the PATH, the user's cache,
 * a download where the official place answers at once, else a build from its pinned Go module.
 */
async function resolveBinary(name: ServerName, progress: Progress): Promise<string> {
  const found = await findBinary(name)
  if (found !== undefined) return found
  const cached = cachePath(name)
  await mkdir(dirname(cached), { recursive: true })
  const release = await lockfile.lock(dirname(cached), {
    stale: 60_000,
    update: 10_000,
    retries: { retries: 1800, minTimeout: 1000, maxTimeout: 1000 },
  })
  try {
    if (await isExecutable(cached)) return cached
    if (!(await downloaded(name, cached, progress))) await build(name, cached, progress)
    return cached
  } finally {
    await release()
  }
}

/** The path of a binary that is there already. Errors: the environment names no executable file. */
async function findBinary(name: ServerName): Promise<string | undefined> {
  const variable = binaryVariable(name)
  const named = process.env[variable]
  if (named !== undefined && named !== '') {
    if (!(await isExecutable(named)))
      throw new Error(`${variable}="${named}": no executable file; correct the path, or unset it`)
    return named
  }
  if (await hasVersion(name, name)) return name
  const cached = cachePath(name)
  return (await isExecutable(cached)) ? cached : undefined
}

/** The environment variable that names a server's binary. */
export function binaryVariable(name: ServerName): string {
  return `JOINER_${name.toUpperCase().replaceAll('-', '_')}_BINARY`
}

/** What a machine has to have, and what a probe found instead. */
export interface Lack {
  readonly capability: string
  readonly found: string
}

/** Probes whether a server can be run here: its binary is there, its official place answers, or Go can build it. Undefined: it can. */
export async function lackFor(name: ServerName): Promise<Lack | undefined> {
  if ((await findBinary(name)) !== undefined) return undefined
  const { release } = chosen(name)
  if (release !== undefined && (await answers(release(platform)))) return undefined
  return goLack()
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Whether a command exists and says that it is the pinned version. */
async function hasVersion(name: ServerName, command: string): Promise<boolean> {
  const { version, versionArgs } = chosen(name)
  if (versionArgs === undefined) return false
  try {
    const { stdout } = await run(command, [...versionArgs], { timeout: 5000 })
    return stdout.split(/[\s:+]/).some((word) => word.replace(/^v/, '') === version)
  } catch {
    return false
  }
}

async function downloaded(name: ServerName, target: string, progress: Progress): Promise<boolean> {
  const { version, release } = chosen(name)
  if (release === undefined) return false
  const temporary = `${target}.download`
  const bytes = await download(release(platform), (line) => progress(`${name} ${version}: ${line}`))
  if (bytes === undefined) return false
  await writeFile(temporary, bytes)
  await chmod(temporary, 0o755)
  await rename(temporary, target)
  return true
}

/** The folder with the module that pins a server's source, where `go` knows it. */
function sourceFolder(name: ServerName): string {
  return join(dirname(fileURLToPath(import.meta.url)), 'servers', chosen(name).family)
}

/** Where Go keeps the files of a module that a server is built from; it fetches them if it has lost them. */
export async function moduleFiles(name: ServerName, module: string): Promise<string> {
  await requireGo()
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: sourceFolder(name) })
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir
}

async function build(name: ServerName, target: string, progress: Progress): Promise<void> {
  await requireGo()
  const server = chosen(name)
  const started = Date.now()
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`
  progress(`${name} ${server.version}: building from source (minutes on the first run, then kept)`)
  const ticker = setInterval(() => progress(`${name} ${server.version}: still building, ${elapsed()}`), 15_000)
  const temporary = `${target}.build`
  const logPath = `${target}.build.log`
  const log = await open(logPath, 'w')
  try {
    const args = [
      'build',
      '-trimpath',
      '-mod=readonly',
      ...(server.tags === undefined ? [] : ['-tags', server.tags]),
      '-ldflags',
      `-s -w ${server.ldflags ?? ''}`.trim(),
      '-o',
      temporary,
      server.package,
    ]
    const child = spawn('go', args, {
      cwd: sourceFolder(name),
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
      stdio: ['ignore', log.fd, log.fd],
    })
    const stop = () => child.kill('SIGKILL')
    process.once('exit', stop)
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('exit', resolve),
    )
    process.off('exit', stop)
    if (code !== 0) throw new Error(`${name}: go build failed; its output is in ${logPath}`)
    await rename(temporary, target)
    await rm(logPath)
    progress(`${name} ${server.version}: built in ${elapsed()}`)
  } finally {
    clearInterval(ticker)
    await log.close()
  }
}

/** Errors: there is no Go on the PATH, or an old one. */
export async function requireGo(): Promise<void> {
  const lack = await goLack()
  if (lack === undefined) return
  const { capability, found } = lack
  throw new Error(
    `${capability} is needed to build the local servers, and ${found}: install it (https://go.dev/doc/install) and put it on the PATH, or name the binaries in JOINER_<SERVER>_BINARY`,
  )
}

/** Asks the Go on the PATH for its version. Undefined: it can build servers. */
export async function goLack(): Promise<Lack | undefined> {
  const capability = `Go ${oldestGo.join('.')} or newer`
  let text: string
  try {
    text = (await run('go', ['env', 'GOVERSION'])).stdout.trim()
  } catch (error) {
    const isNone = (error as ExecFileException).code === 'ENOENT'
    return { capability, found: isNone ? 'there is none on the PATH' : 'the one on the PATH does not run' }
  }
  const [major = 0, minor = 0] = text.replace('go', '').split('.').map(Number)
  const isOld = major < oldestGo[0] || (major === oldestGo[0] && minor < oldestGo[1])
  return isOld ? { capability, found: `the one on the PATH is ${text}` } : undefined
}
