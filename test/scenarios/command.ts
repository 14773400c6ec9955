import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { differencesOf } from './differences.ts'
import { type Verdict, verdictsOf } from './verdict.ts'

const help = `npm run scenarios -- [--real | --compare] [--seed N] [NAME...]

Runs scenarios (test/scenarios/*/NAME.scenario.ts), all of them or those whose names contain one of NAME.

  --real      on real servers instead of in virtual time (minutes instead of seconds each)
  --compare   in virtual time with three seeds, with fast and slow servers, then on real servers; prints for each test whether both worlds came
              to the same objects, VMs, events and writes
  --seed N    another course of events in virtual time (default: 1)
  --slow N    servers take N times as long as usual in virtual time (default: 1)
  -h, --help  this text

Exit code: 0 when all pass, 1 when one fails or differs, 2 for options that cannot be read.`

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        real: { type: 'boolean', default: false },
        compare: { type: 'boolean', default: false },
        seed: { type: 'string', default: '1' },
        slow: { type: 'string', default: '1' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}

const { values, positionals } = readOptions()
if (values.help) {
  console.log(help)
  process.exit(0)
}
for (const name of ['seed', 'slow'] as const)
  if (!/^\d+$/.test(values[name])) {
    console.error(`--${name} "${values[name]}": is no whole number; use one from 0 on`)
    process.exit(2)
  }
if (values.real && values.compare) {
  console.error('--real, --compare: --compare runs both worlds; give one of the two')
  process.exit(2)
}

type Course = Readonly<Record<'JOINER_TEST_WORLD' | 'JOINER_TEST_SEED' | 'JOINER_TEST_SLOWNESS', string>>

const inVirtualTime = (seed: number, slowness: number): Course => ({
  JOINER_TEST_WORLD: 'fast',
  JOINER_TEST_SEED: String(seed),
  JOINER_TEST_SLOWNESS: String(slowness),
})

const [seed, slow] = [Number(values.seed), Number(values.slow)]
const onRealServers: Course = { ...inVirtualTime(seed, slow), JOINER_TEST_WORLD: 'real' }

/** Runs the scenarios. Returns the exit code. */
async function run(course: Course, verdicts: Readonly<Record<string, string>> = {}): Promise<number> {
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.scenarios.config.ts', ...positionals],
    { stdio: 'inherit', env: { ...process.env, ...course, ...verdicts } },
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

/** Real servers on a machine of two cores answer between a few and some twenty times as late as those in memory. */
const slowness = { little: 5, much: 20 }

/** Most differences of a test that are printed. */
const mostLines = 20

/** Runs the scenarios in both worlds and prints what each test came to. Returns the exit code. */
async function compare(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-verdicts-'))
  const courses = [
    inVirtualTime(seed, slow),
    inVirtualTime(seed + 1, slowness.little),
    inVirtualTime(seed + 2, slowness.much),
    onRealServers,
  ]
  try {
    const codes: number[] = []
    const verdicts: ReadonlyMap<string, Verdict>[] = []
    for (const [index, course] of courses.entries()) {
      const file = join(folder, String(index))
      codes.push(await run(course, { JOINER_TEST_VERDICTS: file }))
      verdicts.push(verdictsOf(await readFile(file, 'utf8').catch(() => '')))
    }
    const areEqual = [...new Set(verdicts.flatMap((ofCourse) => [...ofCourse.keys()]))].toSorted().map((test) => {
      const ofTest = verdicts.map((ofCourse) => ofCourse.get(test))
      // Those that count first.
      const found = differencesOf(test, ofTest.slice(0, -1), ofTest.at(-1)).toSorted(
        (a, b) => (a.uncounted === undefined ? 0 : 1) - (b.uncounted === undefined ? 0 : 1),
      )
      const isEqual = found.every(({ uncounted }) => uncounted !== undefined)
      console.log(`${isEqual ? 'equal  ' : 'differs'}  ${test}`)
      for (const { line, uncounted } of found.slice(0, mostLines))
        console.log(`           ${line}${uncounted === undefined ? '' : ` (not counted: ${uncounted})`}`)
      if (found.length > mostLines) console.log(`           and ${found.length - mostLines} more`)
      return isEqual
    })
    console.log(`${areEqual.filter(Boolean).length} of ${areEqual.length} tests came to the same in both worlds`)
    return areEqual.every(Boolean) && codes.every((code) => code === 0) ? 0 : 1
  } finally {
    await rm(folder, { recursive: true })
  }
}

process.exitCode = values.compare ? await compare() : await run(values.real ? onRealServers : inVirtualTime(seed, slow))
