import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, symlink } from 'node:fs/promises'
import { basename, dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const dockerfilePath = join(root, 'deploy', 'Dockerfile')
/** This checkout has done it with the same lockfile (deploy/install.mjs), and it costs half a minute of a core. */
const everyDependency = 'npm install --no-save --ignore-scripts --no-audit --no-fund'
const installed = join(root, 'node_modules')

interface Instruction {
  readonly keyword: string
  readonly argument: string
}

interface Stage {
  readonly base: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

const words = z.array(z.string())

/** The Dockerfile's stages, in order, with the defaults of its arguments. Errors: an instruction other than ARG before the first FROM. */
export async function readStages(): Promise<readonly Stage[]> {
  const lines = (await readFile(dockerfilePath, 'utf8'))
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const stages: { base: string; name: string | undefined; instructions: Instruction[] }[] = []
  const defaults = new Map<string, string>()
  for (const line of lines) {
    const [keyword = '', ...rest] = line.split(/\s+/)
    if (keyword === 'FROM') {
      const [base = '', as, name] = rest
      const image = base.replace(/^\$\{(\w+)\}$/, (text, argument: string) => defaults.get(argument) ?? text)
      stages.push({ base: image, name: as === 'AS' ? name : undefined, instructions: [] })
      continue
    }
    const stage = stages.at(-1)
    if (stage === undefined && keyword === 'ARG') {
      const [argument = '', value = ''] = rest.join(' ').split('=')
      defaults.set(argument, value)
      continue
    }
    if (stage === undefined) throw new Error(`Dockerfile: "${line}" stands before the first FROM`)
    stage.instructions.push({ keyword, argument: rest.join(' ') })
  }
  return stages
}

/** The argument of a stage's only instruction of this kind. Errors: there is none, or more than one. */
export function only(stage: Stage, keyword: string): string {
  const [found, ...more] = stage.instructions.filter((each) => each.keyword === keyword)
  if (found === undefined || more.length > 0)
    throw new Error(`Dockerfile: ${more.length + (found ? 1 : 0)} ${keyword} in one stage, expected 1`)
  return found.argument
}

/** What the stage sets in the environment. */
export function environmentOf(stage: Stage): Readonly<Record<string, string>> {
  const settings = stage.instructions.filter(({ keyword }) => keyword === 'ENV').map(({ argument }) => argument)
  return Object.fromEntries(
    settings.flatMap((line) => line.split(' ')).map((one) => one.split('=', 2) as [string, string]),
  )
}

/** An instruction in exec form, such as `["node", "a.ts"]`. */
export function execForm(argument: string): readonly string[] {
  return words.parse(JSON.parse(argument))
}

/**
 * Does what the stages do before the last one, which is made of their files: each in a folder of its own name, which is its work directory and holds
 * what the stage copies and makes, and nothing else; but a stage that needs all dependencies has this checkout's. Errors: a file that is to be copied is missing, or a command fails.
 */
export async function buildStages(stages: readonly Stage[], folder: string): Promise<void> {
  const isIgnored = await ignoreRules()
  for (const stage of stages.slice(0, -1)) {
    const own = join(folder, stage.name ?? '')
    await mkdir(own)
    for (const { keyword, argument } of stage.instructions) {
      if (keyword === 'COPY') await copy(argument.split(' '), own, { stages, folder, isIgnored })
      if (keyword === 'RUN' && argument.endsWith(everyDependency)) await symlink(installed, join(own, 'node_modules'))
      else if (keyword === 'RUN') await runStep(argument, own)
    }
  }
}

interface Sources {
  readonly stages: readonly Stage[]
  readonly folder: string
  readonly isIgnored: (path: string) => boolean
}

/** Copies as Docker does, with the times of the files: a folder's contents go into the target, a file into a target that ends with a slash. */
async function copy(paths: readonly string[], own: string, { stages, folder, isIgnored }: Sources): Promise<void> {
  const [first = ''] = paths
  if (first.startsWith('--from=')) {
    const [, source = '', target = ''] = paths
    const from = stages.find(({ name }) => `--from=${name}` === first)
    if (from === undefined) throw new Error(`Dockerfile: COPY ${first}: no stage has that name`)
    const made = join(folder, from.name ?? '', relative(only(from, 'WORKDIR'), source))
    return cp(made, join(own, target), { recursive: true, preserveTimestamps: true })
  }
  const sources = paths.slice(0, -1)
  const target = paths.at(-1) ?? '.'
  const intoFolder = sources.length > 1 || target.endsWith('/')
  for (const source of sources)
    await cp(join(root, source), intoFolder ? join(own, target, basename(source)) : join(own, target), {
      recursive: true,
      filter: (path) => !isIgnored(relative(root, resolve(path))),
    })
}

/** What the ignore file beside the Dockerfile keeps out of every build. */
async function ignoreRules(): Promise<(path: string) => boolean> {
  const patterns = (await readFile(`${dockerfilePath}.dockerignore`, 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return (path) => patterns.some((pattern) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`))
}

async function runStep(command: string, cwd: string): Promise<void> {
  // npm's variables of an outer `npm test` would make the inner npm work on this repository.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(package|lifecycle|config_local_prefix)|INIT_CWD|NODE_ENV)/.test(name),
    ),
  )
  const child = spawn('/bin/sh', ['-c', command], {
    cwd,
    env: { ...env, PATH: `${dirname(process.execPath)}:${env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const output = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`Dockerfile: RUN ${command} ended with ${code}:\n${output.join('')}`)
}

const served = z.object({ address: z.url() })

/** A container's process, run from the image's files with exactly the environment that it is given. */
export class ImageProcess {
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #address: Promise<string>
  readonly #exit: Promise<number | string>

  constructor(folder: string, command: readonly string[], env: Readonly<Record<string, string>>) {
    const [program = '', ...args] = command
    this.#child = spawn(program === 'node' ? process.execPath : program, args, {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exit = once(this.#child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
    this.#address = new Promise((found, failed) => {
      for (const stream of [this.#child.stdout, this.#child.stderr])
        if (stream)
          createInterface(stream).on('line', (line) => {
            this.#lines.push(line)
            if (line.includes('serving health')) found(served.parse(JSON.parse(line)).address)
          })
      void this.#exit.then((code) => failed(new Error(`the process ended with ${code}:\n${this.output}`)))
    })
    // A process that is meant to fail is asked for its exit only.
    this.#address.catch(() => {})
  }

  /** All that it wrote so far. */
  get output(): string {
    return this.#lines.join('\n')
  }

  /** Asks it over HTTP, as soon as it serves. Errors: it ended before, or does not answer in time. */
  async ask(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const address = await this.#within(60_000, this.#address, 'to serve health')
    const answer = await fetch(new URL(path, address), { signal: AbortSignal.timeout(30_000) })
    return { status: answer.status, body: await answer.text() }
  }

  /** Its exit code, or the signal that ended it. Errors: it still runs after the deadline. */
  exit(deadlineMs: number): Promise<number | string> {
    return this.#within(deadlineMs, this.#exit, 'to end')
  }

  /** Ends it as the kubelet does, and says how. */
  terminate(deadlineMs: number): Promise<number | string> {
    this.#child.kill('SIGTERM')
    return this.exit(deadlineMs)
  }

  /** Ends it whatever it does. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exit
  }

  async #within<T>(deadlineMs: number, wanted: Promise<T>, what: string): Promise<T> {
    const late = AbortSignal.timeout(deadlineMs)
    const isLate = once(late, 'abort').then(() => {
      throw new Error(`waited ${deadlineMs} ms for the process ${what}; it wrote:\n${this.output}`)
    })
    return Promise.race([wanted, isLate])
  }
}
