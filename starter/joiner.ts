#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Command as Registered } from 'commander'
import { expectShortLife, shipCompiledCode, useCompiledCode } from './compiled-code.ts'

if (process.argv[2] !== 'worker') expectShortLife()
// All else is imported afterwards.
const compiled = useCompiledCode()

const [
  { Command, Help, Option },
  { complain, guardProcess },
  { ReportedError },
  { guardOutput },
  { commandFirst },
  commands,
  { newSpelling, newWords },
] = await Promise.all([
  import('commander'),
  import('./cli/shared/boundary.ts'),
  import('./document/reported-error.ts'),
  import('./document/terminal.ts'),
  import('./cli/arguments.ts'),
  import('./cli/commands.ts'),
  import('./cli/moved.ts'),
])

// As a plugin of kubectl it goes by that name; kubectl completes such a plugin by running another of this one.
const called = basename(process.argv[1] ?? '')
if (called === 'kubectl_complete-joiner') process.argv.splice(2, 0, 'complete', '--')
const programName = called.startsWith('kubectl') ? 'kubectl joiner' : 'joiner'
const typed = commandFirst(process.argv.slice(2))
const [command = ''] = typed.words
const isCompleting = command.startsWith('complet')
// What a server does at its end is for its log, with traces.
if (command !== 'worker') guardProcess(command)
// The local cluster prints colours, and logs as they are.
if (!['worker', 'local', 'demo', 'azure'].includes(command)) guardOutput(process.stdout, process.stderr)

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

// A shell completes the command that it is asked to complete.
const program = new Command(isCompleting ? 'joiner' : programName)
  .description("A node autoscaler for AKS: Karpenter's API, Temporal's durability.")
  .version(version, '-V, --version', 'Print the version')
  // So that none of its options is suggested for a mistake in those of a command.
  .enablePositionalOptions()
  // As the help of the commands says: 2 for options that cannot be read.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 1 ? 2 : exitCode))

// What is completed is what is loaded.
const words = command === 'complete' ? commandFirst(typed.options.slice(1)).words : newWords(typed.words)
await commands.registerCommands(program, words)
program.commandsGroup('Processes and development:')
await commands.addCommands(
  program,
  [
    {
      name: 'worker',
      does: 'Run the roles named in JOINER_ROLES (core, azure, planner, bridge, conversion; default: all); settings come from the environment',
      load: async () => registerWorker,
    },
    // The image ships without the local cluster, whose libraries are for development.
    ...(existsSync(join(import.meta.dirname, '..', 'deploy', 'local', 'commands.ts'))
      ? [
          {
            name: 'local',
            does: 'Run a cluster on this machine: Kubernetes, Temporal and a simulated Azure',
            load: async () => (await import('../deploy/local/commands.ts')).registerLocal,
          },
          {
            name: 'demo',
            does: 'Start a cluster, install Joiner and watch it scale; Ctrl-C stops everything',
            load: async () => (await import('../deploy/local/commands.ts')).registerDemo,
          },
        ]
      : []),
  ],
  words,
)
program.commandsGroup('Other:')
await commands.addCommands(
  program,
  [
    {
      name: 'options',
      does: 'List the options that most commands have',
      load: async () => (await import('./cli/operate/temporal-options.ts')).registerOptions,
    },
  ],
  words,
)
program
  .command('version')
  .description('Print the version')
  .action(() => void process.stdout.write(`${version}\n`))
if (isCompleting || ['', 'help'].includes(command)) {
  const { default: completion } = await import('@bomb.sh/tab/commander')
  // It reads the commands that are registered by now.
  completion(program, { completionCommandName: 'completion' })
}

const written = newSpelling(typed, program)
if (written !== undefined) {
  console.error(`${programName}: this is an old spelling; write: ${written}`)
  // As sysexits.h counts wrong usage: scripts tell it from an answer.
  process.exit(64)
}
arrangeHelp(program, programName)
try {
  await program.parseAsync([...typed.words, ...typed.options], { from: 'user' })
} catch (error) {
  if (command === 'worker' && !(error instanceof ReportedError)) throw error
  process.exitCode = complain(command, error)
}

/** A command's own options come first, those of most commands last and by name; a mistake is answered with the help of the command that it was made in. */
function arrangeHelp(command: Registered, path: string): void {
  const isOfMost = ({ helpGroupHeading }: { helpGroupHeading?: string }) => helpGroupHeading !== undefined
  const help = new Help()
  command.showHelpAfterError(`(see ${path} --help)`)
  const most = command.options.filter(isOfMost)
  if (command.name() !== 'options' && most.length > 0)
    command
      .configureHelp({ visibleOptions: (one) => help.visibleOptions(one).filter((option) => !isOfMost(option)) })
      .addHelpText(
        'after',
        `\nOptions that most commands have (see joiner options):\n  ${most.map(({ long }) => long).join(' ')}`,
      )
  for (const one of command.commands) arrangeHelp(one, `${path} ${one.name()}`)
}

function registerWorker(worker: Registered): void {
  worker
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
}

/** Returns a part of the repository; undefined where it is not shipped: the npm package has no workers. */
async function shipped<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
