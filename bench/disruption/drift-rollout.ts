import { type RolloutOptions, type RolloutReport, rollOut } from '../../test/proofs/rolling-out.ts'
import { World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'
import { percentile } from '../statistics.ts'

/** Replaces all nodes of a NodePool and prints how the budget was used. Errors: as `rollOut`; the exit status is 1 when a bound is broken. */
export async function driftRollout(options: RolloutOptions): Promise<void> {
  const world = await World.start()
  try {
    world.startJoiner()
    const report = await rollOut(world, options)
    console.log(text(report, options))
    const { mostCounted, fewest = 0 } = report.facts
    const full = Math.ceil((options.nodes * options.percent) / 100)
    if (mostCounted > full || fewest < options.least || report.health.violations.length > 0) process.exitCode = 1
  } finally {
    await world.stop()
  }
}

function text(report: RolloutReport, { nodes, percent, least }: RolloutOptions): string {
  const { tookMs, firstMs, facts, health, commands } = report
  const lifecycles = commands.flatMap(({ stampedAtMs, goneAtMs }) =>
    goneAtMs === undefined ? [] : [goneAtMs - stampedAtMs],
  )
  const rows = [
    ['change of the NodePool to the last old node gone', seconds(tookMs)],
    ['... to the first node stamped', seconds(firstMs)],
    ['nodes a minute', ((nodes * 60_000) / tookMs).toFixed(1)],
    ['disrupted at once, most; of those counted by budgets', `${facts.most}; ${facts.mostCounted}`],
    [
      '... fewest while old ones were left to begin with',
      facts.fewest === undefined ? 'never full' : String(facts.fewest),
    ],
    [`... time with fewer than ${least}, of`, `${seconds(facts.belowMs)}, ${seconds(facts.betweenMs)}`],
    [
      'from stamped to gone: median, 95 %',
      lifecycles.length === 0 ? '' : `${seconds(percentile(lifecycles, 50))}, ${seconds(percentile(lifecycles, 95))}`,
    ],
    ['from a NodeClaim gone to the next stamp: median, 95 %', gaps(report)],
    ['commands, replacements late', `${commands.length}, ${commands.flatMap(({ tooLate }) => tooLate).length}`],
    ['pods demanded, fewest healthy, violations', `${health.healthy}, ${health.lowest}, ${health.violations.length}`],
  ]
  return `### Drift, ${circumstances()}\n\n${table(['', `${nodes} nodes, budget ${percent} %`], rows)}\n`
}

/** How long the place of a node that is gone stays empty. */
function gaps({ commands }: RolloutReport): string {
  const stamps = commands.map(({ stampedAtMs }) => stampedAtMs)
  const waits = commands.flatMap(({ goneAtMs }) => {
    const next = stamps.find((ms) => goneAtMs !== undefined && ms >= goneAtMs)
    return next === undefined || goneAtMs === undefined ? [] : [next - goneAtMs]
  })
  return waits.length === 0 ? '' : `${seconds(percentile(waits, 50))}, ${seconds(percentile(waits, 95))}`
}
