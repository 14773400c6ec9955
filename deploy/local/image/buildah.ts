import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  librariesIn,
  type Packaged,
  type Program,
  type Progress,
  resolveCommand,
  versionOf,
} from '../debian/packages.ts'
import { cacheFolder } from '../server-binaries.ts'

const packaged: Packaged = {
  name: 'buildah',
  packages: ['buildah'],
  megabytes: 20,
  versionArgs: ['--version'],
  remedy: 'install it (apt-get install buildah)',
  unpacked: (root) => ({
    executable: join(root, 'usr/bin/buildah'),
    env: { LD_LIBRARY_PATH: librariesIn(root) },
  }),
}

/** Builds images without a daemon, in a storage of its own below the user's cache: images of the machine are neither seen nor touched. */
export class Buildah {
  readonly #program: Program
  readonly #env: Readonly<Record<string, string>>
  readonly #policy: string

  private constructor(program: Program, folder: string) {
    this.#program = program
    this.#policy = join(folder, 'policy.json')
    this.#env = { ...program.env, CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf') }
  }

  /** Errors: buildah is neither on the PATH nor among Debian's packages, or this is not root on Linux. */
  static async find(progress: Progress): Promise<Buildah> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw new Error('an image is built by root on Linux alone, since its files belong to several users: use sudo')
    const folder = cacheFolder('images')
    await mkdir(folder, { recursive: true })
    const buildah = new Buildah(await resolveCommand('buildah', packaged, progress), folder)
    const place = (name: string) => JSON.stringify(join(folder, name))
    await writeFile(
      join(folder, 'storage.conf'),
      `[storage]\ndriver = "overlay"\ngraphroot = ${place('storage')}\nrunroot = ${place('run')}\n`,
    )
    // What is pulled is named by its registry, and by its digest where that matters.
    await writeFile(buildah.#policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }))
    return buildah
  }

  /** Such as `1.28.2`. */
  async version(): Promise<string> {
    return (await versionOf(this.#program, packaged.versionArgs)) ?? ''
  }

  /** Runs a Dockerfile in a context. `more`: further arguments of `buildah bud`. Errors: what it prints. */
  async build(context: string, more: readonly string[], onLine?: (line: string) => void): Promise<void> {
    await this.#call(['bud', '--isolation', 'chroot', '--signature-policy', this.#policy, ...more, context], onLine)
  }

  /** Makes an image of what is in a folder. `configuration`: lines of a Dockerfile. */
  async assemble(name: string, context: string, configuration: readonly string[]): Promise<void> {
    await inFolder(async (folder) => {
      const file = join(folder, 'Dockerfile')
      await writeFile(file, ['FROM scratch', 'COPY . /', ...configuration].join('\n'))
      await this.build(context, ['--tag', name, '--file', file])
    })
  }

  async has(name: string): Promise<boolean> {
    return this.#call(['inspect', '--type', 'image', name]).then(
      () => true,
      () => false,
    )
  }

  /** Writes an image into a folder, in the layout of OCI, with compressed layers. */
  async write(name: string, folder: string): Promise<void> {
    await this.#call(['push', '--quiet', '--signature-policy', this.#policy, name, `oci:${folder}:${name}`])
  }

  /** Runs a command in an image, as its user. Returns what it prints. */
  async run(name: string, command: readonly string[]): Promise<string> {
    const container = (await this.#call(['from', '--pull-never', '--signature-policy', this.#policy, name])).trim()
    try {
      return await this.#call(['run', '--isolation', 'chroot', container, '--', ...command])
    } finally {
      await this.#call(['rm', container])
    }
  }

  async #call(args: readonly string[], onLine?: (line: string) => void): Promise<string> {
    const child = spawn(this.#program.executable, [...args], {
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed: string[] = []
    const said: string[] = []
    createInterface(child.stdout).on('line', (line) => {
      printed.push(line)
      onLine?.(line)
    })
    createInterface(child.stderr).on('line', (line) => said.push(line))
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    )
    if (code === 0) return printed.join('\n')
    const end = [...printed.slice(-15), ...said.slice(-15)].join('\n')
    throw new Error(`buildah ${args[0]} ended with ${code}:\n${end}`)
  }
}

/** Calls with an empty folder that is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-image-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
