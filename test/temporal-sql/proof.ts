import { seconds } from '../../bench/report.ts'
import type { ProcessSpec } from '../../deploy/local/supervisor.ts'
import { connectClient, temporalClient } from '../../starter/temporal/connect.ts'
import { standaloneClaim } from '../applied-objects.ts'
import { settingsOf } from '../temporal-tls/server.ts'
import type { World } from '../world.ts'
import type { Postgres } from './postgres.ts'

interface ProofInput {
  readonly world: World
  readonly postgres: Postgres
  /** How Joiner reaches Temporal. */
  readonly env: Readonly<Record<string, string>>
  /** How Temporal's server is started. */
  readonly spec: ProcessSpec
  readonly metricsPort: number
  readonly say: (text: string) => void
}

/** What an idle cluster does as well. */
interface Counts {
  /** That PostgreSQL has written. */
  readonly rows: number
  readonly transactions: number
  /** To Temporal, without long polls. */
  readonly requests: number
  readonly atMs: number
}

const pods = 5
/** Of lives that are counted one by one: enough that pages of tables do not matter. */
const counted = 40
const awayMs = 20_000
const restMs = 60_000
const limitMs = 300_000

/** The main job, then what may happen to PostgreSQL while nodes come, each with pods that run in the end and nothing that is left. */
export class Proof {
  readonly rows: (readonly string[])[] = []
  readonly #input: ProofInput

  constructor(input: ProofInput) {
    this.#input = input
  }

  async run(): Promise<void> {
    const { world, postgres, env } = this.#input
    world.startJoiner('joiner', env)
    await world.untilReady('general')
    await this.#upAndDown('main job', async () => {})
    await this.#cost()
    const connections = await postgres.query(
      "select count(*) from pg_stat_activity where backend_type = 'client backend'",
    )
    this.#done('connections of one process with all services', String(Number(connections) - 1))
    await this.#upAndDown(`PostgreSQL killed for ${awayMs / 1000} s while nodes come`, async () => {
      await postgres.kill()
      await new Promise((resolve) => setTimeout(resolve, awayMs))
      await postgres.begin()
    })
    if (postgres.hasDisk) await this.#fullDisk()
    else this.#done("PostgreSQL's disk is full", 'not tried: a disk of its own needs root')
  }

  async #fullDisk(): Promise<void> {
    const { postgres } = this.#input
    let ended = ''
    await this.#upAndDown(`PostgreSQL's disk full for ${awayMs / 1000} s while nodes come`, async () => {
      await postgres.fill()
      const isRefused = await postgres.query('create table probe as select generate_series(1, 100000)').then(
        () => false,
        (error: unknown) => String(error).includes('No space left'),
      )
      if (!isRefused) throw new Error("PostgreSQL's disk is full, and it writes")
      await new Promise((resolve) => setTimeout(resolve, awayMs))
      await postgres.free()
      if (!postgres.runs) {
        ended = '; PostgreSQL had ended by itself, and was started again'
        await postgres.begin()
      }
    })
    if (ended !== '') this.#done('what PostgreSQL did with a full disk', ended.slice(2))
  }

  /** Scales up, has something happen at once, waits until all pods run, and scales down until nothing is left. */
  async #upAndDown(what: string, happens: () => Promise<void>): Promise<void> {
    const { world, spec } = this.#input
    const begunMs = Date.now()
    await world.scale('inflate', pods)
    await world.until('a NodeClaim is there', async () => (await world.list('nodeclaims')).length > 0)
    await happens()
    if (world.cluster.supervisor.pids['temporal-server'] === undefined) {
      this.#done(what, "Temporal's server had ended by itself, and was started again")
      world.cluster.supervisor.start(spec)
    }
    await world.untilRunning(pods, limitMs)
    const upMs = Date.now() - begunMs
    const downMs = Date.now()
    await world.scale('inflate', 0)
    await world.untilNothingLeft(limitMs)
    await this.#untilLivesEnded()
    const violations = await world.violations()
    if (violations.length > 0) throw new Error(`${what}: ${JSON.stringify(violations)}`)
    this.#done(what, `${pods} pods ran after ${seconds(upMs)}, nothing was left after ${seconds(Date.now() - downMs)}`)
  }

  /** What a lifecycle costs: the growth by many of them, and what they ask for above what an idle cluster does in that time. */
  async #cost(): Promise<void> {
    const { world, postgres } = this.#input
    const idle = await this.#counts()
    await new Promise((resolve) => setTimeout(resolve, restMs))
    const rest = await this.#counts()
    const { live: liveBefore } = await postgres.sizes()
    const before = await this.#counts()
    await world.apply(...Array.from({ length: counted }, (_, index) => standaloneClaim(`counted-${index}`)))
    await world.until('all nodes are ready', async () => {
      const all = await world.list('nodeclaims')
      return all.filter(({ status }) => status?.conditions?.some(isReady)).length === counted
    })
    await world.operator.kubectl(['delete', 'nodeclaims', '--all'])
    await world.untilNothingLeft(limitMs)
    await this.#untilLivesEnded()
    const after = await this.#counts()
    const { bytes, live } = await postgres.sizes()
    const kilobytes = (size: number) => `${((size - liveBefore) / counted / 1024).toFixed(1)} KiB`
    this.#done('bytes of a lifecycle, with indexes', `${kilobytes(live)}, ${kilobytes(bytes)} before VACUUM`)
    const atRest = (name: keyof Counts) => (rest[name] - idle[name]) / (rest.atMs - idle.atMs)
    for (const name of ['requests', 'rows'] as const) {
      const own = (after[name] - before[name] - atRest(name) * (after.atMs - before.atMs)) / counted
      const rate = (atRest(name) * 1000).toFixed(1)
      this.#done(`${name} of a lifecycle`, `${own.toFixed(0)}, and of a cluster at rest ${rate} a second`)
    }
    // Those of lifecycles are lost in them: each shard asks for its tasks.
    this.#done('transactions of a cluster at rest', `${(atRest('transactions') * 1000).toFixed(0)} a second`)
  }

  async #counts(): Promise<Counts> {
    const { postgres, metricsPort } = this.#input
    // Statistics are written when a transaction ends, and a second later.
    await new Promise((resolve) => setTimeout(resolve, 2000))
    const written = 'sum(tup_inserted + tup_updated + tup_deleted)'
    const sums = `select ${written}, sum(xact_commit) from pg_stat_database where datname like 'temporal%'`
    const [rows = 0, transactions = 0] = (await postgres.query(sums)).split('|').map(Number)
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const counts = [...text.matchAll(/^service_requests\{(.*service_name="frontend".*)\} ([\d.e+]+)$/gm)]
    if (counts.length === 0) throw new Error("Temporal's metrics count no request")
    const asked = counts.filter(([, labels = '']) => !/operation="(Poll|GetWorkflowExecutionHistory)/.test(labels))
    return {
      rows,
      transactions,
      requests: asked.reduce((all, [, , count]) => all + Number(count), 0),
      atMs: Date.now(),
    }
  }

  async #untilLivesEnded(): Promise<void> {
    const { world, env } = this.#input
    const settings = settingsOf(env)
    const connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const query = "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Running'"
    await world.until('every lifecycle has ended', async () => (await client.workflow.count(query)).count === 0)
    await connection.close()
  }

  #done(what: string, outcome: string): void {
    this.rows.push([what, outcome])
    this.#input.say(`${what}: ${outcome}`)
  }
}

const isReady = ({ type, status }: { readonly type: string; readonly status: string }) =>
  type === 'Ready' && status === 'True'
