import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { cacheFolder } from '../../deploy/local/server-binaries.ts'

const run = promisify(execFile)

type Progress = (line: string) => void

/** A Chromium that runs on this machine. */
export interface Chromium {
  readonly executable: string
  /** What its process needs besides the own environment: libraries and fonts. */
  readonly env: Readonly<Record<string, string>>
}

/** Inter draws the page as most desktops do; DejaVu has what it lacks. */
const packages = ['chromium', 'fonts-inter', 'fonts-dejavu-core']
const variable = 'JOINER_CHROMIUM_BINARY'
const remedy = `install Chromium or Google Chrome and put it on the PATH, or name it in ${variable}`

/**
 * Finds a Chromium: in the environment (`JOINER_CHROMIUM_BINARY`), on the PATH, in the user's cache, else in Debian's packages, which are unpacked
 * into the cache without root. Debian serves its latest version alone, so the version is not pinned; what is in the cache stays there.
 * Errors: none is found, and there is no apt; the packages do not come; what came does not start.
 */
export async function resolveChromium(progress: Progress): Promise<Chromium> {
  const named = process.env[variable]
  if (named !== undefined && named !== '') {
    if ((await versionOf({ executable: named, env: {} })) === undefined)
      throw new Error(`${variable}="${named}": it does not start; correct the path, or unset it`)
    return { executable: named, env: {} }
  }
  for (const executable of ['chromium', 'google-chrome']) {
    const path = await pathOf(executable)
    if (path !== undefined && (await versionOf({ executable: path, env: {} })) !== undefined)
      return { executable: path, env: {} }
  }
  const cache = cacheFolder('chromium')
  await mkdir(cache, { recursive: true })
  const release = await lockfile.lock(cache, {
    stale: 60_000,
    update: 10_000,
    retries: { retries: 600, minTimeout: 1000, maxTimeout: 1000 },
  })
  try {
    return (await cached(cache)) ?? (await install(cache, progress))
  } finally {
    await release()
  }
}

/** Where a command is on the PATH. */
async function pathOf(command: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(':')) {
    const path = join(folder, command)
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

/** What it says of its version; undefined: it does not start. */
async function versionOf({ executable, env }: Chromium): Promise<string | undefined> {
  try {
    const { stdout } = await run(executable, ['--version'], { env: { ...process.env, ...env }, timeout: 20_000 })
    return /\d[\d.]+/.exec(stdout)?.[0]
  } catch {
    return undefined
  }
}

/** The Chromium of an earlier run, if it still starts. */
async function cached(cache: string): Promise<Chromium | undefined> {
  const versions = (await readdir(cache)).filter((name) => /^\d/.test(name)).toSorted()
  for (const version of versions.toReversed()) {
    const chromium = unpacked(join(cache, version))
    if ((await versionOf(chromium)) !== undefined) return chromium
  }
  return undefined
}

/** How to start what `root` holds: the packages' files as they would be under `/`. */
function unpacked(root: string): Chromium {
  const libraries = globSync('{usr/,}lib/*-linux-gnu/{,*/}*.so*', { cwd: root }).map((path) =>
    join(root, dirname(path)),
  )
  return {
    executable: join(root, 'usr/lib/chromium/chromium'),
    env: { LD_LIBRARY_PATH: [...new Set(libraries)].join(':'), FONTCONFIG_FILE: join(root, 'fonts.conf') },
  }
}

async function install(cache: string, progress: Progress): Promise<Chromium> {
  const work = await mkdtemp(join(cache, 'install-'))
  try {
    const archives = await download(work, progress)
    const root = join(work, 'root')
    for (const archive of archives) await run('dpkg', ['-x', archive, root])
    for (const unused of ['doc', 'man', 'locale', 'bug'])
      await rm(join(root, 'usr/share', unused), { recursive: true, force: true })
    const version = await versionOf(unpacked(root))
    if (version === undefined) {
      const cause = await run(unpacked(root).executable, ['--version'], { env: unpacked(root).env }).catch(
        (error: unknown) => error,
      )
      throw new Error(`Debian's Chromium was unpacked, but does not start on this machine: ${remedy}`, { cause })
    }
    const target = join(cache, version)
    await rm(target, { recursive: true, force: true })
    await writeFile(join(root, 'fonts.conf'), fonts(join(target, 'usr/share/fonts'), join(cache, 'fonts')))
    await rename(root, target)
    progress(`chromium ${version}: unpacked`)
    return unpacked(target)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Downloads the packages that this machine lacks, with lists of its own, since those of the machine may be old or absent. */
async function download(work: string, progress: Progress): Promise<readonly string[]> {
  const archives = join(work, 'archives')
  for (const folder of ['lists/partial', 'cache/archives/partial', 'archives', 'root'])
    await mkdir(join(work, folder), { recursive: true })
  const options = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Debug::NoLocking=true',
    'APT::Sandbox::User=root',
    'Acquire::Retries=2',
  ].flatMap((option) => ['-o', option])
  const apt = async (args: readonly string[]) =>
    (await run('apt-get', [...options, ...args], { cwd: archives, maxBuffer: 64 * 1024 * 1024 })).stdout
  const started = Date.now()
  const ticker = setInterval(
    () => progress(`chromium: still downloading, ${Math.round((Date.now() - started) / 1000)} s`),
    15_000,
  )
  try {
    progress(`chromium: looking for Debian's package (once, then kept in ${dirname(work)})`)
    // A list of another origin that does not come is no harm; a missing package is, and the next command tells of it.
    await apt(['update']).catch(() => undefined)
    const plan = await apt(['--simulate', '--no-install-recommends', 'install', ...packages])
    // What the machine has by its own packages is not downloaded, except for the named ones.
    const names = new Set([...packages, ...[...plan.matchAll(/^Inst (\S+)/gm)].flatMap(([, name]) => name ?? [])])
    progress(`chromium: downloading ${names.size} packages (some 130 MB)`)
    await apt(['download', ...names])
  } catch (error) {
    throw new Error(`Debian's packages of Chromium could not be downloaded by apt-get: ${remedy}`, { cause: error })
  } finally {
    clearInterval(ticker)
  }
  return (await readdir(archives)).map((name) => join(archives, name))
}

const fonts = (folder: string, cache: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>${folder}</dir>
  <cachedir>${cache}</cachedir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family><family>DejaVu Sans</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family><family>DejaVu Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`
