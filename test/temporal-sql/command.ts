// npm run temporal-sql: Joiner with the whole Temporal server and PostgreSQL.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Connection } from '@temporalio/client'
import { Command } from 'commander'
import { parse } from 'yaml'
import { circumstances, table } from '../../bench/report.ts'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { connectClient } from '../../starter/temporal/connect.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { settingsOf } from '../temporal-tls/server.ts'
import { temporalServerSpec } from '../temporal-tls/server-spec.ts'
import { World } from '../world.ts'
import { Postgres, until } from './postgres.ts'
import { Proof } from './proof.ts'

const run = promisify(execFile)
const valuesFile = new URL('../../deploy/temporal/values-temporal.yaml', import.meta.url)

await new Command('npm run temporal-sql --')
  .description(
    "Joiner's main job with the whole Temporal server and PostgreSQL, whose pools, shards and namespace are those of deploy/temporal/values-temporal.yaml and whose connections are those of the smallest Azure Database for PostgreSQL; then PostgreSQL is killed while nodes come, and its disk is full (as root). Prints a table, and what a lifecycle costs in bytes and transactions. PostgreSQL is that of /usr/lib/postgresql, else Debian's package is unpacked into the cache; the server is built on the first run, which takes some ten minutes. Ends with 1 when something is not as it should be.",
  )
  .action(main)
  .parseAsync()

interface Store {
  readonly sql: { readonly databaseName: string; readonly maxConns: number; readonly maxIdleConns: number }
}

interface Values {
  readonly server: {
    readonly config: {
      readonly persistence: {
        readonly numHistoryShards: number
        readonly datastores: { readonly default: Store; readonly visibility: Store }
      }
      readonly namespaces: { readonly namespace: readonly { readonly name: string }[] }
    }
  }
}

async function main(): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  const binaries = await resolveBinaries(['temporal-server', 'temporal-sql-tool'], say)
  const folder = await mkdtemp(join(tmpdir(), 'joiner-postgres-'))
  // PostgreSQL runs as another user where this is root.
  await chmod(folder, 0o755)
  const world = await World.start()
  const { supervisor, stateDir } = world.cluster
  try {
    const [port = 0, temporalPort = 0, metricsPort = 0] = await freePorts(3)
    const postgres = await Postgres.start(supervisor, { folder, port }, say)
    say(await postgres.query('show server_version').then((version) => `PostgreSQL ${version} runs`))
    const { persistence, namespaces } = (parse(await readFile(valuesFile, 'utf8')) as Values).server.config
    const { default: main, visibility } = persistence.datastores
    const connectAddr = `127.0.0.1:${port}`
    await makeTables(binaries['temporal-sql-tool'], { main, visibility, port })
    say('the tables are made')
    const spec = await temporalServerSpec({
      binary: binaries['temporal-server'],
      folder: join(stateDir, 'sql'),
      port: temporalPort,
      metricsPort,
      stores: {
        main: { sql: { ...main.sql, connectAddr, tls: undefined } },
        visibility: { sql: { ...visibility.sql, connectAddr, tls: undefined } },
        shards: persistence.numHistoryShards,
      },
    })
    supervisor.start(spec)
    const namespace = namespaces.namespace[0]?.name ?? ''
    const env = { TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`, TEMPORAL_NAMESPACE: namespace, TEMPORAL_TLS: 'false' }
    await makeNamespace(env, namespace)
    say('Temporal answers')
    await world.apply(nodePool(), nodeClass(), deployment())
    const proof = new Proof({ world, postgres, env, spec, metricsPort, say })
    await proof.run()
    console.log(`\n${circumstances()}, Temporal 1.31.2\n\n${table(['', 'outcome'], proof.rows)}`)
  } catch (error) {
    console.error(error)
    console.error(await supervisor.tail('temporal-server'))
    console.error(await supervisor.tail('postgres'))
    process.exitCode = 1
  } finally {
    await world.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes both databases, with Temporal's own tool. */
async function makeTables(
  tool: string,
  { main, visibility, port }: { readonly main: Store; readonly visibility: Store; readonly port: number },
): Promise<void> {
  const at = ['--plugin', 'postgres12', '--endpoint', '127.0.0.1', '--port', String(port), '--user', 'temporal']
  for (const [{ sql }, schema] of [
    [main, 'postgresql/v12/temporal'],
    [visibility, 'postgresql/v12/visibility'],
  ] as const) {
    const of = [...at, '--database', sql.databaseName]
    await run(tool, [...of, 'create-database'])
    await run(tool, [...of, 'setup-schema', '--version', '0.0'])
    await run(tool, [...of, 'update-schema', '--schema-name', schema])
  }
}

/** Makes the namespace, as the Job of Temporal's chart does, and waits until all services know it; Joiner makes the rest. */
async function makeNamespace(env: Readonly<Record<string, string>>, namespace: string): Promise<void> {
  const workflowExecutionRetentionPeriod = { seconds: 604_800 as never }
  const done = (what: string, ask: (service: Connection['workflowService']) => Promise<unknown>) =>
    until(what, async () => {
      const connection = await connectClient(settingsOf(env))
      try {
        await ask(connection.workflowService)
        return true
      } finally {
        await connection.close()
      }
    })
  await done('the namespace is made', (service) =>
    service.registerNamespace({ namespace, workflowExecutionRetentionPeriod }),
  )
  await done('the namespace is known', (service) => service.countWorkflowExecutions({ namespace }))
}
