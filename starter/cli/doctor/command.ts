import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { Line, Style } from '../../document/document.ts'
import { isForPrograms, print } from '../../document/print.ts'
import { writeStyled } from '../../document/terminal.ts'
import { anywhere, plainText } from '../../document/text.ts'
import { Times } from '../../document/words.ts'
import { whyOf } from '../../picture/missing.ts'
import { type ClusterOptions, clusterOptions, type OutputFormat, outputOption } from '../shared/options.ts'
import type { CheckResult, Status } from './check.ts'
import type { DoctorInput } from './doctor.ts'

interface Options extends ClusterOptions {
  readonly output: OutputFormat
  readonly envFile?: string
  readonly serviceAccount: string
}

export function registerDoctor(command: Command): void {
  outputOption(clusterOptions(command))
    .option('--env-file <file>', 'file of NAME=value settings that override the environment')
    .option('--service-account <name>', 'ServiceAccount of joiner-azure', 'joiner-azure')
    .addHelpText(
      'after',
      `
Settings are those of Joiner in the cluster, over which the environment and --env-file stand. From a laptop it asks Azure as who ran az login; as
Joiner's own identity: kubectl exec --namespace joiner deployment/joiner-azure -- node dist/joiner.js doctor
Nothing is changed. Exit code: 0 when nothing failed (warnings included), 1 when something did, 2 for settings that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await doctor(options)
    })
}

async function doctor(options: Options): Promise<number> {
  const { output, envFile, serviceAccount } = options
  let env: NodeJS.ProcessEnv
  try {
    env = envFile === undefined ? process.env : { ...process.env, ...parseEnv(readFileSync(envFile, 'utf8')) }
  } catch (error) {
    console.error(`--env-file ${envFile}: cannot be read: ${whyOf(error)}`)
    return 2
  }
  // Loaded late, as is what looks: the clients of Azure and Temporal would be most of the time of --help.
  const [{ examine }, { readTemporalSettings }, { azureSettings }, { reachTemporal }, { kubeconfigSource }] =
    await Promise.all([
      import('./doctor.ts'),
      import('../../temporal/settings.ts'),
      import('../access/azure-settings.ts'),
      import('../access/reach-temporal.ts'),
      import('../access/cluster.ts'),
    ])
  let given: Awaited<ReturnType<typeof azureSettings>>
  try {
    given = await azureSettings(options, env)
  } catch (error) {
    // Such as a kubeconfig that is not there.
    console.error(whyOf(error))
    return 1
  }
  const reach = given.kind === 'settings' ? await reachTemporal(options, env) : undefined
  const temporal = readTemporalSettings(reach?.env ?? env, { isForeign: reach?.isForeign ?? false })
  if (given.kind === 'errors' || temporal.kind === 'errors') {
    for (const result of [given, temporal])
      if (result.kind === 'errors') for (const error of result.errors) console.error(error)
    return 2
  }
  let results: readonly CheckResult[]
  try {
    results = await examine({
      config: given.config,
      temporal: temporal.settings,
      unreached: reach?.problem,
      env: given.env,
      cluster: kubeconfigSource(options, env),
      serviceAccount,
      ...reporting(output),
    })
  } catch (error) {
    console.error(whyOf(error))
    return 1
  }
  await print(output, { json: asJson(results), document: () => [[summaryText(results)]] })
  return results.some(({ status }) => status === 'fail') ? 1 : 0
}

/** Tells people what is looked at, on standard error, and each result as it comes. */
function reporting(output: OutputFormat): Pick<DoctorInput, 'onStart' | 'onEnd'> {
  // The library's own guess is true in a pipe where CI is set.
  const colors = pc.createColors(pc.isColorSupported && isatty(1))
  const paint = (text: string, style: Style) => colors[style](text)
  const times = new Times(Date.now())
  const open = new Set<string>()
  const progress = () => {
    if (process.stderr.isTTY)
      writeStyled(process.stderr, `\r\u001b[K${open.size === 0 ? '' : `looking at ${[...open].join(', ')}`}`)
  }
  return {
    onStart: (names) => {
      for (const name of names) open.add(name)
      if (process.stderr.isTTY) progress()
      else console.error(`looking at ${names.join(', ')}`)
    },
    onEnd: (result) => {
      open.delete(result.name)
      progress()
      if (!isForPrograms(output))
        writeStyled(process.stdout, `${plainText([findingLines(result)], { ...anywhere, paint, times })}\n`)
    },
  }
}

const marks: Readonly<Record<Status, string>> = { ok: '✓', warn: '!', fail: '✗' }

/** One finding for people: what was found, what lies behind it, and what to run. */
function findingLines({ name, status, summary, details = [], remedies = [] }: CheckResult): readonly Line[] {
  const style = ({ ok: 'green', warn: 'yellow', fail: 'red' } as const)[status]
  return [
    [{ text: `${marks[status]} ${status.padEnd(4)}`, style }, ' ', { text: name, style: 'bold' }, `: ${summary}`],
    ...details.map((detail) => `       ${detail}`),
    ...remedies.map((remedy): Line => ['       ', { text: '->', style: 'cyan' }, ` ${remedy}`]),
  ]
}

/** How it went, in one line. */
export function summaryText(results: readonly CheckResult[]): string {
  const count = (status: Status) => results.filter((result) => result.status === status).length
  const total = `${results.length} checks: ${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`
  return count('fail') === 0 ? total : `${total}. Mend what failed by the lines after ->, and run joiner doctor again.`
}

/** The findings for programs. */
export function asJson(results: readonly CheckResult[]) {
  const checks = results.map(({ name, status, summary, details = [], remedies = [], ms }) => ({
    name,
    status,
    summary,
    details,
    remedies,
    ms,
  }))
  return { healthy: results.every(({ status }) => status !== 'fail'), checks }
}
