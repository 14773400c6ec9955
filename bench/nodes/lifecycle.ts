import { fileURLToPath } from 'node:url'
import { standaloneClaim } from '../../test/applied-objects.ts'
import { forAll } from '../../test/arm/arm-calls.ts'
import { auditedRequests } from '../../test/audit-log.ts'
import { claimsPath, type Seen, World } from '../../test/world.ts'
import { nodesOnly } from '../baseline.ts'
import { circumstances, othersCpu, percentile, seconds, table } from '../report.ts'
import { cpuBetween, machineCpuSeconds, type Usage, usages } from '../usage.ts'
import { type Stage, Timeline } from './timeline.ts'

/** Settings of a Joiner process that Azure's documented limits of requests do not hold back. */
const withoutArmLimits = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('without-arm-limits.ts', import.meta.url))}`,
} as const

/** A claim's times, in epoch ms of this machine. */
interface NodeTimes {
  readonly name: string
  readonly uid: string
  /** When the request that created it was sent. */
  readonly createdMs: number
}

type TimeOf = (lifecycle: NodeTimes) => number | undefined

interface Half {
  readonly tookMs: number
  /** Requests that the API server answered, by actor and verb. */
  readonly requests: ReadonlyMap<string, number>
  readonly cpu: readonly (readonly [string, number])[]
  readonly strangersCpu: number
}

interface Measured {
  readonly nodes: number
  readonly baseline: { readonly upMs: number; readonly downMs: number }
  readonly up: Half
  readonly down: Half
  /** Milliseconds of each lifecycle, by phase. */
  readonly phases: ReadonlyMap<string, readonly number[]>
  readonly events: readonly number[]
  readonly rss: ReadonlyMap<string, number>
}

/** Takes NodeClaims to initialized nodes and back to nothing, and prints where time, CPU, memory and events go. */
export async function lifecycle(nodes: number): Promise<void> {
  const world = await World.start({ temporalInMemory: true, audit: true })
  let timeline: Timeline | undefined
  try {
    timeline = await Timeline.start(world.cluster)
    const limitMs = 120_000 + nodes * 1000
    const baseline = await nodesOnly(world, timeline, nodes, limitMs)
    await world.startWithNodeClass(withoutArmLimits)
    console.log(report(await measure(world, timeline, { nodes, baseline, limitMs })))
  } finally {
    await timeline?.stop()
    await world.stop()
  }
}

interface Asked extends Pick<Measured, 'nodes' | 'baseline'> {
  readonly limitMs: number
}

async function measure(world: World, timeline: Timeline, { nodes, baseline, limitMs }: Asked): Promise<Measured> {
  const lifecycles: NodeTimes[] = []
  const deletedMs = new Map<string, number>()
  const names = Array.from({ length: nodes }, (_, index) => `lifecycle-${index}`)
  const up = await half(world, async () => {
    await forAll(names, async (name) => void lifecycles.push(await create(world, name)))
    return timeline.until(
      'every NodeClaim is initialized',
      () => timeline.now('nodeClaims', 'claimInitialized') === nodes,
      limitMs,
    )
  })
  const down = await half(world, async () => {
    await forAll(names, async (name) => {
      deletedMs.set(name, Date.now())
      await world.operator.api('DELETE', `${claimsPath}/${name}`)
    })
    const isEmpty = () => timeline.present('nodeClaims') === 0 && timeline.present('nodes') === 0
    return timeline.until('NodeClaims and Nodes are gone', isEmpty, limitMs)
  })
  const left = (await world.azure()).virtualMachines.length
  if (left > 0) throw new Error(`${left} VMs are left without a NodeClaim`)
  const used = await usages(world.cluster.supervisor.pids)
  return {
    nodes,
    baseline,
    up,
    down,
    phases: phasesOf(lifecycles, timeline, { puts: await putTimes(world), deletedMs }),
    events: await eventsOfLives(world, nodes),
    rss: new Map([...used].map(([name, { peakRssMiB }]) => [name, peakRssMiB])),
  }
}

/** Creates a claim of its own. */
async function create(world: World, name: string): Promise<NodeTimes> {
  const createdMs = Date.now()
  const { metadata } = await world.operator.api<Seen>('POST', claimsPath, standaloneClaim(name))
  return { name, uid: metadata.uid, createdMs }
}

/** Runs one half of all lifecycles; `work` returns when it was over. */
async function half(world: World, work: () => Promise<number>): Promise<Half> {
  const [before, machineBefore] = [await allUsages(world), await machineCpuSeconds()]
  const startMs = Date.now()
  const endMs = await work()
  const cpu = cpuBetween(before, await allUsages(world))
  const own = cpu.reduce((sum, [, used]) => sum + used, 0)
  const strangersCpu = Math.max((await machineCpuSeconds()) - machineBefore - own, 0)
  const requests = await requestsBetween(world, startMs, endMs)
  return { tookMs: endMs - startMs, cpu, strangersCpu, requests }
}

async function requestsBetween(world: World, startMs: number, endMs: number): Promise<ReadonlyMap<string, number>> {
  const { stateDir } = world.cluster
  // The record is complete up to a request that came later.
  await world.until('the API server has recorded its requests', async () =>
    (await auditedRequests(stateDir)).some(({ atMs }) => atMs > endMs + 1000),
  )
  const counts = new Map<string, number>()
  for (const { actor, what, code, atMs } of await auditedRequests(stateDir)) {
    if (atMs < startMs || atMs > endMs) continue
    const key = `${actor}: ${what}${code === 409 ? ' (conflict)' : ''}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

function allUsages(world: World): Promise<ReadonlyMap<string, Usage>> {
  return usages({ ...world.cluster.supervisor.pids, 'this benchmark': process.pid })
}

/** When the first PUT of each VM came in, by the claim's name and the simulator's clock. */
async function putTimes(world: World): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  for (const { method, name, atMs } of await world.journal()) {
    const claim = name.replace(/^aks-/, '')
    if (method === 'PUT' && !times.has(claim)) times.set(claim, atMs)
  }
  return times
}

function phasesOf(
  lifecycles: readonly NodeTimes[],
  timeline: Timeline,
  { puts, deletedMs }: { readonly puts: ReadonlyMap<string, number>; readonly deletedMs: ReadonlyMap<string, number> },
): ReadonlyMap<string, readonly number[]> {
  const seen = (stage: Stage) => (lifecycle: NodeTimes) => timeline.at(stage, lifecycle.uid)
  const put = ({ name }: NodeTimes) => puts.get(name)
  const phases: readonly (readonly [string, TimeOf, TimeOf])[] = [
    ['claim created -> VM PUT', ({ createdMs }) => createdMs, put],
    ['VM PUT -> launched', put, seen('claimLaunched')],
    ['launched -> registered', seen('claimLaunched'), seen('claimRegistered')],
    ['registered -> initialized', seen('claimRegistered'), seen('claimInitialized')],
    ['deleted -> gone', ({ name }) => deletedMs.get(name), seen('claimGone')],
  ]
  const lasted = (phase: string, start: number | undefined, end: number | undefined, { name }: NodeTimes) => {
    if (start === undefined || end === undefined) throw new Error(`NodeClaim ${name}: "${phase}" was not seen`)
    // Watches of this process may be reported a moment before the simulator's clock is read.
    return Math.max(end - start, 0)
  }
  return new Map(
    phases.map(([phase, from, to]) => [
      phase,
      lifecycles.map((lifecycle) => lasted(phase, from(lifecycle), to(lifecycle), lifecycle)),
    ]),
  )
}

/** How many events each lifecycle had. Visibility lags behind the end of a lifecycle. */
async function eventsOfLives(world: World, nodes: number): Promise<readonly number[]> {
  return world.until('every lifecycle is closed', async () => {
    const lifecycles = await world.lifecycles("ExecutionStatus = 'Completed'")
    return lifecycles.length >= nodes && lifecycles.map(({ events }) => events)
  })
}

function report({ nodes, baseline, up, down, phases, events, rss }: Measured): string {
  const rate = (ms: number) => `${(nodes / (ms / 1000)).toFixed(1)} nodes/s`
  const two = (values: readonly number[], text: (value: number) => string) =>
    `${text(percentile(values, 50))}, ${text(percentile(values, 99))}`
  const cpu = ({ cpu: used }: Half) => othersCpu(used, [])
  const cores = ({ cpu: used, tookMs }: Half) =>
    (used.reduce((sum, [, each]) => sum + each, 0) / (tookMs / 1000)).toFixed(1)
  const perNode = ({ cpu: used }: Half) =>
    `${((used.reduce((s, [, each]) => s + each, 0) / nodes) * 1000).toFixed(0)} ms`
  const rows = [
    ['**claims created to last initialized**', `**${seconds(up.tookMs)}**, ${rate(up.tookMs)}`],
    ['baseline: as many Nodes made by hand, to the last usable', seconds(baseline.upMs)],
    ['**deleted to last gone**', `**${seconds(down.tookMs)}**, ${rate(down.tookMs)}`],
    ['baseline: those Nodes deleted, to the last gone', seconds(baseline.downMs)],
    ...[...phases].map(([phase, times]) => [`${phase}: median, 99 %`, two(times, seconds)]),
    ['events of a lifecycle: median, 99 %', two(events, String)],
    ['CPU seconds, up', cpu(up)],
    ['CPU seconds, down', cpu(down)],
    ['CPU per node of all these, up; down', `${perNode(up)}; ${perNode(down)}`],
    ['cores in use, up; down', `${cores(up)}; ${cores(down)}`],
    [
      'cores in use by strangers, up; down',
      [up, down].map((h) => (h.strangersCpu / (h.tookMs / 1000)).toFixed(1)).join('; '),
    ],
    ['peak RSS', [...rss].map(([name, mib]) => `${name} ${mib.toFixed(0)}`).join(', ') + ' MiB'],
  ]
  const requests = `Requests that the API server answered, per node:\n\n${requestTable(nodes, up.requests, down.requests)}`
  return `### Lifecycles, ${circumstances()}\n\n${table(['', `${nodes} nodes`], rows)}\n\n${requests}\n`
}

/** Requests per node, the most frequent first, without those that come less than once for ten nodes. */
function requestTable(nodes: number, up: Half['requests'], down: Half['requests']): string {
  const perNode = (counts: Half['requests'], key: string) => (counts.get(key) ?? 0) / nodes
  const rows = [...new Set([...up.keys(), ...down.keys()])]
    .map((key) => ({ key, up: perNode(up, key), down: perNode(down, key) }))
    .filter((row) => row.up + row.down >= 0.1)
    .sort((a, b) => b.up + b.down - (a.up + a.down))
  return table(
    ['actor: request', 'up', 'down'],
    rows.map((row) => [row.key, row.up.toFixed(1), row.down.toFixed(1)]),
  )
}
