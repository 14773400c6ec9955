import { setTimeout as pause } from 'node:timers/promises'
import { standaloneClaim } from '../../test/applied-objects.ts'
import { forAll } from '../../test/arm/arm-calls.ts'
import { claimsPath, type Seen, World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'
import { type Usage, usages } from '../usage.ts'

/** What one worker with 5,000 open lifecycles may have. */
const goalMiB = 700
/** What is left of the start, and of the last tasks, is given back in this time. */
const settleMs = 20_000

/**
 * Open lifecycles in one worker: NodeClaims that are initialized already, without VMs and Nodes, are taken over by a Joiner that starts, as after an
 * emptied Temporal database. Garbage collection leaves claims alone while all of them lack their VMs.
 */
export async function lifecyclesOpen(count: number): Promise<void> {
  const world = await World.start({ temporalInMemory: true })
  try {
    await world.startWithNodeClass()
    const idle = await joinerUsage(world)
    await world.crash()
    const names = Array.from({ length: count }, (_, index) => `open-${index}`)
    await forAll(names, (name) => createInitialized(world, name))
    console.error(`${count} NodeClaims are there`)
    const startMs = Date.now()
    world.startJoiner()
    await world.until('every lifecycle rests', async () => (await resting(world)) >= count, 60_000 + count * 100)
    const tookMs = Date.now() - startMs
    await pause(settleMs)
    console.log(report({ count, tookMs, idle, after: await joinerUsage(world), events: await eventsOf(world) }))
  } finally {
    await world.stop()
  }
}

async function createInitialized(world: World, name: string): Promise<void> {
  const claim = standaloneClaim(name)
  const finalizers = ['karpenter.sh/termination']
  await world.operator.api<Seen>('POST', claimsPath, { ...claim, metadata: { name, finalizers } })
  const lastTransitionTime = new Date().toISOString()
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
    type,
    status: 'True',
    reason: type,
    message: '',
    lastTransitionTime,
  }))
  await world.operator.api('PATCH', `${claimsPath}/${name}/status`, {
    status: { providerID: `azure:///none/${name}`, nodeName: `aks-${name}`, conditions },
  })
}

/** Lives that wait for nothing but a poke. Asked of visibility, which lags, never leads. */
async function resting(world: World): Promise<number> {
  const query = "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Running' AND NodePhase = 'Ready'"
  return (await world.temporal.workflow.count(query)).count
}

async function eventsOf(world: World): Promise<number> {
  const [first] = await world.lifecycles("ExecutionStatus = 'Running'")
  return first === undefined ? 0 : (await world.temporal.workflow.getHandle(first.id).describe()).historyLength
}

async function joinerUsage({ cluster }: World): Promise<Usage> {
  const pid = cluster.supervisor.pids['joiner'] ?? 0
  const found = (await usages({ joiner: pid })).get('joiner')
  if (found === undefined) throw new Error('Joiner does not run')
  return found
}

interface Measured {
  readonly count: number
  readonly tookMs: number
  readonly idle: Usage
  readonly after: Usage
  readonly events: number
}

function report({ count, tookMs, idle, after, events }: Measured): string {
  const perLife = ((after.rssMiB - idle.rssMiB) * 1024) / count
  const rows = [
    ['start of Joiner to the last lifecycle at rest', seconds(tookMs)],
    ['CPU of Joiner meanwhile, all', `${after.cpuSeconds.toFixed(1)} s`],
    ['events of a lifecycle that was taken over', String(events)],
    ['RSS of Joiner without a lifecycle', `${idle.rssMiB.toFixed(0)} MiB`],
    [`**RSS of Joiner with ${count}** (goal for 5000: under ${goalMiB} MB)`, `**${after.rssMiB.toFixed(0)} MiB**`],
    ['... peak', `${after.peakRssMiB.toFixed(0)} MiB`],
    ['... for each lifecycle', `${perLife.toFixed(0)} KiB`],
  ]
  return `### Open lifecycles, ${circumstances()}\n\n${table(['', `${count} lifecycles`], rows)}\n`
}
