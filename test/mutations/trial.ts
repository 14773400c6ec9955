import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { GroupName } from '../runner/groups.ts'
import type { Copy } from './copy.ts'
import type { Mutant } from './mutants.ts'

/** A mutant may loop for ever, which is noticed too. */
const limitMs = 15 * 60_000

const jsonReport = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
})

/** How a mutant fared. */
export type Verdict = { readonly kind: 'caught'; readonly by: string } | { readonly kind: 'survived' }

interface Failure {
  /** The file of the test, from the root; undefined where no test ended. */
  readonly file: string | undefined
  readonly by: string
}

/** Runs tests against mutants in a copy of the tree, nearest tests first, until one fails. */
export class Trials {
  readonly #copy: Copy
  /** Test files that pass without a mutant, and those that fail even then. */
  readonly #sound = new Set<string>()
  readonly broken = new Set<string>()
  #child: ChildProcess | undefined
  #isStopped = false

  constructor(copy: Copy) {
    this.#copy = copy
  }

  async verdictOn(mutant: Mutant): Promise<Verdict> {
    this.#copy.mutate(mutant)
    try {
      for (const tests of this.#stages(mutant.path)) {
        const failure = await this.#failureOf(tests, mutant)
        if (failure !== undefined) return { kind: 'caught', by: failure.by }
      }
      return { kind: 'survived' }
    } finally {
      this.#copy.restore(mutant)
    }
  }

  /** Ends what runs now; nothing more is run. What it says of the mutant is void. */
  stop(): void {
    this.#isStopped = true
    this.#end()
  }

  #end(): void {
    const pid = this.#child?.pid
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }

  /** The tests beside the file, then all tests that import it, those in virtual time last since they take minutes. Workflows are imported by way of the bundle. */
  #stages(path: string): readonly (readonly string[])[] {
    const folder = join(this.#copy.folder, dirname(path))
    const beside = globSync('*.test.ts', { cwd: folder })
      .filter((file) => readFileSync(join(folder, file), 'utf8').includes(`/${basename(path)}'`))
      .map((file) => join(dirname(path), file))
    const bundle = path.startsWith('workflows/') ? ['workers/bundle.ts'] : []
    const importing = ['related', '--run', path, ...bundle]
    return [
      ...(beside.length === 0 ? [] : [['run', ...beside]]),
      [...importing, ...without('matrix', 'scenarios')],
      [...importing, ...without('unit')],
    ]
  }

  /** A test that fails without the mutant as well says nothing about it: it is left out from then on. */
  async #failureOf(tests: readonly string[], mutant: Mutant): Promise<Failure | undefined> {
    for (;;) {
      const failure = await this.#run(tests)
      const file = failure?.file
      if (failure === undefined || file === undefined || this.#sound.has(file)) return failure
      this.#copy.restore(mutant)
      const isBroken = (await this.#run(['run', file])) !== undefined
      this.#copy.mutate(mutant)
      if (!isBroken) {
        this.#sound.add(file)
        return failure
      }
      if (this.broken.has(file)) throw new Error(`${file} was to be left out and ran`)
      this.broken.add(file)
    }
  }

  /** Runs tests until one fails. Returns that. */
  async #run(tests: readonly string[]): Promise<Failure | undefined> {
    if (this.#isStopped) return { file: undefined, by: 'a stop' }
    const { folder } = this.#copy
    const outputFile = join(folder, 'mutation-report.json')
    rmSync(outputFile, { force: true })
    const report = ['--bail=1', '--reporter=json', '--outputFile', outputFile]
    const args = [...tests, ...without('servers', 'all'), ...report]
    const child = spawn(
      process.execPath,
      [join(folder, 'node_modules/vitest/vitest.mjs'), ...args, '--passWithNoTests'],
      {
        cwd: folder,
        stdio: 'ignore',
        detached: true,
        env: { ...process.env, JOINER_TEST_LEFT_OUT: [...this.broken].join(',') },
      },
    )
    this.#child = child
    const limit = setTimeout(() => this.#end(), limitMs)
    const [code] = (await once(child, 'exit')) as [number | null]
    clearTimeout(limit)
    this.#child = undefined
    return code === 0 ? undefined : failureIn(outputFile, folder, code)
  }
}

/** The option that leaves out groups of tests. */
function without(...names: readonly GroupName[]): readonly string[] {
  return names.flatMap((name) => ['--project', `!${name}`])
}

function failureIn(outputFile: string, folder: string, code: number | null): Failure {
  if (code === null) return { file: undefined, by: 'the time limit' }
  let text: string
  try {
    text = readFileSync(outputFile, 'utf8')
  } catch {
    return { file: undefined, by: `the end of the tests with code ${code}` }
  }
  const failed = jsonReport.parse(JSON.parse(text)).testResults.find(({ status }) => status === 'failed')
  if (failed === undefined) return { file: undefined, by: `the end of the tests with code ${code}` }
  const file = failed.name.replace(`${folder}/`, '')
  const name = failed.assertionResults.find(({ status }) => status === 'failed')?.fullName
  return { file, by: name === undefined ? file : `${file} > ${name}` }
}
