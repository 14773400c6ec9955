import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { type FloodReport, flood } from '../../test/webhook-flood/flood.ts'
import { World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'
import { percentile } from '../statistics.ts'

/** Foreign clients flood the conversion webhook's port for so long: of one process with all roles, and of the chart's four. */
export async function webhookFlood(seconds: number): Promise<void> {
  const apart = ['joiner', 'joiner-azure', 'joiner-planner', 'joiner-conversion']
  const united = await measured((world) => world.startJoiner(), ['joiner'], seconds)
  const four = await measured((world) => world.startApart(), apart, seconds)
  const row = (what: string, of: (report: FloodReport) => string | number) =>
    [what, String(of(united)), String(of(four))] as const
  const spread = (values: readonly number[], unit: string, digits: number) =>
    values.length === 0
      ? 'none'
      : `${percentile(values, 50).toFixed(digits)} ${unit}, at most ${Math.max(...values).toFixed(digits)} ${unit}`
  console.log(`${circumstances()}; ${seconds} s:\n`)
  console.log(
    table(
      ['', 'one process with all roles', "the chart's four processes"],
      [
        row('processes and threads that ended', ({ restarts }) => restarts),
        row('pods that got a node of their own meanwhile', ({ podSeconds }) => podSeconds.length),
        row('... from pod to Running, median', ({ podSeconds }) => spread(podSeconds, 's', 1)),
        row('objects that the API server had converted', ({ conversionMs }) => conversionMs.length),
        row('... median', ({ conversionMs }) => spread(conversionMs, 'ms', 0)),
        row('... that could not be', ({ failedConversions }) => failedConversions),
        row('peak RSS, MiB', ({ peakRssMiB }) =>
          Object.entries(peakRssMiB)
            .map((entry) => entry.join(' '))
            .join(', '),
        ),
        ...[...new Set([...Object.keys(united.done), ...Object.keys(four.done)])]
          .toSorted()
          .map((what) => row(`clients: ${what}`, ({ done }) => done[what] ?? 0)),
      ],
    ),
  )
}

async function measured(
  start: (world: World) => void,
  processes: readonly string[],
  seconds: number,
): Promise<FloodReport> {
  const world = await World.start()
  try {
    start(world)
    await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
    await world.untilReady('general')
    return await flood(world, processes, seconds * 1000)
  } finally {
    await world.stop()
  }
}
