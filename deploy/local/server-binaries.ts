import { type ExecFileException, execFile, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, chmod, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { download, type Release } from './download.ts'

const run = promisify(execFile)

const kubernetesVersion = '1.36.3'
const kubernetesFlags = [
  `-X k8s.io/component-base/version.gitVersion=v${kubernetesVersion}`,
  '-X k8s.io/component-base/version.gitMajor=1',
  '-X k8s.io/component-base/version.gitMinor=36',
].join(' ')

interface Server {
  readonly version: string
  /** Folder under `servers/` with the module that pins the source. */
  readonly family: string
  readonly package: string
  readonly ldflags?: string
  /** Arguments that make it print its version. */
  readonly versionArgs: readonly string[]
  readonly release: (platform: string) => Release
}

const kubernetes = (name: string, versionArgs: readonly string[] = ['--version']): Server => ({
  version: kubernetesVersion,
  family: 'kubernetes',
  package: `k8s.io/kubernetes/cmd/${name}`,
  ldflags: kubernetesFlags,
  versionArgs,
  release: (platform) => {
    const url = `https://dl.k8s.io/release/v${kubernetesVersion}/bin/${platform}/${name}`
    return { url, checksumUrl: `${url}.sha256` }
  },
})

/** The servers of the local cluster, each at one version. */
const servers = {
  etcd: {
    version: '3.6.16',
    family: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const archive = `etcd-v3.6.16-${platform.replace('/', '-')}`
      const base = 'https://github.com/etcd-io/etcd/releases/download/v3.6.16'
      return { url: `${base}/${archive}.tar.gz`, checksumUrl: `${base}/SHA256SUMS`, member: `${archive}/etcd` }
    },
  },
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubectl: kubernetes('kubectl', ['version', '--client']),
  kwok: {
    version: '0.8.0',
    family: 'kwok',
    package: 'sigs.k8s.io/kwok/cmd/kwok',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const url = `https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0/kwok-${platform.replace('/', '-')}`
      return { url, checksumUrl: `${url}.sha256` }
    },
  },
  temporal: {
    version: '1.8.2',
    family: 'temporal',
    package: 'github.com/temporalio/cli/cmd/temporal',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const archive = `temporal_cli_1.8.2_${platform.replace('/', '_')}.tar.gz`
      const base = 'https://github.com/temporalio/cli/releases/download/v1.8.2'
      return { url: `${base}/${archive}`, checksumUrl: `${base}/checksums.txt`, member: 'temporal' }
    },
  },
  /** The whole server, which can demand client certificates and tokens. The development server in the CLI cannot. */
  'temporal-server': {
    version: '1.31.2',
    family: 'temporal-server',
    package: 'go.temporal.io/server/cmd/server',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const archive = `temporal_1.31.2_${platform.replace('/', '_')}.tar.gz`
      const base = 'https://github.com/temporalio/temporal/releases/download/v1.31.2'
      return { url: `${base}/${archive}`, checksumUrl: `${base}/checksums.txt`, member: 'temporal-server' }
    },
  },
  helm: {
    version: '4.3.1',
    family: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    versionArgs: ['version', '--short'],
    release: (platform: string) => {
      const archive = `helm-v4.3.1-${platform.replace('/', '-')}.tar.gz`
      return {
        url: `https://get.helm.sh/${archive}`,
        checksumUrl: `https://get.helm.sh/${archive}.sha256sum`,
        member: `${platform.replace('/', '-')}/helm`,
      }
    },
  },
} as const satisfies Record<string, Server>

export type ServerName = keyof typeof servers
/** What tests need. `npm run temporal-tls` alone needs the whole Temporal server, and finds or builds it by itself. */
export const serverNames = (Object.keys(servers) as readonly ServerName[]).filter((name) => name !== 'temporal-server')

export type Progress = (line: string) => void

const oldestGo = [1, 26] as const
const goArch: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
const platform = `${process.platform === 'darwin' ? 'darwin' : 'linux'}/${goArch[process.arch] ?? process.arch}`

/** Where binaries are kept between runs, by name and version. */
function cachePath(name: ServerName): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(cache, 'joiner', 'servers', name, `${servers[name].version}-${platform.replace('/', '-')}`, name)
}

/** Paths of these servers' binaries; what is missing is downloaded or built, one after the other. */
export async function resolveBinaries<N extends ServerName>(
  names: readonly N[],
  progress: Progress,
): Promise<Readonly<Record<N, string>>> {
  const paths: Partial<Record<N, string>> = {}
  for (const name of names) paths[name] = await resolveBinary(name, progress)
  return paths as Record<N, string>
}

/**
 * The path of one server's binary: from the environment (`JOINER_ETCD_BINARY` and so on), the right version on the PATH, the user's cache,
 * a download where the official place answers at once, else a build from its pinned Go module.
 */
async function resolveBinary(name: ServerName, progress: Progress): Promise<string> {
  const variable = `JOINER_${name.toUpperCase().replaceAll('-', '_')}_BINARY`
  const named = process.env[variable]
  if (named !== undefined && named !== '') {
    if (!(await isExecutable(named)))
      throw new Error(`${variable}="${named}": no executable file; correct the path, or unset it`)
    return named
  }
  if (await hasVersion(name, name)) return name
  const cached = cachePath(name)
  if (await isExecutable(cached)) return cached
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

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Whether a command exists and says that it is the pinned version. */
async function hasVersion(name: ServerName, command: string): Promise<boolean> {
  try {
    const { stdout } = await run(command, [...servers[name].versionArgs], { timeout: 5000 })
    return stdout.split(/[\s:+]/).some((word) => word.replace(/^v/, '') === servers[name].version)
  } catch {
    return false
  }
}

async function downloaded(name: ServerName, target: string, progress: Progress): Promise<boolean> {
  const server: Server = servers[name]
  const temporary = `${target}.download`
  const bytes = await download(server.release(platform), (line) => progress(`${name} ${server.version}: ${line}`))
  if (bytes === undefined) return false
  await writeFile(temporary, bytes)
  await chmod(temporary, 0o755)
  await rename(temporary, target)
  return true
}

async function build(name: ServerName, target: string, progress: Progress): Promise<void> {
  await requireGo()
  const server: Server = servers[name]
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
      '-ldflags',
      `-s -w ${server.ldflags ?? ''}`.trim(),
      '-o',
      temporary,
      server.package,
    ]
    const child = spawn('go', args, {
      cwd: join(dirname(fileURLToPath(import.meta.url)), 'servers', server.family),
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

async function requireGo(): Promise<void> {
  const wanted = oldestGo.join('.')
  const remedy = `install Go ${wanted} or newer (https://go.dev/doc/install) and put it on the PATH, or name the binaries in JOINER_<SERVER>_BINARY`
  let text: string
  try {
    text = (await run('go', ['env', 'GOVERSION'])).stdout
  } catch (error) {
    throw new Error(
      `Go is needed to build the local servers, and ${(error as ExecFileException).code === 'ENOENT' ? 'there is none on the PATH' : 'it does not run'}: ${remedy}`,
      { cause: error },
    )
  }
  const [major = 0, minor = 0] = text.replace('go', '').split('.').map(Number)
  if (major < oldestGo[0] || (major === oldestGo[0] && minor < oldestGo[1]))
    throw new Error(`Go ${text.trim()} is too old to build the local servers: ${remedy}`)
}
