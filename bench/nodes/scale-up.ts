import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { World } from '../../test/world.ts'
import { baseline } from '../baseline.ts'
import { circumstances, othersCpu, seconds, table } from '../report.ts'
import { cpuBetween, machineCpuSeconds, type Usage, usages } from '../usage.ts'
import { scale } from './scale.ts'
import { Timeline } from './timeline.ts'

/**
 * Karpenter 1.14 with its kwok provider (an instant cloud, no durable state): NOT measured here, but once, elsewhere, on 2 cores,
 * with the same servers, the same raised limits of controller manager and scheduler, and consolidateAfter 30 s.
 */
const peer: ReadonlyMap<number, Peer> = new Map([
  [5, { upMs: 2500, downMs: 52_000 }],
  [100, { upMs: 10_300, downMs: 68_000 }],
  [500, { upMs: 71_000, peakRssMiB: 340, cpuSeconds: 37 }],
])

interface Peer {
  readonly upMs: number
  readonly downMs?: number
  readonly peakRssMiB?: number
  readonly cpuSeconds?: number
}

interface Measured {
  readonly pods: number
  readonly baselineMs: number
  readonly upMs: number
  readonly downMs: number
  /** Milliseconds after the scale request, in the order in which they are reached. */
  readonly stages: Readonly<Record<string, number | undefined>>
  readonly plans: { readonly count: number; readonly solveMs: number }
  /** Pods that were deleted before all ran, and made again by their ReplicaSet. */
  readonly replaced: number
  /** CPU seconds of the scale-up, by process. */
  readonly cpuUp: readonly (readonly [string, number])[]
  readonly cpuDown: readonly (readonly [string, number])[]
  /** CPU seconds of the scale-up spent by whatever else runs on the machine; if it is much, the figures are worth little. */
  readonly strangersCpuUp: number
  readonly peakRssMiB: number
}

/** Measures each size on a cluster of its own, so that peaks belong to their size, and prints one table. */
export async function scaleUp(sizes: readonly number[]): Promise<void> {
  const results: Measured[] = []
  for (const pods of sizes) {
    console.error(`${pods} pods ...`)
    results.push(await measure(pods))
  }
  console.log(report(results))
}

async function measure(pods: number): Promise<Measured> {
  const limitMs = 120_000 + pods * 1000
  const world = await World.start()
  let timeline: Timeline | undefined
  try {
    await world.apply(deployment({ apart: true }))
    timeline = await Timeline.start(world.cluster)
    const baselineMs = await baseline(world, timeline, pods, limitMs)
    world.startJoiner()
    await world.apply(nodePool({ consolidateAfter: '30s' }), nodeClass())
    await world.untilReady('general')
    const up = await measureUp(world, timeline, pods, limitMs)
    const down = await measureDown(world, timeline, limitMs)
    return { pods, baselineMs, ...up, ...down }
  } finally {
    await timeline?.stop()
    await world.stop()
  }
}

async function measureUp(world: World, timeline: Timeline, pods: number, limitMs: number) {
  const [before, machineBefore] = [await allUsages(world), await machineCpuSeconds()]
  const startMs = await scale(world, pods)
  await timeline.until(`${pods} pods run`, () => timeline.now('pods', 'podRunning') === pods, limitMs)
  const [after, machineAfter] = [await allUsages(world), await machineCpuSeconds()]
  const cpuUp = cpuBetween(before, after)
  const since = (ms: number | undefined) => (ms === undefined ? undefined : ms - startMs)
  const requests = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ atMs }) => atMs)
  const upMs = since(timeline.last('podRunning')) ?? 0
  return {
    upMs,
    stages: {
      'last pod created': since(timeline.last('podCreated')),
      'first NodeClaim': since(timeline.first('claimCreated')),
      'last NodeClaim': since(timeline.last('claimCreated')),
      'last VM accepted': since(Math.max(...requests)),
      'last Node created': since(timeline.last('nodeCreated')),
      'last Node usable': since(timeline.last('nodeUsable')),
      'last pod Running': upMs,
      // Its lateness is known only once it has come.
      'last NodeClaim registered': await lastRegistered(timeline, pods, startMs, limitMs),
    },
    replaced: timeline.count('podCreated') - pods,
    plans: await plansSince(world, startMs),
    cpuUp,
    strangersCpuUp: Math.max(machineAfter - machineBefore - total(cpuUp), 0),
  }
}

async function lastRegistered(timeline: Timeline, pods: number, startMs: number, limitMs: number): Promise<number> {
  await timeline.until(
    'every NodeClaim is registered',
    () => timeline.now('nodeClaims', 'claimRegistered') >= pods,
    limitMs,
  )
  return (timeline.last('claimRegistered') ?? 0) - startMs
}

async function measureDown(world: World, timeline: Timeline, limitMs: number) {
  const before = await allUsages(world)
  const startMs = await scale(world, 0)
  const isEmpty = () => timeline.present('nodeClaims') === 0 && timeline.present('nodes') === 0
  const goneMs = await timeline.until('NodeClaims and Nodes are gone', isEmpty, limitMs)
  const left = (await world.azure()).virtualMachines.length
  if (left > 0) throw new Error(`${left} VMs are left without a NodeClaim`)
  const after = await allUsages(world)
  return {
    downMs: goneMs - startMs,
    cpuDown: cpuBetween(before, after),
    peakRssMiB: after.get('joiner')?.peakRssMiB ?? 0,
  }
}

/** Of all servers, of Joiner, and of this process, which watches. */
function allUsages(world: World): Promise<ReadonlyMap<string, Usage>> {
  return usages({ ...world.cluster.supervisor.pids, 'this benchmark': process.pid })
}

/** How often and how long the planner thought, from Joiner's log. */
async function plansSince(world: World, startMs: number): Promise<Measured['plans']> {
  const plans = await world.plans(startMs)
  return { count: plans.length, solveMs: plans.reduce((sum, { solveMs }) => sum + solveMs, 0) }
}

function report(results: readonly Measured[]): string {
  const row = (name: string, cell: (result: Measured, known: Peer | undefined) => string) => [
    name,
    ...results.map((result) => cell(result, peer.get(result.pods))),
  ]
  const stageNames = Object.keys(results[0]?.stages ?? {})
  const rows = [
    row('**scale request to last pod Running**', ({ upMs }) => `**${seconds(upMs)}**`),
    row('baseline: same pods, nodes already there', ({ baselineMs }) => seconds(baselineMs)),
    row("Joiner's share (the difference)", ({ upMs, baselineMs }) => seconds(upMs - baselineMs)),
    row('Karpenter 1.14 + kwok (measured elsewhere)', (_, known) => seconds(known?.upMs)),
    row("ratio to Karpenter's", ({ upMs }, known) => ratio(upMs, known?.upMs)),
    ...stageNames.map((stage) => row(`... ${stage}`, ({ stages }) => seconds(stages[stage]))),
    row('... plans, time in the planner', ({ plans }) => `${plans.count}, ${seconds(plans.solveMs)}`),
    row('... pods deleted and made again meanwhile', ({ replaced }) => String(replaced)),
    row('**scale to 0 until no node is left**', ({ downMs }) => `**${seconds(downMs)}**`),
    row('Karpenter 1.14 + kwok (measured elsewhere)', (_, known) => seconds(known?.downMs)),
    row("ratio to Karpenter's", ({ downMs }, known) => ratio(downMs, known?.downMs)),
    row("Joiner's CPU, up; down", ({ cpuUp, cpuDown }) => `${joinerCpu(cpuUp)}; ${joinerCpu(cpuDown)}`),
    row("Joiner's peak RSS", ({ peakRssMiB }) => `${peakRssMiB.toFixed(0)} MiB`),
    row("Karpenter's CPU, RSS (measured elsewhere)", (_, known) => peerUsage(known)),
    row('CPU of the others, up', ({ cpuUp }) => othersCpu(cpuUp, ['joiner'])),
    row('cores in use, up', ({ cpuUp, upMs }) => (total(cpuUp) / (upMs / 1000)).toFixed(1)),
    row('cores in use by strangers, up', ({ strangersCpuUp, upMs }) => (strangersCpuUp / (upMs / 1000)).toFixed(1)),
  ]
  const head = ['', ...results.map(({ pods }) => `${pods} pods, ${pods} nodes`)]
  return `### Scale up and down, ${circumstances()}\n\n${table(head, rows)}\n`
}

function ratio(ms: number, known: number | undefined): string {
  return known === undefined ? '' : (ms / known).toFixed(2)
}

function joinerCpu(cpu: Measured['cpuUp']): string {
  return `${(cpu.find(([name]) => name === 'joiner')?.[1] ?? 0).toFixed(1)} s`
}

function peerUsage(known: Peer | undefined): string {
  return known?.cpuSeconds === undefined ? '' : `${known.cpuSeconds} s, ${known.peakRssMiB} MB`
}

function total(cpu: Measured['cpuUp']): number {
  return cpu.reduce((sum, [, used]) => sum + used, 0)
}
