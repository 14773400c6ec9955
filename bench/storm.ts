import { type StormOptions, storm } from '../test/storm.ts'
import { World } from '../test/world.ts'
import { circumstances, seconds, table } from './report.ts'

/** Runs the storm and prints what came of it. Errors: as `storm`. */
export async function stormReport(options: StormOptions): Promise<void> {
  const world = await World.start()
  try {
    const { cycles, kills, hits, requests, alarms } = await storm(world, options)
    const counted = (counts: Readonly<Record<string, number>>) =>
      Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ')
    const rows = [
      ...cycles.map(({ upMs, downMs, nodes }, index) => [
        `cycle ${index + 1}: up, nodes, down to nothing left`,
        `${seconds(upMs)}, ${nodes}, ${seconds(downMs)}`,
      ]),
      ['`kill -9` of Joiner', String(kills)],
      ['faults that hit', counted(hits)],
      ['requests that change VMs', counted(requests)],
      ['leaks that garbage collection found', String(alarms.length)],
    ]
    console.log(`${circumstances()}\n\n${table(['', `${options.pods} pods`], rows)}`)
    for (const alarm of alarms) console.error(alarm)
  } finally {
    await world.stop()
  }
}
