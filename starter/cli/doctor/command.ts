import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Command, Option } from 'commander'
import pc from 'picocolors'
import { readConfig } from '../../../api/config.ts'
import { writeStyled } from '../shared/terminal.ts'
import type { CheckResult } from './check.ts'
import { reason } from './check.ts'
import { asJson, findingText, summaryText } from './report.ts'

interface Options {
  readonly output: 'text' | 'json'
  readonly envFile?: string
  readonly serviceAccount: string
}

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check what Joiner needs from Azure, Kubernetes and Temporal, and print the commands that fix each problem',
    )
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .option('--env-file <file>', 'file of NAME=value settings that override the environment')
    .option('--service-account <name>', 'ServiceAccount of joiner-azure', 'joiner-azure')
    .addHelpText(
      'after',
      `
Settings are those of joiner worker. In a cluster: kubectl exec --namespace joiner deployment/joiner-azure -- node starter/joiner.ts doctor
From elsewhere, with az login and a kubeconfig: KUBECONFIG=~/.kube/config joiner doctor --env-file joiner.env
Nothing is changed. Exit code: 0 when nothing failed (warnings included), 1 when something did, 2 for settings that cannot be read.`,
    )
    .action(async (options: Options) => {
      process.exitCode = await doctor(options)
    })
}

async function doctor({ output, envFile, serviceAccount }: Options): Promise<number> {
  let env: NodeJS.ProcessEnv
  try {
    env = envFile === undefined ? process.env : { ...process.env, ...parseEnv(readFileSync(envFile, 'utf8')) }
  } catch (error) {
    console.error(`--env-file ${envFile}: cannot be read: ${reason(error)}`)
    return 2
  }
  const parsed = readConfig(env)
  // Loaded late, as is what looks: the clients of Azure and Temporal would be most of the time of --help.
  const [{ examine }, { readTemporalSettings }] = await Promise.all([
    import('./doctor.ts'),
    import('../../temporal/settings.ts'),
  ])
  const temporal = readTemporalSettings(env)
  if (parsed.kind === 'errors' || temporal.kind === 'errors') {
    for (const result of [parsed, temporal])
      if (result.kind === 'errors') for (const error of result.errors) console.error(error)
    return 2
  }
  const results: CheckResult[] = []
  const open = new Set<string>()
  const progress = () => {
    if (process.stderr.isTTY)
      writeStyled(process.stderr, `\r\u001b[K${open.size === 0 ? '' : `looking at ${[...open].join(', ')}`}`)
  }
  try {
    results.push(
      ...(await examine({
        config: parsed.config,
        temporal: temporal.settings,
        env,
        serviceAccount,
        onStart: (names) => {
          for (const name of names) open.add(name)
          if (process.stderr.isTTY) progress()
          else console.error(`looking at ${names.join(', ')}`)
        },
        onEnd: (result) => {
          open.delete(result.name)
          progress()
          if (output === 'text')
            writeStyled(process.stdout, `${findingText(result, pc.createColors(process.stdout.isTTY))}\n`)
        },
      })),
    )
  } catch (error) {
    console.error(reason(error))
    return 1
  }
  console.log(output === 'json' ? asJson(results) : summaryText(results))
  return results.some(({ status }) => status === 'fail') ? 1 : 0
}
