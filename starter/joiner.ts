#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { shipCompiledCode, useCompiledCode } from './compiled-code.ts'

// All else is imported afterwards.
const compiled = useCompiledCode()

const [{ Command, Option }, { complain, guardProcess }, { ReportedError }, { guardOutput }] = await Promise.all([
  import('commander'),
  import('./cli/shared/boundary.ts'),
  import('./document/reported-error.ts'),
  import('./document/terminal.ts'),
])

// As a plugin of kubectl it goes by that name; kubectl completes such a plugin by running another of this one.
const called = basename(process.argv[1] ?? '')
if (called === 'kubectl_complete-joiner') process.argv.splice(2, 0, 'complete', '--')
const programName = called.startsWith('kubectl') ? 'kubectl joiner' : 'joiner'
const command = process.argv[2] ?? ''
// What a server does at its end is for its log, with traces.
if (command !== 'worker') guardProcess(command)
// The local cluster prints colours, and logs as they are.
if (!['worker', 'local', 'demo', 'azure'].includes(command)) guardOutput(process.stdout, process.stderr)

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

// A shell completes the command that it is asked to complete.
const program = new Command(command.startsWith('complet') ? 'joiner' : programName)
  .description("A node autoscaler for AKS: Karpenter's API, Temporal's durability.")
  .showHelpAfterError(`(see ${programName} --help)`)
  .version(version, '-V, --version', 'Print the version')
  // As the help of the commands says: 2 for options that cannot be read.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 1 ? 2 : exitCode))

// Each restart of a worker waits for what it loads.
if (command !== 'worker') {
  program.commandsGroup('Without a cluster:')
  const commands = await Promise.all([
    import('./cli/convert/convert.ts').then(({ registerConvert }) => registerConvert),
    import('./cli/instance-types/command.ts').then(({ registerInstanceTypes }) => registerInstanceTypes),
    import('./cli/simulate/command.ts').then(({ registerSimulate }) => registerSimulate),
    import('./cli/validate/validate.ts').then(({ registerValidate }) => registerValidate),
  ])
  for (const register of commands) register(program)
}

/** Commands that need none of the others' code: two are over in a moment, most of which it would take to load it. */
const standsAlone = ['convert', 'instance-types', 'simulate', 'validate', 'worker', 'version'].includes(command)

if (!standsAlone) (await import('./cli/commands.ts')).registerClusterCommands(program)

program.commandsGroup('Processes and development:')
program
  .command('worker')
  .description(
    'Run the roles named in JOINER_ROLES (core, azure, planner, bridge, conversion; default: all); settings come from the environment',
  )
  .addOption(new Option('--compile', 'compile what a worker loads, for an image to bring along').hideHelp())
  .action(async ({ compile }: { compile?: true }) => {
    const workers = await shipped(() => import('../workers/run-worker.ts'))
    if (workers === undefined)
      throw new ReportedError(
        'worker: this package holds the command line alone; Joiner runs from its image (docs/install-aks.md)',
      )
    if (compile) {
      await workers.loadWorker()
      process.stdout.write(`compiled code is in ${shipCompiledCode()}\n`)
      process.exit(0)
    }
    process.exit(await workers.runWorker(process.env, compiled))
  })
// The image ships without the local cluster, whose libraries are for development. Commands of a cluster do not wait for them.
const isKnown = standsAlone || program.commands.some((known) => known.name() === command)
const local = isKnown ? undefined : await shipped(() => import('../deploy/local/commands.ts'))
local?.registerLocalCommands(program)
program.commandsGroup('Other:')
program
  .command('version')
  .description('Print the version')
  .action(() => void process.stdout.write(`${version}\n`))
if (['completion', 'complete', '', 'help', '--help', '-h'].includes(command)) {
  const { default: completion } = await import('@bomb.sh/tab/commander')
  // It reads the commands that are registered by now.
  completion(program, { completionCommandName: 'completion' })
}

try {
  await program.parseAsync()
} catch (error) {
  if (command === 'worker' && !(error instanceof ReportedError)) throw error
  process.exitCode = complain(command, error)
}

/** Returns a part of the repository; undefined where it is not shipped: the image has no local cluster, the npm package no workers either. */
async function shipped<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
