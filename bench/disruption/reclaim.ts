import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { forAll } from '../../test/arm/arm-calls.ts'
import { World } from '../../test/world.ts'
import { scale } from '../nodes/scale.ts'
import { circumstances, seconds, table } from '../report.ts'

/** What Azure gives at least (docs: Scheduled Events, Preempt). */
const noticeMs = 30_000

const requirements = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
]

interface Measured {
  readonly passes: readonly { readonly atMs: number; readonly nodeClaims: number }[]
  /** Milliseconds after the first VM was taken back. */
  readonly stages: Readonly<Record<string, number>>
}

/** A mass reclaim: Azure takes so many spot VMs back at once, each with its notice, and Joiner replaces their nodes. */
export async function reclaim(nodes: number): Promise<void> {
  const world = await World.start()
  try {
    world.startJoiner()
    await world.operator.simulator('POST', '/settings', { evictions: { noticeMs } })
    await world.apply(nodePool({ consolidateAfter: 'Never', requirements }), nodeClass(), deployment({ apart: true }))
    await world.untilReady('general')
    await scale(world, nodes)
    await world.untilRunning(nodes, 60_000 + nodes * 1000)
    console.error(`${nodes} nodes are there`)
    console.log(report(nodes, await measure(world, nodes)))
  } finally {
    await world.stop()
  }
}

async function measure(world: World, nodes: number): Promise<Measured> {
  const limitMs = 120_000 + nodes * 1500
  const taken = (await world.azure()).virtualMachines.map(({ name }) => name)
  const isTaken = new Set(taken)
  const startMs = Date.now()
  const since = () => Date.now() - startMs
  await forAll(taken, (vm) => world.operator.simulator('POST', `/vms/${vm}/evict`, {}))
  const reported = since()
  const running = await world.until(
    'all pods run on other nodes',
    async () => {
      const pods = (await world.list('pods')).filter(({ status }) => status?.phase === 'Running')
      return pods.length === nodes && !pods.some(({ spec }) => isTaken.has(spec.nodeName ?? '')) && since()
    },
    limitMs,
  )
  const gone = await world.until(
    'nothing of the old nodes is left',
    async () => {
      const objects = [await world.list('nodes'), await world.list('nodeclaims')]
      return objects.every(({ length }) => length === nodes) && since()
    },
    limitMs,
  )
  // By the API server's clock, in whole seconds: this process is too busy with its own requests to see it in time.
  const requested = Math.max(
    ...(await world.list('nodeclaims')).map(({ metadata }) => Date.parse(metadata.creationTimestamp) - startMs),
  )
  const left = (await world.azure()).virtualMachines.filter(({ name }) => isTaken.has(name)).length
  if (left > 0) throw new Error(`${left} of the VMs that were taken back are still there`)
  const passes = (await world.plans(startMs)).filter(({ nodeClaims }) => nodeClaims > 0)
  return {
    passes: passes.map(({ time, nodeClaims }) => ({ atMs: Date.parse(time) - startMs, nodeClaims })),
    stages: {
      'the last eviction was asked for': reported,
      'every replacement is a NodeClaim': requested,
      'all pods run on other nodes': running,
      'nothing of the old nodes is left': gone,
    },
  }
}

function report(nodes: number, { passes, stages }: Measured): string {
  const rows = [
    ...Object.entries(stages).map(([stage, ms]) => [stage, seconds(ms)]),
    ['passes that made NodeClaims', String(passes.length)],
    ['... when, and how many each', passes.map(({ atMs, nodeClaims }) => `${seconds(atMs)}: ${nodeClaims}`).join('; ')],
  ]
  return `### Mass reclaim, ${circumstances()}\n\n${table(['', `${nodes} spot nodes, ${noticeMs / 1000} s of notice`], rows)}\n`
}
