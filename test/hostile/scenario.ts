import { isDeepStrictEqual } from 'node:util'
import { nodeClass, nodePool } from '../applied-objects.ts'
import { ArmSession } from '../arm/arm-session.ts'
import { maintained } from '../observed/maintenance-passes.ts'
import type { World } from '../world.ts'
import { type Answer, send } from './apply.ts'
import { companionOf, homonymOf } from './companions.ts'
import type { Corpus } from './corpus.ts'
import type { HostileMachine, HostileObject } from './hostile-object.ts'
import { innocentCount, innocents, isInnocent } from './innocents.ts'
import { type NodeIdentityReport, nodeIdentityScenario } from './node-identity.ts'
import { hostileNamespace } from './pods.ts'

/** How long innocents may wait to run before the run goes on without them. Far beyond what is promised, so that it is seen by how much. */
const patienceMs = 240_000
/** How long Joiner has to do with hostile NodeClaims what it will. */
const settleMs = 180_000

/** What was sent, and what became of it. */
export interface Sent {
  readonly object: HostileObject
  readonly isCompanion: boolean
  readonly answer: Answer
}

export interface HostileReport {
  readonly sent: readonly Sent[]
  readonly machines: number
  /** From the first innocent Deployment that was sent to the last of their pods that runs; undefined: they did not all run. */
  readonly innocentsMs: number | undefined
  /** Innocents that ran in the end, after everything hostile was deleted again. */
  readonly innocentsLeft: number
  /** Processes of Joiner and of the servers that are not those of the beginning. */
  readonly restarted: readonly string[]
  /** Schedulers' threads that ended. */
  readonly threadsEnded: number
  /** Requests to change a VM that is not Joiner's, such as `DELETE aks-x`. */
  readonly writes: readonly string[]
  /** VMs, NICs and disks that are not Joiner's and are not as they were. */
  readonly changed: readonly string[]
  /** Places in custom data, as `VM path`, which no node may be given. */
  readonly violations: readonly string[]
  /** VMs that Joiner asked for. */
  readonly launched: number
  /** Hostile NodeClaims that are still there though they were deleted, with the reason that they give. */
  readonly stayed: readonly string[]
  readonly identity: NodeIdentityReport
}

export interface ScenarioOptions {
  readonly corpus: Corpus
  /** Whether Joiner runs as the chart's four Deployments instead of as one process. */
  readonly isApart?: boolean
  readonly say: (text: string) => void
}

/**
 * Sends everything hostile to a cluster, then ordinary workloads; then deletes what is hostile, has one node in the hands of somebody else, and looks at
 * what is left. Errors: throws when the cluster does not answer; what Joiner does not keep to is in the report.
 */
export async function hostileScenario(
  world: World,
  { corpus, isApart = false, say }: ScenarioOptions,
): Promise<HostileReport> {
  const foreign = await Foreign.plant(world, corpus.machines)
  say(`planted ${corpus.machines.length} VMs`)
  if (isApart) world.startApart()
  else world.startJoiner()
  await world.apply(nodeClass(), nodePool(), {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: hostileNamespace },
  })
  await world.untilReady('general')
  await untilPodsMayCome(world)
  const pids = world.cluster.supervisor.pids
  const sent = await sendAll(world, corpus)
  say(`sent ${sent.length} hostile objects; the API server took ${sent.filter(isTaken).length}`)
  const innocentsMs = await untilInnocentsRun(world)
  say(innocentsMs === undefined ? 'the innocents did not all run' : `the innocents run after ${innocentsMs} ms`)
  const stayed = await deleteHostile(world, sent)
  say('deleted what is hostile')
  const identity = await nodeIdentityScenario(world, { isReal: true })
  say(
    `of a node's identity the API server took ${identity.taken.length} requests and refused ${identity.refused.length}`,
  )
  const after = world.cluster.supervisor.pids
  return {
    sent,
    machines: corpus.machines.length,
    innocentsMs,
    innocentsLeft: await runningInnocents(world),
    restarted: Object.keys(pids).filter((name) => pids[name] !== after[name]),
    threadsEnded: await endedThreads(world),
    ...(await foreign.compare()),
    violations: (await world.violations()).map(({ vm, path }) => `${vm} ${path}`),
    launched: new Set((await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)).size,
    stayed,
    identity,
  }
}

export const isTaken = ({ answer }: Sent) => answer.kind === 'taken'

/** The API server refuses pods of a namespace until its controller manager has made a ServiceAccount there. */
function untilPodsMayCome(world: World): Promise<unknown> {
  const path = `/api/v1/namespaces/${hostileNamespace}/serviceaccounts/default`
  return world.until('pods may be made', () => world.operator.api('GET', path))
}

async function sendAll(world: World, { machines, objects }: Corpus): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  for (const object of [...machines.map(homonymOf), ...objects]) {
    const answer = await send(world, object)
    sent.push({ object, isCompanion: false, answer })
    const companion = answer.kind === 'taken' ? companionOf(object) : undefined
    if (companion !== undefined)
      sent.push({ object: companion, isCompanion: true, answer: await send(world, companion) })
  }
  return sent
}

async function untilInnocentsRun(world: World): Promise<number | undefined> {
  const startMs = Date.now()
  await world.apply(...innocents())
  const run = async () => (await runningInnocents(world)) === innocentCount
  return world.until('the innocents run', run, patienceMs).then(
    () => Date.now() - startMs,
    () => undefined,
  )
}

async function runningInnocents(world: World): Promise<number> {
  const pods = await world.list('pods')
  return pods.filter(({ metadata, status }) => isInnocent(metadata.labels?.['app']) && status?.phase === 'Running')
    .length
}

/** Deletes pods, NodePools, NodeClaims and AKSNodeClasses. Returns the NodeClaims that stay, with the reason that they give. */
async function deleteHostile(world: World, sent: readonly Sent[]): Promise<readonly string[]> {
  const own = (wanted: HostileObject['kind']) =>
    sent.flatMap(({ object: { kind, body }, answer }) =>
      kind === wanted && answer.kind === 'taken' ? [(body['metadata'] as { readonly name: string }).name] : [],
    )
  const remove = (resource: string, ...names: readonly string[]) =>
    names.length === 0
      ? undefined
      : world.operator.kubectl(['delete', resource, ...names, '--wait=false', '--ignore-not-found'])
  await world.operator.kubectl(['delete', 'namespace', hostileNamespace, '--wait=false'])
  await remove('nodepools', ...own('NodePool'))
  await remove('nodeclaims', ...own('NodeClaim'))
  const names = new Set(own('NodeClaim'))
  const left = async () => (await world.list('nodeclaims')).filter(({ metadata }) => names.has(metadata.name))
  const reasonOf = (claim: Awaited<ReturnType<typeof left>>[number]) =>
    claim.status?.conditions?.find(({ type }) => type === 'InstanceTerminating')?.reason ?? ''
  // A claim whose VM is not proven to be its own keeps its finalizer until a person ends it.
  const isSettled = async () => (await left()).every((claim) => reasonOf(claim) === 'InstanceNotOwned')
  await world.until('hostile NodeClaims are gone', isSettled, settleMs).catch(() => undefined)
  await world.maintain()
  await remove('aksnodeclasses', ...own('AKSNodeClass'))
  await maintained(world)
  return (await left()).map((claim) => `${claim.metadata.name.slice(0, 70)}: ${reasonOf(claim)}`)
}

async function endedThreads({ cluster: { supervisor } }: World): Promise<number> {
  const names = Object.keys(supervisor.pids).filter((name) => name.startsWith('joiner'))
  const logs = await Promise.all(names.map((name) => supervisor.tail(name, 1_000_000)))
  return logs.join('\n').split("the scheduler's thread ended").length - 1
}

interface ForeignState {
  readonly virtualMachines: readonly { readonly name: string }[]
  readonly networkInterfaces: readonly string[]
  readonly disks: readonly string[]
}

/** Resources in Azure that are not Joiner's, as they were when they were made. */
class Foreign {
  readonly #world: World
  readonly #names: ReadonlySet<string>
  readonly #before: ForeignState
  readonly #journalled: number

  private constructor(world: World, names: ReadonlySet<string>, before: ForeignState, journalled: number) {
    this.#world = world
    this.#names = names
    this.#before = before
    this.#journalled = journalled
  }

  static async plant(world: World, machines: readonly HostileMachine[]): Promise<Foreign> {
    const arm = await ArmSession.open(world.cluster)
    try {
      for (const { name, tags } of machines) await arm.plantVm(name, tags)
    } finally {
      await arm.close()
    }
    const isMade = async () => {
      const state = await stateOf(world)
      return state.virtualMachines.every((vm) => (vm as { readonly state?: string }).state === 'Succeeded') && state
    }
    const before = await world.until('the VMs are made', isMade)
    return new Foreign(world, new Set(machines.map(({ name }) => name)), before, (await world.journal()).length)
  }

  async compare(): Promise<{ readonly writes: readonly string[]; readonly changed: readonly string[] }> {
    const journal = (await this.#world.journal()).slice(this.#journalled)
    const writes = journal.filter(({ name }) => this.#names.has(name)).map(({ method, name }) => `${method} ${name}`)
    const after = await stateOf(this.#world)
    const machines = this.#before.virtualMachines.filter(
      (vm) =>
        !isDeepStrictEqual(
          vm,
          after.virtualMachines.find(({ name }) => name === vm.name),
        ),
    )
    const parts = (['networkInterfaces', 'disks'] as const).flatMap((type) =>
      this.#before[type].filter((name) => !after[type].includes(name)).map((name) => `${type} ${name}`),
    )
    return { writes, changed: [...machines.map(({ name }) => `virtualMachines ${name}`), ...parts] }
  }
}

function stateOf(world: World): Promise<ForeignState> {
  return world.operator.simulator('GET', '/state')
}
