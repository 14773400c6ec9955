import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { circumstances, table } from '../../bench/report.ts'
import { kubernetesVariable } from '../../deploy/local/server-binaries.ts'
import { type KubernetesAge, kubernetesVersions } from '../../deploy/local/server-versions.ts'
import { type Run, runOf } from '../runner/flake-hunt/runs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ages = Object.keys(kubernetesVersions) as readonly KubernetesAge[]

/** What must work on each version, and the suites that show it. */
const jobs: Readonly<Record<string, readonly string[]>> = {
  'main job: pods get nodes, and nodes go': ['test/life/life.servers.test.ts'],
  'drain and eviction': ['test/scenarios/nodes/drain.scenario.ts'],
  'conversion webhook': ['test/api/conversion.servers.test.ts'],
  'CRDs, with ratcheting': [
    'test/vectors/validation.servers.test.ts',
    'test/api/aksnodeclass-validation.servers.test.ts',
    'test/api/feature-crds.servers.test.ts',
  ],
  'policies of the chart, and what `joiner validate` says of the same objects': [
    'test/api/admission-policy.servers.test.ts',
    'test/api/node-claim-refusals.servers.test.ts',
  ],
  'rights of the chart': ['test/rights.servers.test.ts'],
  'install, upgrade and uninstall of the chart': ['test/chart-lifecycle.servers.test.ts'],
}

await new Command('npm run kubernetes-versions --')
  .description(
    `Runs suites on real servers of each Kubernetes that the local cluster can run: ${ages.map((age) => kubernetesVersions[age]).join(' and ')}. What is missing of them is built first. Prints a table. Ends with 1 when something failed.`,
  )
  .addOption(new Option('--only <version>', 'one of the versions').choices(ages))
  .action(main)
  .parseAsync()

async function main({ only }: { readonly only?: KubernetesAge }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'joiner-versions-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  // A suite ends by itself when the terminal interrupts it, and leaves nothing. No other begins then.
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (interrupted = true))
  const asked = only === undefined ? ages : [only]
  const rows = Object.keys(jobs).map((job) => [job])
  for (const age of asked)
    for (const [at, [job, files]] of Object.entries(jobs).entries()) {
      console.log(`\n== Kubernetes ${kubernetesVersions[age]}: ${job}\n`)
      const ended = await run(files, age, join(folder, `${age}-${at}.json`))
      if (interrupted) process.exit(130)
      if (ended.failures.length > 0) process.exitCode = 1
      rows[at]?.push(outcome(ended))
    }
  console.log(`\n${circumstances()}\n\n${table(['', ...asked.map((age) => kubernetesVersions[age])], rows)}`)
}

async function run(files: readonly string[], age: KubernetesAge, report: string): Promise<Run> {
  const isScenario = files.every((file) => file.endsWith('.scenario.ts'))
  const words = ['node_modules/vitest/vitest.mjs', 'run', ...files, '--reporter=default', '--reporter=json']
  if (isScenario) words.push('--config', 'vitest.scenarios.config.ts')
  words.push(`--outputFile.json=${report}`)
  // A binary that the environment names would run as both versions.
  const unnamed = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^JOINER_KUBE.*_BINARY$/.test(key)))
  const env = { ...unnamed, [kubernetesVariable]: age, ...(isScenario ? { JOINER_TEST_WORLD: 'real' } : {}) }
  const startedAt = performance.now()
  const child = spawn(process.execPath, words, { cwd: root, env, stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return runOf(textIn(report), { code, seconds: (performance.now() - startedAt) / 1000 })
}

/** Undefined: there is no such file. */
function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function outcome({ tests, failures, seconds }: Run): string {
  const failed = failures.length > 0 ? `${failures.length} failed of ` : ''
  return `${failed}${tests} tests, ${seconds.toFixed(0)} s`
}
