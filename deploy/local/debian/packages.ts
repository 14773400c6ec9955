import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { cacheFolder } from '../server-binaries.ts'

const run = promisify(execFile)

export type Progress = (line: string) => void

/** A program that runs on this machine. */
export interface Program {
  readonly executable: string
  /** What its process needs besides the own environment, such as libraries. */
  readonly env: Readonly<Record<string, string>>
}

/** A program that Debian has a package of. */
export interface Packaged {
  /** As messages name it, and its folder in the cache. */
  readonly name: string
  /** The packages that are unpacked, with what they depend on. */
  readonly packages: readonly string[]
  readonly megabytes: number
  readonly versionArgs: readonly string[]
  /** What to do where the package does not come or does not start. */
  readonly remedy: string
  /** How to start what `root` holds: the packages' files as they would be under `/`. */
  readonly unpacked: (root: string) => Program
  /** Completes the files in `root` for their place in the cache. */
  readonly complete?: (root: string, target: string) => Promise<void>
}

/**
 * Finds a program in the user's cache, else in Debian's packages, which are unpacked into the cache without root. Debian serves its latest version alone,
 * so the version is not pinned; what is in the cache stays there. Errors: there is no apt; the packages do not come; what came does not start.
 */
export async function resolvePackaged(packaged: Packaged, progress: Progress): Promise<Program> {
  const cache = cacheFolder(packaged.name)
  await mkdir(cache, { recursive: true })
  const release = await lockfile.lock(cache, {
    stale: 60_000,
    update: 10_000,
    retries: { retries: 600, minTimeout: 1000, maxTimeout: 1000 },
  })
  try {
    return (await cached(cache, packaged)) ?? (await install(cache, packaged, progress))
  } finally {
    await release()
  }
}

/** Finds a program on the PATH, else as {@link resolvePackaged} does. */
export async function resolveCommand(command: string, packaged: Packaged, progress: Progress): Promise<Program> {
  const onPath = { executable: command, env: {} }
  if ((await versionOf(onPath, packaged.versionArgs)) !== undefined) return onPath
  return resolvePackaged(packaged, progress)
}

/** Where the linker looks for what unpacked packages bring: a value of LD_LIBRARY_PATH. */
export function librariesIn(root: string): string {
  const libraries = globSync('{usr/,}lib/*-linux-gnu/{,*/}*.so*', { cwd: root })
  return [...new Set(libraries.map((path) => join(root, dirname(path))))].join(':')
}

/** What a program says of its version; undefined: it does not start. */
export async function versionOf({ executable, env }: Program, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run(executable, [...args], { env: { ...process.env, ...env }, timeout: 60_000 })
    return /\d[\d.]+/.exec(stdout)?.[0]
  } catch {
    return undefined
  }
}

/** The program of an earlier run, if it still starts. */
async function cached(cache: string, { unpacked, versionArgs }: Packaged): Promise<Program | undefined> {
  const versions = (await readdir(cache)).filter((name) => /^\d/.test(name)).toSorted()
  for (const version of versions.toReversed()) {
    const program = unpacked(join(cache, version))
    if ((await versionOf(program, versionArgs)) !== undefined) return program
  }
  return undefined
}

/** Unpacks these packages, without what they depend on, into a folder. Errors: one of them cannot be downloaded. */
export async function unpackPackages(names: readonly string[], root: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'joiner-packages-'))
  try {
    const apt = await ownApt(work)
    await apt(['download', ...names])
    await unpack(await archivesIn(work), root)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function unpack(archives: readonly string[], root: string): Promise<void> {
  for (const archive of archives) await run('dpkg', ['-x', archive, root])
  for (const unused of ['doc', 'man', 'locale', 'bug'])
    await rm(join(root, 'usr/share', unused), { recursive: true, force: true })
}

async function install(cache: string, packaged: Packaged, progress: Progress): Promise<Program> {
  const { name, unpacked, versionArgs, remedy, complete } = packaged
  const work = await mkdtemp(join(cache, 'install-'))
  try {
    const archives = await download(work, packaged, progress)
    const root = join(work, 'root')
    await unpack(archives, root)
    const program = unpacked(root)
    const version = await versionOf(program, versionArgs)
    if (version === undefined) {
      const env = { ...process.env, ...program.env }
      const cause = await run(program.executable, [...versionArgs], { env }).catch((error: unknown) => error)
      throw new Error(`Debian's package of ${name} was unpacked, but does not start on this machine: ${remedy}`, {
        cause,
      })
    }
    const target = join(cache, version)
    await rm(target, { recursive: true, force: true })
    await complete?.(root, target)
    await rename(root, target)
    progress(`${name} ${version}: unpacked`)
    return unpacked(target)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Downloads the packages that this machine lacks. */
async function download(
  work: string,
  { name, packages, megabytes, remedy }: Packaged,
  progress: Progress,
): Promise<readonly string[]> {
  await mkdir(join(work, 'root'))
  const started = Date.now()
  const ticker = setInterval(
    () => progress(`${name}: still downloading, ${Math.round((Date.now() - started) / 1000)} s`),
    15_000,
  )
  try {
    progress(`${name}: looking for Debian's package (once, then kept in ${dirname(work)})`)
    const apt = await ownApt(work)
    const plan = await apt(['--simulate', '--no-install-recommends', 'install', ...packages])
    // What the machine has by its own packages is not downloaded, except for the named ones.
    const names = new Set([...packages, ...[...plan.matchAll(/^Inst (\S+)/gm)].flatMap(([, one]) => one ?? [])])
    progress(`${name}: downloading ${names.size} packages (some ${megabytes} MB)`)
    await apt(['download', ...names])
  } catch (error) {
    throw new Error(`Debian's packages of ${name} could not be downloaded by apt-get: ${remedy}`, { cause: error })
  } finally {
    clearInterval(ticker)
  }
  return archivesIn(work)
}

/** An apt-get with lists of its own, since those of the machine may be old or absent. What it downloads is found by {@link archivesIn}. */
async function ownApt(work: string): Promise<(args: readonly string[]) => Promise<string>> {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'archives'])
    await mkdir(join(work, folder), { recursive: true })
  const options = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Debug::NoLocking=true',
    'APT::Sandbox::User=root',
    'Acquire::Retries=2',
  ].flatMap((option) => ['-o', option])
  const apt = async (args: readonly string[]) =>
    (await run('apt-get', [...options, ...args], { cwd: join(work, 'archives'), maxBuffer: 64 * 1024 * 1024 })).stdout
  // A list of another origin that does not come is no harm; a missing package is, and the next command reports it.
  await apt(['update']).catch(() => undefined)
  return apt
}

async function archivesIn(work: string): Promise<readonly string[]> {
  const folder = join(work, 'archives')
  return (await readdir(folder)).map((archive) => join(folder, archive))
}
