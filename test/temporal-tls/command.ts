import { join } from 'node:path'
import { Command, Option } from 'commander'
import { circumstances, table } from '../../bench/report.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { World } from '../world.ts'
import { parts, Scenario } from './scenario.ts'
import { SecuredTemporal } from './server.ts'

await new Command('npm run temporal-tls --')
  .description(
    "Joiner's main job against the whole Temporal server, which demands client certificates and tokens with a role; then certificates and tokens that are wrong, have expired, or are replaced while Joiner runs. The server is built on the first run, which takes some ten minutes. Ends with 1 when something is not as it should be.",
  )
  .addOption(new Option('--only <part...>', 'some parts of it').choices(parts).default(parts, 'all'))
  .action(main)
  .parseAsync()

async function main({ only }: { readonly only: typeof parts }): Promise<void> {
  const world = await World.start()
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  const folder = join(world.cluster.stateDir, 'secured')
  let temporal: SecuredTemporal | undefined
  try {
    temporal = await SecuredTemporal.start(folder, world.cluster.supervisor, say)
    say(`Temporal demands client certificates and tokens at ${temporal.address}`)
    const scenario = new Scenario(world, temporal, say)
    await world.apply(nodePool(), nodeClass(), deployment())
    await scenario.run(only)
    console.log(`\n${circumstances()}, Temporal 1.31.2\n\n${table(['', 'outcome'], scenario.rows)}`)
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  } finally {
    temporal?.stop()
    await world.stop()
  }
}
