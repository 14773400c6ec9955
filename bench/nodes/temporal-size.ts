import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { standaloneClaim } from '../../test/applied-objects.ts'
import { forAll } from '../../test/arm/arm-calls.ts'
import { World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'
import { usages } from '../usage.ts'

const livesADay = 3
const daysKept = 7
const mebibyte = 2 ** 20

/**
 * What Temporal's development server takes with its database in a file, as the chart runs it: memory with so many nodes that come at once, stay, and go,
 * and bytes of a lifecycle. What a week of them takes is computed from that.
 */
export async function temporalSize(nodes: number): Promise<void> {
  const world = await World.start()
  try {
    await world.startWithNodeClass()
    const names = Array.from({ length: nodes }, (_, index) => `kept-${index}`)
    const limitMs = 120_000 + nodes * 2000
    const before = databaseBytes(world)
    await forAll(names, (name) => world.apply(standaloneClaim(name)))
    const isReady = ({ type, status }: { readonly type: string; readonly status: string }) =>
      type === 'Ready' && status === 'True'
    const areReady = async () => {
      const claims = await world.list('nodeclaims')
      return claims.filter(({ status }) => status?.conditions?.some(isReady)).length === nodes
    }
    await world.until('all nodes are ready', areReady, limitMs)
    const up = await memory(world)
    await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
    await world.untilNothingLeft(limitMs)
    const query = "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Running'"
    const areOver = async () => (await world.temporal.workflow.count(query)).count === 0
    await world.until('all lifecycles have ended', areOver, limitMs)
    const down = await memory(world)
    const bytes = (databaseBytes(world) - before) / nodes
    const week = (bytes * nodes * livesADay * daysKept) / mebibyte
    console.log(
      `${circumstances()}\n\n${table(
        ['', `${nodes} nodes`],
        [
          ['memory while they run', `${up.rss.toFixed(0)} MiB`],
          ['memory after they are gone', `${down.rss.toFixed(0)} MiB`],
          ['most memory', `${down.peak.toFixed(0)} MiB`],
          ['database, by lifecycle', `${(bytes / 1024).toFixed(1)} KiB`],
          [
            `database after ${daysKept} days with ${livesADay} lifecycles a node and day (computed)`,
            `${week.toFixed(0)} MiB`,
          ],
        ],
      )}`,
    )
  } finally {
    await world.stop()
  }
}

/** Size of the database, with what its log holds. */
function databaseBytes(world: World): number {
  const database = new DatabaseSync(join(world.cluster.stateDir, 'temporal.db'), { readOnly: true })
  try {
    const { bytes } = database
      .prepare('select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()')
      .get() as { readonly bytes: number }
    return bytes
  } finally {
    database.close()
  }
}

async function memory(world: World): Promise<{ readonly rss: number; readonly peak: number }> {
  const temporal = (await usages(world.cluster.supervisor.pids)).get('temporal')
  return { rss: temporal?.rssMiB ?? 0, peak: temporal?.peakRssMiB ?? 0 }
}
