import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, mkdir, readdir, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder } from '../../deploy/local/server-binaries.ts'

const run = promisify(execFile)
const source = fileURLToPath(new URL('../peer/', import.meta.url))

/** The path of the program in `peer/`, built on first use and kept by what it was built from. */
export async function peerBinary(): Promise<string> {
  const target = await cachePath()
  const built = await access(target, constants.X_OK).then(
    () => true,
    () => false,
  )
  if (built) return target
  await requireGo()
  console.error('bench/peer: building upstream’s scheduler (minutes on the first run, then kept)')
  await mkdir(dirname(target), { recursive: true })
  const temporary = `${target}.${process.pid}.build`
  await build(temporary)
  await rename(temporary, target)
  return target
}

async function cachePath(): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(source)).toSorted())
    hash.update(`${name}\n`).update(await readFile(join(source, name)))
  const version = `${hash.digest('hex').slice(0, 12)}-${process.platform}-${process.arch}`
  return cacheFolder('bench', 'peer', version, 'peer')
}

async function requireGo(): Promise<void> {
  try {
    await run('go', ['env', 'GOVERSION'], { cwd: source })
  } catch (error) {
    throw new Error(
      'bench/peer needs Go, and there is none on the PATH: install the version that bench/peer/go.mod names or a newer one (https://go.dev/doc/install), or pass --skip-peer',
      { cause: error },
    )
  }
}

async function build(output: string): Promise<void> {
  const child = spawn('go', ['build', '-trimpath', '-mod=readonly', '-ldflags', '-s -w', '-o', output, '.'], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Error(`bench/peer: go build failed with exit status ${code}; its output stands above`)
}
