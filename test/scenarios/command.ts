import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { differences, isOfTime, type Verdict, verdictsOf } from './verdict.ts'

const help = `npm run scenarios -- [--real | --compare] [--seed N] [NAME...]

Runs scenarios (test/scenarios/*/NAME.scenario.ts), all of them or those whose names contain one of NAME.

  --real      on real servers instead of in virtual time (minutes instead of seconds each)
  --compare   in virtual time, then on real servers; prints for each test whether both came to the same objects, VMs and events
  --seed N    another course of events in virtual time (default: 1)
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
if (!/^\d+$/.test(values.seed)) {
  console.error(`--seed "${values.seed}": is no whole number; use one from 0 on`)
  process.exit(2)
}
if (values.real && values.compare) {
  console.error('--real, --compare: --compare runs both worlds; give one of the two')
  process.exit(2)
}

/** Runs the scenarios in a world. Returns its exit code. */
async function run(world: 'fast' | 'real', more: Readonly<Record<string, string>> = {}): Promise<number> {
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.scenarios.config.ts', ...positionals],
    {
      stdio: 'inherit',
      env: { ...process.env, JOINER_TEST_WORLD: world, JOINER_TEST_SEED: values.seed, ...more },
    },
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

/** Runs the scenarios in both worlds and prints what each test came to. Returns the exit code. */
async function compare(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-verdicts-'))
  try {
    const codes: number[] = []
    const verdicts: ReadonlyMap<string, Verdict>[] = []
    for (const world of ['fast', 'real'] as const) {
      const file = join(folder, world)
      codes.push(await run(world, { JOINER_TEST_VERDICTS: file }))
      verdicts.push(verdictsOf(await readFile(file, 'utf8').catch(() => '')))
    }
    const [fast = new Map<string, Verdict>(), real = new Map<string, Verdict>()] = verdicts
    const areEqual = [...new Set([...fast.keys(), ...real.keys()])].toSorted().map((test) => {
      const found = differencesOf(fast.get(test), real.get(test))
      const isEqual = found.every(isOfTime)
      console.log(`${isEqual ? 'equal  ' : 'differs'}  ${test}`)
      for (const [line, { length }] of Map.groupBy(found, (one) => one))
        console.log(
          `           ${line}${length > 1 ? ` (${length} times)` : ''}${isOfTime(line) ? ' (not counted: time)' : ''}`,
        )
      return isEqual
    })
    console.log(`${areEqual.filter(Boolean).length} of ${areEqual.length} tests came to the same in both worlds`)
    return areEqual.every(Boolean) && codes.every((code) => code === 0) ? 0 : 1
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** As `differences`; a test has no verdict where it failed. */
function differencesOf(fast: Verdict | undefined, real: Verdict | undefined): readonly string[] {
  if (fast === undefined) return ['no verdict in virtual time']
  if (real === undefined) return ['no verdict on real servers']
  return differences(fast, real)
}

process.exitCode = values.compare ? await compare() : await run(values.real ? 'real' : 'fast')
