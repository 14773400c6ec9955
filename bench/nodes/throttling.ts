import { type BucketCounts, documentedLimits } from '../../deploy/local/azure/throttling/throttling.ts'
import { measureNodeCalls, type NodeCalls } from '../../test/arm/arm-calls.ts'
import { World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'

export interface ThrottlingOptions {
  readonly nodes: number
  /** Which part of Azure's documented limits the simulator grants; below Joiner's own share, Azure has to refuse. */
  readonly granted: number
}

type Counts = Readonly<Record<string, BucketCounts>>

interface Measured extends NodeCalls {
  readonly launchBuckets: Counts
  readonly deletionBuckets: Counts
}

/** Joiner's own share of Azure's limits, unless somebody sets another. */
const defaultShare = 0.9

/**
 * Launches and deletes nodes against Azure's token buckets. VMs are created and boot no kubelet: what is measured is Azure's limits and Joiner's
 * way with them. It fails when a launch is lost, or when a refused call came back before Azure allowed it.
 */
export async function throttling({ nodes, granted }: ThrottlingOptions): Promise<void> {
  const world = await World.start()
  try {
    await world.startWithNodeClass()
    await world.fault({ kind: 'neverJoins', count: nodes })
    await world.operator.simulator('POST', '/settings', { throttling: grantedLimits(granted) })
    let launchBuckets: Counts = {}
    const calls = await measureNodeCalls(world, nodes, {
      until: 'Launched',
      limitMs: 120_000 + nodes * 400,
      onLaunched: async () => void (launchBuckets = await buckets(world)),
    })
    const measured = { ...calls, launchBuckets, deletionBuckets: await buckets(world) }
    console.log(report(measured, granted))
    assertNoneEarly(measured)
  } finally {
    await world.stop()
  }
}

function grantedLimits(granted: number) {
  return Object.fromEntries(
    Object.entries(documentedLimits).map(([name, limit]) => [
      name,
      'refillPerMinute' in limit
        ? { tokens: limit.tokens * granted, refillPerMinute: limit.refillPerMinute * granted }
        : { ...limit, tokens: limit.tokens * granted },
    ]),
  )
}

async function buckets(world: World): Promise<Counts> {
  return (await world.operator.simulator<{ readonly buckets: Counts }>('GET', '/throttling')).buckets
}

function assertNoneEarly({ launchBuckets, deletionBuckets }: Measured): void {
  for (const counts of [launchBuckets, deletionBuckets])
    for (const [name, { earlyRetries }] of Object.entries(counts))
      if (earlyRetries > 0) throw new Error(`bucket ${name}: ${earlyRetries} refused calls came back too early`)
}

/** Seconds that so many calls need at least: the burst at once, the rest as the bucket is filled. */
function boundMs(calls: number, name: 'armWrites' | 'armDeletes', share: number): number {
  const { tokens, refillPerMinute } = documentedLimits[name]
  return (Math.max(0, calls - tokens * share) / (refillPerMinute * share)) * 60_000
}

function report(measured: Measured, granted: number): string {
  const { nodes, vms, launch, deletion, launchBuckets, deletionBuckets } = measured
  const share = Math.min(granted, defaultShare)
  const of = (counts: Counts, field: keyof BucketCounts) =>
    Object.entries(counts)
      .filter(([, each]) => each[field] > 0)
      .map(([name, each]) => `${name} ${each[field]}`)
      .join(', ') || 'none'
  const rows = [
    ['time', seconds(launch.elapsedMs), seconds(deletion.elapsedMs)],
    [
      'bound by all that Azure grants here',
      seconds(boundMs(nodes, 'armWrites', granted)),
      seconds(boundMs(nodes, 'armDeletes', granted)),
    ],
    [
      `bound by Joiner's share of it (${share})`,
      seconds(boundMs(nodes, 'armWrites', share)),
      seconds(boundMs(nodes, 'armDeletes', share)),
    ],
    ['calls that Azure took, by bucket', of(launchBuckets, 'taken'), of(deletionBuckets, 'taken')],
    ['calls that Azure refused', of(launchBuckets, 'refused'), of(deletionBuckets, 'refused')],
    ['calls on their way when Azure refused another', of(launchBuckets, 'early'), of(deletionBuckets, 'early')],
    ['refused calls that came back too early', of(launchBuckets, 'earlyRetries'), of(deletionBuckets, 'earlyRetries')],
    ['pages of shared VM lists', String(launch.vmListPages), String(deletion.vmListPages)],
    ['VMs at the end', String(vms.launched), String(vms.left)],
  ]
  return `### ${nodes} nodes, Azure grants ${granted} of its documented limits, ${circumstances()}\n\n${table(['', 'launch', 'deletion'], rows)}\n`
}
