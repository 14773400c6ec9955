// Test binaries of Karpenter's suites, and Karpenter itself with its provider for kwok, built from the module that go.mod pins.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import lockfile from 'proper-lockfile'
import { cacheFolder, type Progress } from '../../deploy/local/server-binaries.ts'
import { requireGo } from '../../deploy/local/server-build/go.ts'

const run = promisify(execFile)
const here = dirname(fileURLToPath(import.meta.url))
const karpenter = 'sigs.k8s.io/karpenter'

/** Suites whose specs any provider of Karpenter has to pass, and the one that measures. */
export const functionalSuites = ['regression', 'disruption'] as const
export const performanceSuite = 'performance'
type BinaryName = (typeof functionalSuites)[number] | typeof performanceSuite | 'karpenter'

// Vet costs more than the build, and says nothing about this repository.
const testArgs = (suite: string) => ['test', '-vet=off', '-c', `${karpenter}/test/suites/${suite}`]
const buildArgs: Readonly<Record<BinaryName, readonly string[]>> = {
  regression: testArgs('regression'),
  disruption: testArgs('disruption'),
  performance: testArgs('performance'),
  karpenter: ['build', `${karpenter}/kwok`],
}

// Karpenter names the version of Go that it is built with, which may be newer than the one on the PATH.
const goEnv = () => ({
  ...process.env,
  GOTOOLCHAIN: 'auto',
  CGO_ENABLED: '0',
  GOFLAGS: '-buildvcs=false -mod=readonly',
})

/** Karpenter's version, as go.mod pins it: `1.15.0`. */
export function karpenterVersion(): string {
  const [, version] = /sigs\.k8s\.io\/karpenter v(\S+)/.exec(readFileSync(join(here, 'go.mod'), 'utf8')) ?? []
  if (version === undefined) throw new Error('test/upstream-e2e/go.mod requires no sigs.k8s.io/karpenter')
  return version
}

/** Where Go keeps Karpenter's own files. */
export async function karpenterFiles(): Promise<string> {
  await requireGo()
  const { stdout } = await run('go', ['mod', 'download', '-json', karpenter], { cwd: here, env: goEnv() })
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir
}

/** Paths of these binaries, which are kept between runs as long as go.mod and go.sum stay. Errors: Go is missing, or a build failed. */
export async function builtBinaries<N extends BinaryName>(
  names: readonly N[],
  progress: Progress,
): Promise<Readonly<Record<N, string>>> {
  const pinned = ['go.mod', 'go.sum'].map((name) => readFileSync(join(here, name), 'utf8')).join('')
  const folder = cacheFolder(
    'upstream-e2e',
    `${createHash('sha256').update(pinned).digest('hex').slice(0, 16)}-${process.platform}-${process.arch}`,
  )
  await mkdir(folder, { recursive: true })
  const release = await lockfile.lock(folder, {
    stale: 60_000,
    update: 10_000,
    retries: { retries: 1800, minTimeout: 1000, maxTimeout: 1000 },
  })
  try {
    const paths: Partial<Record<N, string>> = {}
    for (const name of names) {
      const target = join(folder, name)
      if (!existsSync(target)) await build(name, target, progress)
      paths[name] = target
    }
    return paths as Record<N, string>
  } finally {
    await release()
  }
}

async function build(name: BinaryName, target: string, progress: Progress): Promise<void> {
  await requireGo()
  progress(`building ${name} of Karpenter ${karpenterVersion()} (minutes on the first run, then kept)`)
  const [verb = '', ...rest] = buildArgs[name]
  const temporary = `${target}.build`
  const log = await open(`${target}.build.log`, 'w')
  try {
    const child = spawn('go', [verb, '-trimpath', '-o', temporary, ...rest], {
      cwd: here,
      env: goEnv(),
      stdio: ['ignore', log.fd, log.fd],
    })
    const stop = () => child.kill('SIGKILL')
    process.once('exit', stop)
    const [code] = (await once(child, 'exit')) as [number | null]
    process.off('exit', stop)
    if (code !== 0) throw new Error(`${name}: go ${verb} failed; its output is in ${target}.build.log`)
    await rename(temporary, target)
    await rm(`${target}.build.log`)
  } finally {
    await log.close()
  }
}
