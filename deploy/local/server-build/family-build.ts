import { execFile, spawn } from 'node:child_process'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Server } from '../server-versions.ts'
import type { BuildState } from './progress.ts'

const run = promisify(execFile)

export interface Wanted {
  readonly name: string
  readonly server: Server
  /** Path of the binary. */
  readonly target: string
}

const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' }

/**
 * Builds servers of one module, with their packages in common once, by one `go build`: it compiles and links on all cores until all are done, where a
 * build for each would leave cores idle at its end.
 */
export class FamilyBuild {
  readonly #wanted: readonly Wanted[]
  readonly #source: string
  readonly #folder: string
  #phase: BuildState['phase'] = 'fetching'
  /** Packages to compile, with their files. */
  #packages: ReadonlyMap<string, number> = new Map()

  /** `source`: folder with the module that pins the servers. `folder`: for what it makes; it stays when Go fails, with Go's output. */
  constructor(wanted: readonly Wanted[], { source, folder }: { readonly source: string; readonly folder: string }) {
    this.#wanted = wanted
    this.#source = source
    this.#folder = folder
  }

  get #log(): string {
    return join(this.#folder, 'go.log')
  }

  /** Fetches the source, and counts what is to compile. Errors: what Go says. */
  async prepare(): Promise<void> {
    const format = '{{if and .Stale (ne .Name "main")}}{{.ImportPath}} {{len .GoFiles}}{{end}}'
    const { stdout } = await run('go', ['list', '-deps', ...this.#flags, '-f', format, ...this.#mains], {
      cwd: this.#source,
      env,
      maxBuffer: 64 * 1024 * 1024,
    })
    this.#packages = packagesOf(stdout)
    this.#phase = 'waiting'
  }

  /** Go files to compile. */
  get files(): number {
    return sum([...this.#packages.values()])
  }

  async state(): Promise<BuildState> {
    const log = this.#phase === 'building' ? await readFile(this.#log, 'utf8').catch(() => '') : ''
    return {
      servers: this.#wanted.map(({ name }) => name),
      phase: this.#phase,
      files: this.files,
      compiled: compiledFiles(this.#packages, log),
    }
  }

  /** Errors: Go ended with an error, and where its output is. */
  async build(): Promise<void> {
    this.#phase = 'building'
    // An interrupted build has left it.
    await rm(this.#folder, { recursive: true, force: true })
    await mkdir(this.#folder)
    await this.#compile()
    for (const { server, target } of this.#wanted)
      await rename(join(this.#folder, executableOf(server.package)), target)
    await rm(this.#folder, { recursive: true })
    this.#phase = 'built'
  }

  async #compile(): Promise<void> {
    const log = await open(this.#log, 'w')
    try {
      // -v: it names each package that it compiles.
      const child = spawn('go', ['build', '-v', ...this.#flags, '-o', `${this.#folder}/`, ...this.#mains], {
        cwd: this.#source,
        env,
        stdio: ['ignore', log.fd, log.fd],
      })
      // Interrupted, and not killed, it removes its temporary files.
      const stop = () => child.kill('SIGINT')
      process.once('exit', stop)
      const code = await new Promise<number | null>((resolve, reject) =>
        child.once('error', reject).once('exit', resolve),
      )
      process.off('exit', stop)
      if (code !== 0)
        throw new Error(
          `${this.#wanted.map(({ name }) => name).join(', ')}: go build failed; its output is in ${this.#log}`,
        )
    } finally {
      await log.close()
    }
  }

  get #mains(): readonly string[] {
    return this.#wanted.map(({ server }) => server.package)
  }

  /** Servers of a family differ in their package alone. */
  get #flags(): readonly string[] {
    const { tags, ldflags } = this.#wanted[0]?.server ?? {}
    return [
      '-trimpath',
      '-mod=readonly',
      ...(tags === undefined ? [] : ['-tags', tags]),
      '-ldflags',
      `-s -w ${ldflags ?? ''}`.trim(),
    ]
  }
}

/** Packages with their numbers of files, as `go list` prints them. */
export function packagesOf(listed: string): ReadonlyMap<string, number> {
  const lines = listed.split('\n').map((line) => line.split(' '))
  return new Map(lines.filter(({ length }) => length === 2).map(([path = '', files]) => [path, Number(files)]))
}

/** How many files of these packages a build has come to, by what `go build -v` has printed. */
export function compiledFiles(packages: ReadonlyMap<string, number>, log: string): number {
  return sum([...new Set(log.split('\n'))].map((path) => packages.get(path) ?? 0))
}

/** The name that Go gives to the executable of a package: the last word of its path but a version. */
export function executableOf(path: string): string {
  return path.replace(/\/v\d+$/, '').replace(/^.*\//, '')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
