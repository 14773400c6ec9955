import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const help = `npm run scenarios -- [--real] [--seed N] [NAME...]

Runs scenarios (test/scenarios/*/NAME.scenario.ts), all of them or those whose names contain one of NAME.

  --real      on real servers instead of in virtual time (minutes instead of seconds each)
  --seed N    another course of events in virtual time (default: 1)
  -h, --help  this text

Exit code: 0 when all pass, 1 when one fails, 2 for options that cannot be read.`

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        real: { type: 'boolean', default: false },
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
const child = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.scenarios.config.ts', ...positionals],
  {
    stdio: 'inherit',
    env: { ...process.env, JOINER_TEST_WORLD: values.real ? 'real' : 'fast', JOINER_TEST_SEED: values.seed },
  },
)
child.once('exit', (code) => process.exit(code ?? 1))
