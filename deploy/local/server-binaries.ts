import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { availableParallelism, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { inParallel } from '../../activities/concurrency.ts'
import { answers, download } from './download.ts'
import { FamilyBuild } from './server-build/family-build.ts'
import { goLack, type Lack, requireGo } from './server-build/go.ts'
import { longestFirst, progressText } from './server-build/progress.ts'
import { type KubernetesAge, kubernetesVersions, type ServerName, serverOf } from './server-versions.ts'

const run = promisify(execFile)

export type Progress = (line: string) => void

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

/** Builds under way at a time. Each compiles on every core, but not while it reads its packages, or links. */
const atOnce = 2
const reportMs = 15_000

/** Paths of these servers' binaries; what is missing is downloaded or built. `progress` hears of each step. */
export async function resolveBinaries<N extends ServerName>(
  names: readonly N[],
  progress: Progress,
): Promise<Readonly<Record<N, string>>> {
  const paths: Partial<Record<N, string>> = {}
  const missing: N[] = []
  for (const name of names) {
    const found = await findBinary(name)
    if (found === undefined) missing.push(name)
    paths[name] = found ?? cachePath(name)
  }
  const families = [...Map.groupBy(missing, (name) => chosen(name).family)]
  const releases: (() => Promise<void>)[] = []
  try {
    // In one order, so that no two processes wait for each other.
    for (const family of families.map(([name]) => name).toSorted()) releases.push(await lockFamily(family, progress))
    const builds: FamilyBuild[] = []
    await inParallel(families, families.length, async ([family, members]) => {
      const wanted = await notDownloaded(await absent(members), progress)
      if (wanted.length > 0) builds.push(familyBuild(family, wanted))
    })
    if (builds.length > 0) await buildAll(builds, progress)
  } finally {
    for (const release of releases) await release()
  }
  return paths as Record<N, string>
}

/** Those of these servers that the cache lacks. */
async function absent<N extends ServerName>(names: readonly N[]): Promise<readonly N[]> {
  const are = await Promise.all(names.map((name) => isExecutable(cachePath(name))))
  return names.filter((_, index) => !are[index])
}

/** Keeps other processes from getting the same servers. Returns what lets them. */
async function lockFamily(family: string, progress: Progress): Promise<() => Promise<void>> {
  await mkdir(cacheFolder('servers'), { recursive: true })
  const file = cacheFolder('servers', family)
  const options = { realpath: false, stale: 60_000 }
  if (await lockfile.check(file, options)) progress(`another process gets servers of ${family}; waiting for it`)
  return lockfile.lock(file, {
    ...options,
    update: 10_000,
    retries: { retries: 1800, minTimeout: 1000, maxTimeout: 1000 },
  })
}

/** Downloads servers where their official places answer at once. Returns the others. */
async function notDownloaded(names: readonly ServerName[], progress: Progress): Promise<readonly ServerName[]> {
  const are = await Promise.all(
    names.map(async (name) => {
      await mkdir(dirname(cachePath(name)), { recursive: true })
      return downloaded(name, cachePath(name), progress)
    }),
  )
  return names.filter((_, index) => !are[index])
}

/** The build of servers of one family. */
function familyBuild(family: string, names: readonly ServerName[]): FamilyBuild {
  const wanted = names.map((name) => ({ name, server: chosen(name), target: cachePath(name) }))
  return new FamilyBuild(wanted, { source: sourceFolder(family), folder: cacheFolder('servers', `${family}.build`) })
}

/** Fetches all sources at once, then builds, and says every now and then how far that is. */
async function buildAll(builds: readonly FamilyBuild[], progress: Progress): Promise<void> {
  await requireGo()
  const cores = availableParallelism()
  let startedMs = Date.now()
  const report = async () => {
    const states = await Promise.all(builds.map((each) => each.state()))
    progress(progressText(states, Date.now() - startedMs, cores))
  }
  progress(`servers are built from source on the first run, and kept in ${cacheFolder('servers')}`)
  await report()
  const ticker = setInterval(() => void report(), reportMs)
  try {
    await inParallel(builds, builds.length, (each) => each.prepare())
    startedMs = Date.now()
    await inParallel(longestFirst(builds), atOnce, async (each) => {
      const built = each.build()
      void report()
      await built
    })
    progress(`the servers are built, in ${Math.round((Date.now() - startedMs) / 1000)} s`)
  } finally {
    clearInterval(ticker)
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
  // To ask a command for its version takes a process.
  const cached = cachePath(name)
  if (await isExecutable(cached)) return cached
  return (await hasVersion(name, name)) ? name : undefined
}

/** The environment variable that names a server's binary. */
export function binaryVariable(name: ServerName): string {
  return `JOINER_${name.toUpperCase().replaceAll('-', '_')}_BINARY`
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

/** The folder with the module that pins the source of a family of servers, where `go` knows it. */
function sourceFolder(family: string): string {
  return join(dirname(fileURLToPath(import.meta.url)), 'servers', family)
}
