import type { Json } from '../../activities/kubernetes/client/answers.ts'
import type { Entries } from '../../api/kept/document.ts'
import { parseWaiting } from '../../api/waiting-pods.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { type WaitingClass, waitingMapName } from '../../core/scheduling/explain/waiting-classes.ts'
import type { JournalEntry } from '../../deploy/local/azure/server/arm-deps.ts'
import { resumeUpdate } from '../../workflows/messages.ts'
import type { SimulatedVm } from '../clusters/servers.ts'
import { traceKeys } from '../command-writes.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import { dated } from '../scenarios/dated.ts'
import { isTrue, type Seen } from '../world.ts'
import { removeImpostors } from './foreign.ts'
import { workloadObjects } from './objects.ts'
import { answered, protect, protection, restoreClass, restorePool } from './operators.ts'
import { type Scene, wait } from './scene.ts'
import { contested, isBarred, owning } from './watch/lost-vms.ts'
import { cpusOf } from './watch/objects-seen.ts'
import type { Watch } from './watch/watch.ts'

const lookMs = 10_000
const waitingPath = `/api/v1/namespaces/joiner/configmaps/${waitingMapName}`
/** How long all may take to come to rest when troubles are over: an offering that was refused is not tried again for an hour at most. */
const restMs = 100 * 60_000
/** How long all may take to go: two runs of maintenance. */
const endMs = 30 * 60_000

/** Ends all troubles, and gives back what people took away. */
export async function clear(scene: Scene): Promise<void> {
  const { fast, world } = scene
  scene.api.clear()
  fast.gate.throttle(0)
  fast.cluster.watching.lagMs = 0
  fast.network.planned = undefined
  await world.operator.simulator('DELETE', '/faults')
  await scene.untilOver()
  while (fast.temporal.isAway) await wait(lookMs)
  // What a budget of 0 keeps on its node would keep the node for ever.
  for (const workload of scene.plan.workloads)
    if (workload.maxUnavailable === 0)
      await world.apply(...workloadObjects({ ...workload, maxUnavailable: 1 }).slice(1))
  for (const { name, budget } of scene.pools.values())
    if (budget === '0')
      await scene.edit(name, { budget: scene.plan.pools.find((pool) => pool.name === name)?.budget ?? '1' })
  await removeImpostors(scene)
  await settleOwners(scene)
  // A restore may have brought such an annotation back.
  for (const { metadata } of await world.list('pods'))
    if (metadata.annotations?.[protection] !== undefined) await protect(scene, metadata.name, null)
  // A class stays as long as NodeClaims use it.
  if (scene.isClassRemoved) await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await restoreClass(scene)
  for (const name of scene.removed) await restorePool(scene, name)
  for (const loop of ['provisioning', 'disruption'] as const)
    await until(scene, `${loop} is resumed`, restMs, async () => {
      await answered(world.loop(loop).executeUpdate(resumeUpdate, { args: [dated({ all: true })] }))
      return undefined
    })
}

/** Says whose VMs are that a restore of etcd left with two NodeClaims, as Joiner asks of people (docs/runbooks.md). */
async function settleOwners(scene: Scene): Promise<void> {
  const { world, foreign } = scene
  for (const vm of (await world.azure()).virtualMachines) {
    const object = foreign.vms.has(vm.name) ? undefined : contested(scene, vm)
    if (object === undefined) continue
    scene.count('VMs of two NodeClaims')
    const own = { ownerReferences: null }
    const adopted = { annotations: { [annotations.adoptedFrom]: vm.tags['joiner.sh_nodeclaim-uid'] } }
    const [path, metadata] =
      object['kind'] === 'Node' ? [`/api/v1/nodes/${vm.name}`, own] : [claimPath(object), adopted]
    await world.operator.api('PATCH', path, { metadata })
  }
}

const claimPath = (claim: Json) => `/apis/karpenter.sh/v1/nodeclaims/${metaOf(claim).name}`

/** Waits until each pod runs that can, and nothing is under way. */
export async function settle(scene: Scene, watch: Watch): Promise<void> {
  const why = await until(scene, 'all is at rest', restMs, () => unrest(scene)).catch((error: Error) => error.message)
  if (typeof why === 'string') watch.note('no rest', why)
}

/** Takes everything away: nothing may be left but what is foreign. Then looks at what is written down of the whole run. */
export async function end(scene: Scene, watch: Watch): Promise<void> {
  const { plan, world } = scene
  for (const { name } of plan.workloads) await world.operator.kubectl(['delete', `deployment/${name}`, '--wait=false'])
  for (const { name } of plan.pools)
    await world.operator.kubectl(['delete', 'nodepool', name, '--wait=false', '--ignore-not-found'])
  await world.operator.kubectl(['delete', 'aksnodeclass', 'default', '--wait=false', '--ignore-not-found'])
  await until(scene, 'all is gone', endMs, () => left(scene)).catch((error: Error) => watch.note('left', error.message))
  lookBack(scene, watch)
  lookAtJournal(scene, watch, await world.journal())
}

/**
 * Looks at what Azure was asked for, in the order of its answers. Of a VM that is there a PUT may come to 412, or to a fault, and to nothing else: 200
 * says that it changed the VM, and 409 that it would have.
 */
function lookAtJournal(scene: Scene, watch: Watch, journal: readonly JournalEntry[]): void {
  const there = new Set<string>()
  for (const { method, name, answer } of journal.toSorted((a, b) => (a.answer?.atMs ?? 0) - (b.answer?.atMs ?? 0))) {
    if (method === 'DELETE' && scene.foreign.vms.has(name)) watch.note('foreign VM is deleted', name)
    if (method === 'DELETE') there.delete(name)
    if (method !== 'PUT' || scene.struck.has(name)) continue
    if (there.has(name) && [200, 409].includes(answer?.status ?? 0)) watch.note('VM made twice', name)
    if (answer?.status === 201) there.add(name)
  }
}

/** Errors: it takes too long; what was missing last. `look`: what is missing; undefined: nothing. */
async function until(
  scene: Scene,
  what: string,
  ms: number,
  look: () => Promise<string | undefined>,
): Promise<undefined> {
  const deadline = scene.nowMs + ms
  for (;;) {
    const missing = await look().catch(String)
    if (missing === undefined) return
    if (scene.nowMs > deadline) throw new Error(`not within ${ms / 60_000} minutes: ${what}: ${missing}`)
    await wait(lookMs)
  }
}

/**
 * Whether somebody has stopped the VM of a node that had joined. It is not initialized until the VM runs: after a restore of etcd, or stopped before the
 * lifecycle looked, as Temporal was away. Without the gate NodeRepair it stays, and pods wait for it (docs/node-health.md).
 */
function isOff(scene: Scene, claim: Seen): boolean {
  const vm = scene.fast.azure.deps.machines.get(scene.vmNameOf(claim.metadata.name))
  return isTrue(claim, 'Registered') && vm !== undefined && vm.power !== 'running'
}

/**
 * Whether a VM has the tags that its class wants by now. Those of AKS machines stay as they were made, and where a restore of etcd takes an edit of the
 * class back the tags of that edit stay (docs/restored-clusters.md).
 */
function hasTags(scene: Scene, { tags }: Pick<SimulatedVm, 'tags'>): boolean {
  const isRestored = scene.etcd.restoredMs >= scene.classEditedMs
  return (
    scene.plan.makesMachines ||
    scene.isClassRemoved ||
    isRestored ||
    tags['revision'] === String(scene.nodeClass.revision)
  )
}

/** What is still under way; undefined: nothing. */
async function unrest(scene: Scene): Promise<string | undefined> {
  const { world } = scene
  const claims = await world.list('nodeclaims')
  const isGoing = ({ metadata }: Seen) => metadata.deletionTimestamp !== undefined
  const going = claims.find((claim) => isGoing(claim) && !isHeldUp(scene, claim))
  if (going !== undefined) return `NodeClaim ${going.metadata.name} goes`
  for (const type of ['Launched', 'Registered', 'Initialized']) {
    const coming = claims.find((claim) => !isGoing(claim) && !isTrue(claim, type) && !isOff(scene, claim))
    if (coming !== undefined) return `NodeClaim ${coming.metadata.name} is not ${type}`
  }
  const isOwned = owning(scene.fast.cluster.server.objects.of('nodeclaims'))
  const { virtualMachines } = await world.azure()
  const lost = virtualMachines.find(
    (vm) => !scene.foreign.vms.has(vm.name) && !isOwned(vm.tags) && !isBarred(scene, vm),
  )
  if (lost !== undefined) return `VM ${lost.name} has no NodeClaim`
  const untagged = virtualMachines.find((vm) => !scene.foreign.vms.has(vm.name) && !hasTags(scene, vm))
  if (untagged !== undefined) return `VM ${untagged.name} has the tags of a former AKSNodeClass`
  const nodes = await world.list('nodes')
  const marked = nodes.find((node) => !isGoing(node) && node.spec.taints?.some(({ key }) => key === traceKeys.taint))
  if (marked !== undefined) return `Node ${marked.metadata.name} is to be disrupted`
  const pods = await world.list('pods')
  const off = new Set(claims.filter((claim) => isOff(scene, claim)).map(({ metadata }) => metadata.name))
  const waiting = pods.filter((pod) => pod.status?.phase !== 'Running' && !isPlannedOn(off, classOf(scene, pod)))
  const unexcused = waiting.find((pod) => excuse(scene, pod) === undefined)
  if (unexcused !== undefined) return `pod ${unexcused.metadata.name} does not run, and could`
  const untrue = waiting.map((pod) => untruth(scene, pod)).find((text) => text !== undefined)
  if (untrue !== undefined) return untrue
  for (const _ of waiting) scene.count('pods that wait at rest')
  return undefined
}

/** In what Joiner's account of a pod that limits keep from all NodePools is wrong; undefined: in nothing. */
function untruth(scene: Scene, pod: Seen): string | undefined {
  if (scene.isClassRemoved) return undefined
  const { name } = pod.metadata
  const own = classOf(scene, pod)
  if (typeof own === 'string') return own
  if (own.state === 'unschedulable' && own.cause === 'limits') return undefined
  return `limits keep pod ${name} from all nodes, and it is said: ${own.state}, ${own.cause}: ${own.finding}`
}

/** Joiner's account of a pod that waits, or why there is none. */
function classOf(scene: Scene, { metadata: { name } }: Seen): WaitingClass | string {
  const { data = {} } = (scene.fast.cluster.server.objects.find(waitingPath) ?? {}) as { readonly data?: Entries }
  const { waiting, faults } = parseWaiting(data)
  if (faults.length > 0) return `${waitingMapName} is damaged: ${JSON.stringify(faults[0])}`
  const own = [...waiting.classes.values()].find(({ pods }) => pods.includes(`default/${name}`))
  return own ?? `nothing is said of pod ${name}, which waits`
}

/** Whether a pod waits for one of these NodeClaims, and it is said. */
function isPlannedOn(claims: ReadonlySet<string>, said: WaitingClass | string): boolean {
  return typeof said !== 'string' && said.state === 'planned' && said.plannedOn.some((name) => claims.has(name))
}

interface BudgetSeen {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly disruptionsAllowed?: number }
}

/** Whether a node's drain says that it waits for a PodDisruptionBudget, and that is so: of its pods some cannot run, and the others must not go. */
function isHeldUp({ fast }: Scene, { status }: Seen): boolean {
  const { message = '' } = status?.conditions?.find(({ type }) => type === 'Drained') ?? {}
  const named = new Set(message.match(/work-\d+(?![-\w])/g))
  const budgets = fast.cluster.server.objects.of('poddisruptionbudgets') as unknown as readonly BudgetSeen[]
  return budgets.some(({ metadata, status: own }) => own?.disruptionsAllowed === 0 && named.has(metadata.name))
}

/**
 * Why a pod cannot run; undefined: it could. When troubles are over only limits of NodePools keep pods from nodes, and a class or NodePools that
 * somebody deleted and that wait for a node that is held up.
 */
function excuse(scene: Scene, pod: Seen): string | undefined {
  if (scene.isClassRemoved) return 'the class is being deleted'
  const workload = scene.plan.workloads.find(({ name }) => name === pod.metadata.labels?.['app'])
  const own = [...scene.pools.values()].filter(
    ({ name }) => !scene.removed.has(name) && (workload?.pool === undefined || workload.pool === name),
  )
  const hasRoom = own.find(
    ({ name, nodes, cpuLimit = Number.POSITIVE_INFINITY, cpus }) =>
      nodes === undefined && cpusOf(scene, name) + Math.min(...cpus.map(Number)) <= cpuLimit,
  )
  return hasRoom === undefined ? `limits of ${own.map(({ name }) => name).join(', ')}` : undefined
}

/** When a token loses its force, epoch ms. */
function expiryOf(secret: Json): number {
  const { stringData = {} } = secret as { readonly stringData?: Readonly<Record<string, string>> }
  return Date.parse(stringData['expiration'] ?? '')
}

/** What is left; undefined: nothing but what is foreign. */
async function left({ world, fast, foreign, nowMs }: Scene): Promise<string | undefined> {
  const azure = await world.azure()
  const names = (list: readonly Seen[]) => list.map(({ metadata }) => metadata.name)
  const isOwn = (name: string) => ![...foreign.vms].some((vm) => name.startsWith(vm))
  const workflows: string[] = []
  const query = "ExecutionStatus = 'Running'"
  for await (const { workflowId, type } of world.temporal.workflow.list({ query }))
    if (!/Loop$|maintenance/.test(type)) workflows.push(workflowId)
  const all = {
    claims: names(await world.list('nodeclaims')),
    nodes: names(await world.list('nodes')).filter((name) => !foreign.nodes.has(name) && !foreign.held.has(name)),
    pools: names(await world.list('nodepools')),
    classes: names(await world.list('aksnodeclasses')),
    vms: azure.virtualMachines.map(({ name }) => name).filter(isOwn),
    nics: azure.networkInterfaces.filter(isOwn),
    disks: azure.disks.filter(isOwn),
    // What has expired is Kubernetes' to delete.
    tokens: fast.cluster.server.objects
      .of('secrets')
      .filter((secret) => !(expiryOf(secret) <= nowMs))
      .map((secret) => metaOf(secret).name)
      .filter((name) => name.startsWith('bootstrap-token-')),
    workflows,
  }
  const found = Object.entries(all).filter(([, list]) => list.length > 0)
  return found.length === 0 ? undefined : found.map(([what, list]) => `${what} ${list.join(', ')}`).join('; ')
}

/** Looks at logs, and at how workflows ended. */
function lookBack(scene: Scene, watch: Watch): void {
  for (const [name, lines] of scene.fast.logs)
    for (const line of lines)
      if (line.includes('"level":"fatal"')) watch.note('process ended by itself', `${name}: ${line.slice(0, 600)}`)
  for (const { identity, status, result } of scene.fast.temporal.runs) {
    if (identity.workflowType === 'nodeClaimLifecycle' && status === 'cancelled')
      watch.note('lifecycle cut short', `${identity.workflowId} is ${status}`)
    const ended = result as { readonly outcome?: string } | null | undefined
    const how = status === 'completed' ? ended?.outcome : undefined
    scene.count(`${identity.workflowType} ${how ?? status}`)
  }
}
