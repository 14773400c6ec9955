import { buildProgram } from '../../deploy/build-program.ts'
import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { nodeServers, type ServerName, servers } from '../../deploy/local/server-versions.ts'

/** What only some commands start: they find or build it by themselves. */
const unusual: readonly ServerName[] = [
  'temporal-oldest',
  'temporal-server',
  'temporal-sql-tool',
  'keda-operator',
  'prometheus',
  'promtool',
  ...nodeServers,
]

/** What tests need. */
export const serverNames = (Object.keys(servers) as readonly ServerName[]).filter((name) => !unusual.includes(name))

/** Finds or builds the servers and the program once, before the suites that start them. */
export default async function setup(): Promise<void> {
  await buildProgram()
  await resolveBinaries(serverNames, (line) => console.log(line))
}
