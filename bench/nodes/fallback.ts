import type { JournalEntry } from '../../deploy/local/azure/server/arm-deps.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'
import { percentile } from '../statistics.ts'
import { scale } from './scale.ts'

/** What is asked for: median and 95th percentile of the fallbacks, in milliseconds. */
const goal = { medianMs: 50, p95Ms: 150 } as const

/**
 * Capacity fallback: Azure refuses the first offering of each NodeClaim, one NodeClaim after the other. By the simulator's clock, from the
 * error answer to the arrival of the next PUT of the same VM; in between lie the durable mark, the claim's condition and Temporal.
 */
export async function fallback(rounds: number): Promise<void> {
  const world = await World.start()
  try {
    await world.apply(deployment({ apart: true }))
    world.startJoiner()
    // All families, since each refusal takes the larger sizes of one away in one zone.
    await world.apply(nodePool({ consolidateAfter: 'Never', requirements: onDemand }), nodeClass())
    await world.untilReady('general')
    for (let round = 1; round <= rounds; round++) {
      await world.fault({ kind: 'failSync', code: 'OverconstrainedZonalAllocationRequest', count: 1 })
      await scale(world, round)
      await world.untilRunning(round)
      console.error(`${round} of ${rounds}`)
    }
    console.log(report(fallbackTimes(await world.journal()), rounds))
  } finally {
    await world.stop()
  }
}

const onDemand = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }]

/** For each VM the milliseconds from a refused PUT's answer to the arrival of the PUT after it. */
function fallbackTimes(journal: readonly JournalEntry[]): readonly number[] {
  const puts = Map.groupBy(
    journal.filter(({ method }) => method === 'PUT'),
    ({ name }) => name,
  )
  return [...puts.values()].flatMap((ofOne) =>
    ofOne.flatMap(({ answer }, index) => {
      const next = ofOne[index + 1]
      return answer === undefined || answer.status < 400 || next === undefined ? [] : [next.atMs - answer.atMs]
    }),
  )
}

function report(times: readonly number[], rounds: number): string {
  if (times.length !== rounds) throw new Error(`${times.length} fallbacks were seen in ${rounds} rounds`)
  const cell = (ms: number) => `${ms.toFixed(0)} ms`
  const rows = [
    [
      'measured',
      cell(percentile(times, 50)),
      cell(percentile(times, 95)),
      cell(Math.min(...times)),
      cell(Math.max(...times)),
    ],
    ['goal', `under ${cell(goal.medianMs)}`, `under ${cell(goal.p95Ms)}`, '', ''],
  ]
  const head = [`${rounds} fallbacks`, 'median', '95th percentile', 'fastest', 'slowest']
  return `### Capacity fallback, ${circumstances()}\n\n${table(head, rows)}\n\nAll: ${times.join(', ')} ms\n`
}
