import { standaloneClaim } from '../applied-objects.ts'
import { claimsPath, type Seen, type World } from '../world.ts'

/** Requests to Azure Resource Manager by the name under which the simulator counts them. */
type Calls = Readonly<Record<string, number>>

/** What one phase of all nodes' lifecycles, launch or deletion, asked of Azure. */
interface PhaseCalls {
  readonly elapsedMs: number
  /** The most that any one VM had of each operation. */
  readonly mostOfOneVm: Calls
  /** Lists of VMs, page by page. */
  readonly vmListPages: number
  /** What belongs to no single VM, besides lists of VMs. */
  readonly shared: Calls
}

/** ARM's load by so many nodes, from the first NodeClaim to the last VM that is gone. */
export interface NodeCalls {
  readonly nodes: number
  /** VMs that there were when all NodeClaims had theirs, and when all NodeClaims were gone. */
  readonly vms: { readonly launched: number; readonly left: number }
  readonly launch: PhaseCalls
  readonly deletion: PhaseCalls
}

const listOfVms = 'LIST virtualMachines'
const writesAtOnce = 20

export interface MeasureOptions {
  readonly until: 'Launched' | 'Registered' | 'Initialized'
  readonly limitMs: number
  /** Called between launch and deletion. */
  readonly onLaunched?: () => Promise<void>
}

/** Launches nodes by NodeClaims of their own, waits until each has reached a condition, and deletes them again. */
export async function measureNodeCalls(
  world: World,
  nodes: number,
  { until, limitMs, onLaunched }: MeasureOptions,
): Promise<NodeCalls> {
  const names = Array.from({ length: nodes }, (_, index) => `calls-${index}`)
  const launch = await measurePhase(world, async () => {
    await forAll(names, (name) => world.operator.api('POST', claimsPath, standaloneClaim(name)))
    await world.until(`${nodes} NodeClaims are ${until}`, () => allAre(world, until, nodes), limitMs)
    await world.until('every VM is created', async () =>
      (await world.azure()).virtualMachines.every(({ state }) => state === 'Succeeded'),
    )
  })
  const launched = await countVms(world)
  await onLaunched?.()
  const deletion = await measurePhase(world, async () => {
    await forAll(names, (name) => world.operator.api('DELETE', `${claimsPath}/${name}`))
    await world.until('all NodeClaims are gone', async () => (await world.list('nodeclaims')).length === 0, limitMs)
  })
  const vms = { launched, left: await countVms(world) }
  if (vms.launched !== nodes || vms.left > 0)
    throw new Error(`${nodes} NodeClaims had ${vms.launched} VMs, and left ${vms.left}`)
  return { nodes, vms, launch, deletion }
}

const countVms = async (world: World) => (await world.azure()).virtualMachines.length

async function measurePhase(world: World, phase: () => Promise<void>): Promise<PhaseCalls> {
  await world.operator.simulator('DELETE', '/calls')
  const startedAt = Date.now()
  await phase()
  const elapsedMs = Date.now() - startedAt
  const byVm = Object.values(await world.operator.simulator<Readonly<Record<string, Calls>>>('GET', '/calls/vms'))
  const all = await world.operator.simulator<Calls>('GET', '/calls')
  const ofVms = new Set(byVm.flatMap(Object.keys))
  const most = (operation: string) => Math.max(...byVm.map((calls) => calls[operation] ?? 0))
  return {
    elapsedMs,
    mostOfOneVm: Object.fromEntries([...ofVms].map((operation) => [operation, most(operation)])),
    vmListPages: all[listOfVms] ?? 0,
    shared: Object.fromEntries(
      Object.entries(all).filter(([operation]) => operation !== listOfVms && !ofVms.has(operation)),
    ),
  }
}

/** Errors: how many are not so, and what the first of them says. */
async function allAre(world: World, condition: string, nodes: number): Promise<true> {
  const claims = await world.list('nodeclaims')
  const conditionOf = ({ status }: Seen) => status?.conditions?.find(({ type }) => type === condition)
  const others = claims.filter((claim) => conditionOf(claim)?.status !== 'True')
  const [first] = others
  if (claims.length === nodes && first === undefined) return true
  const { reason, message } = (first && conditionOf(first)) ?? {}
  throw new Error(
    `${claims.length} NodeClaims of ${nodes}, ${others.length} of them not; the first is ${first?.metadata.name}: ${reason} ${message}`,
  )
}

/** A few at a time: the API server's own limits are not what is measured. */
export async function forAll(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  const left = [...names]
  const worker = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name)
  }
  await Promise.all(Array.from({ length: writesAtOnce }, worker))
}
