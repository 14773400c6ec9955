import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { circumstances } from '../../bench/report.ts'
import { exitSoon } from '../clusters/clean-up.ts'
import { serversEnv } from '../runner/servers-env.ts'
import { writePages } from '../upstream/files.ts'
import { builtBinaries, functionalSuites, karpenterFiles, karpenterVersion, performanceSuite } from './binaries.ts'
import { expectations, problemsOf, unknownSpecs } from './judgement.ts'
import { listSpecs } from './list-specs.ts'
import { measure } from './measure.ts'
import { groupsOf, groupTable, keepRun, notPassedOf, type WholeRun } from './record.ts'
import { runSpecs } from './run.ts'
import { listens, type Result, type Spec, selected, type Wanted } from './specs.ts'
import { SuiteCluster, type Surroundings } from './suite-cluster.ts'

interface Options extends Wanted {
  readonly performance: boolean
  readonly peer: boolean
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

await new Command('npm run upstream-e2e --')
  .description(
    "Runs Karpenter's own end-to-end suites against Joiner on real servers, two specs at a time on 2 cores and beside them one that mostly waits. Ends with 1 when a spec ends otherwise than test/upstream-e2e/expected.json says. A whole run writes its counts into docs/upstream-tests.md and README.md. Logs of specs that failed are in build/upstream-e2e. The first run builds the suites, which takes minutes.",
  )
  .option('--focus <pattern>', 'only specs whose name matches, such as "Drift Budgets"', pattern)
  .option('--group <name>', "only specs of a group, a suite's outermost container, such as Drift")
  .option('--short', 'without specs that wait for many minutes', false)
  .option('--performance', 'the performance suite too, which wants four idle cores and takes hours', false)
  .option('--peer', "Karpenter with its own provider for kwok in Joiner's place; needs --focus or --group", false)
  .action(main)
  .parseAsync()

async function main({ performance, peer, ...wanted }: Options): Promise<void> {
  const isRestricted = wanted.focus !== undefined || wanted.group !== undefined
  if (peer && !isRestricted) throw new Error('--peer needs --focus or --group: it is for doubtful cases')
  Object.assign(process.env, serversEnv)
  const startedAtMs = Date.now()
  const minutes = () => (Date.now() - startedAtMs) / 60_000
  const say = (text: string) => console.log(`${minutes().toFixed(1).padStart(5)} min  ${text}`)
  const controller = new AbortController()
  const interrupted = controller.signal
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => controller.abort())

  const suites = performance ? ([...functionalSuites, performanceSuite] as const) : functionalSuites
  const surroundings = await surroundingsOf(await builtBinaries(suites, say), peer, say)
  const all = listSpecs(surroundings.binaries)
  const specs = selected(all, wanted)
  if (specs.length === 0) throw new Error('no spec has such a name')
  if (specs.some((spec) => listens(spec) || !isFunctional(spec))) await requirePort(8080)
  say(`${specs.length} specs of Karpenter ${karpenterVersion()}`)

  const results: Result[] = []
  const onResult = (result: Result) => {
    const { spec, outcome, seconds } = result
    const count = `${results.push(result)} of ${specs.length}`
    say(`${count.padStart(10)}: ${outcome.padEnd(7)} ${seconds.toFixed(0).padStart(4)} s  ${spec.name}`)
  }
  const start = () => SuiteCluster.start(surroundings)
  const functional = specs.filter(isFunctional)
  await runSpecs({ specs: functional, atOnce: availableParallelism(), start, onResult, interrupted })
  const measured = specs.filter((spec) => !isFunctional(spec))
  const figures = measured.length === 0 ? '' : await measure({ surroundings, specs: measured, interrupted, onResult })
  if (interrupted.aborted) process.exit(130)

  const judged = results.filter(({ spec }) => isFunctional(spec))
  const run: WholeRun = {
    karpenter: karpenterVersion(),
    circumstances: circumstances(),
    minutes: Math.round(minutes()),
    groups: groupsOf(judged),
    notPassed: notPassedOf(judged, expectations()),
  }
  console.log(`\n${run.circumstances}; ${run.minutes} minutes\n\n${groupTable(run.groups)}\n${figures}`)
  const isWhole = !isRestricted && !wanted.short && !performance
  if (isWhole) {
    keepRun(run)
    writePages()
  }
  const expected = peer ? [] : expectations()
  conclude([...problemsOf(judged, expected), ...unknownSpecs(all, expected)])
}

function isFunctional({ suite }: Spec): boolean {
  return suite !== performanceSuite
}

/** Errors: something listens at a port that specs want for themselves. */
async function requirePort(port: number): Promise<void> {
  const server = createServer()
  try {
    await once(server.listen(port), 'listening')
  } catch (cause) {
    throw new Error(`port ${port} is taken, where specs listen; free it, or take other specs with --focus`, { cause })
  }
  await once(server.close(), 'close')
}

function conclude(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  exitSoon()
}

async function surroundingsOf(
  binaries: Surroundings['binaries'],
  isPeer: boolean,
  say: (text: string) => void,
): Promise<Surroundings> {
  const output = fileURLToPath(new URL('../../build/upstream-e2e', import.meta.url))
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const peer = isPeer ? (await builtBinaries(['karpenter'], say)).karpenter : undefined
  return { binaries, output, karpenterFiles: await karpenterFiles(), ...(peer === undefined ? {} : { peer }) }
}
