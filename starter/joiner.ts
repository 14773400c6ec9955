#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { registerInstanceTypes } from './instance-types/command.ts'
import { registerSimulate } from './simulate/command.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const program = new Command('joiner')
  .description("A node autoscaler for AKS: Karpenter's API, Temporal's durability.")
  .showHelpAfterError('(see joiner --help)')
  .version(version, '-V, --version', 'print the version')
  // As the help of the commands says: 2 for options that cannot be read.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 1 ? 2 : exitCode))

program
  .command('version')
  .description('print the version')
  .action(() => console.log(version))

program
  .command('worker')
  .description(
    'run the roles named in JOINER_ROLES (core, azure, planner, bridge; default: all); settings come from the environment',
  )
  .action(async () => {
    const { runWorker } = await import('../workers/run-worker.ts')
    process.exit(await runWorker(process.env))
  })

registerInstanceTypes(program)
registerSimulate(program)

/**
 * Commands that need none of the others' code: two are over in a moment, most of which it would take to load it, and each restart of a worker waits
 * for what it loads.
 */
const standsAlone = ['instance-types', 'simulate', 'worker'].includes(process.argv[2] ?? '')

// What was compiled is kept. Where nothing can be kept it is done anew.
const compiled = fileURLToPath(new URL('../node_modules/.cache/joiner', import.meta.url))
enableCompileCache(compiled)
// Threads ask their environment.
process.env['NODE_COMPILE_CACHE'] ??= compiled

if (!standsAlone) {
  const [
    { registerApply },
    { registerBudgets },
    { registerCapacity },
    { registerConsolidate },
    { registerConvert },
    { registerDoctor },
    { registerNode },
    { registerPause },
    { registerPlan },
    { registerQuota },
    { registerStatus },
    { registerTakeover },
    { registerValidate },
    { registerWhy },
  ] = await Promise.all([
    import('./operate/apply-command.ts'),
    import('./budgets/command.ts'),
    import('./capacity/command.ts'),
    import('./operate/consolidate-command.ts'),
    import('./convert.ts'),
    import('./doctor/command.ts'),
    import('./node/command.ts'),
    import('./operate/pause-command.ts'),
    import('./operate/plan-command.ts'),
    import('./quota/command.ts'),
    import('./status/command.ts'),
    import('./takeover/command.ts'),
    import('./validate.ts'),
    import('./why/command.ts'),
  ])
  registerApply(program)
  registerBudgets(program)
  registerCapacity(program)
  registerConsolidate(program)
  registerConvert(program)
  registerDoctor(program)
  registerNode(program)
  registerPause(program)
  registerPlan(program)
  registerQuota(program)
  registerStatus(program)
  registerTakeover(program)
  registerValidate(program)
  registerWhy(program)
  // The image ships without the local cluster, whose libraries are for development.
  const local = await import('../deploy/local/commands.ts').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  })
  local?.registerLocalCommands(program)
}

await program.parseAsync()
