import { spawnSync } from 'node:child_process'
import { Command, InvalidArgumentError } from 'commander'

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value <= 0) throw new InvalidArgumentError(`"${text}" is not a positive number.`)
  return value
}

await new Command('npm run takeover --')
  .description(
    'Makes a cluster as node auto-provisioning leaves it, lets Joiner take over and replace all its machines under a budget of a tenth, kills Joiner on the way, and looks at the PodDisruptionBudget each second. Prints the figures; ends with 1 when a budget was broken or anything is left.',
  )
  .option('--machines <count>', 'how many machines', count, 50)
  .action(({ machines }: { readonly machines: number }) => {
    const limit = String(300_000 + machines * 30_000)
    const config = ['--config', 'vitest.scenarios.config.ts', '--testTimeout', limit, '--hookTimeout', limit]
    const args = ['vitest', 'run', ...config, 'pools/aks-machines']
    const env = { ...process.env, JOINER_TEST_WORLD: 'real', JOINER_TAKEOVER_MACHINES: String(machines) }
    process.exitCode = spawnSync('npx', args, { stdio: 'inherit', env }).status ?? 1
  })
  .parseAsync()
