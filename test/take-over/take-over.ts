// Takes a cluster of AKS machines over from node auto-provisioning, and counts what goes wrong on the way.
import { expect } from 'vitest'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { isTrue, type World } from '../world.ts'
import { exampleOf, leaveMachine, machinesOf, managing, napPool, setNap } from './nap-cluster.ts'

interface Budget {
  readonly status?: { readonly currentHealthy?: number; readonly desiredHealthy?: number }
}

/** What was seen each second while the machines were replaced. */
export interface TakeOverFigures {
  readonly machines: number
  readonly samples: number
  /** Samples in which the PodDisruptionBudget had fewer healthy pods than it needs. */
  readonly belowMinimum: number
  /** Fewest healthy pods beyond the minimum. */
  readonly leastSpare: number
  /** Longest time between two samples. */
  readonly longestGapMs: number
  /** Most NodeClaims that were being deleted at once. */
  readonly mostGoing: number
  /** Those of them that the NodePool's budget counts: once a node is drained and its VM is being deleted, it counts it no more. */
  readonly mostCounted: number
  readonly adoptedSeconds: number
  readonly replacedSeconds: number
}

const adopted = 'joiner.sh/adopted-machine'

/** A cluster as node auto-provisioning leaves it: machines with a pod each, which a PodDisruptionBudget of a tenth guards. Joiner does not run. */
export async function napCluster(world: World, machines: number): Promise<{ readonly names: readonly string[] }> {
  const arm = await world.arm()
  try {
    world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '3s' })
    const pool = nodePool({ consolidateAfter: 'Never', budget: '10%' })
    await world.apply(pool, nodeClass(), deployment({ apart: true }))
    await world.untilReady('general')
    const example = await exampleOf(world)
    await setNap(world, 'Auto')
    await arm.putAks(napPool, { properties: { mode: 'Machines' } })
    const names = Array.from({ length: machines }, (_, index) => `general-m${String(index).padStart(4, '0')}`)
    for (const name of names) await leaveMachine(world, arm, { name, example })
    await leaveMachine(world, arm, { name: foreign, example, cluster: 'other' })
    // No pod goes to the machine of the other cluster.
    const vm = (await machinesOf(world)).find(({ name }) => name === foreign)?.vm ?? ''
    await world.operator.kubectl(['cordon', vm])
    await world.scale('inflate', machines)
    await world.untilRunning(machines)
    await world.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'inflate', namespace: 'default' },
      spec: { maxUnavailable: '10%', selector: { matchLabels: { app: 'inflate' } } },
    })
    return { names }
  } finally {
    await arm.close()
  }
}

/** The NodeClaim of this name has a machine with the tags of another cluster. */
const foreign = 'general-other'

/** While node auto-provisioning is on, Joiner says why it leaves the machines alone, and touches none. */
export async function untilRefused(world: World): Promise<void> {
  world.startJoiner('joiner', managing)
  await world.until('the AKSNodeClass says why machines are left alone', async () => {
    const [found] = await world.list('aksnodeclasses')
    return found?.status?.conditions?.some(
      ({ type, status, reason }) =>
        type === 'AKSMachinesManaged' && status === 'False' && reason === 'NodeAutoProvisioningOn',
    )
  })
  const claims = await world.list('nodeclaims')
  expect(claims.filter(({ metadata }) => metadata.annotations?.[adopted] !== undefined)).toEqual([])
  expect(claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  expect(await world.lifecycles("ExecutionStatus = 'Running'")).toEqual([])
}

/** Turns node auto-provisioning off and waits until Joiner has replaced all its machines. `halfway` happens once a third of them are gone. */
export async function takeOver(
  world: World,
  { names }: { readonly names: readonly string[] },
  halfway: () => Promise<void> = async () => {},
): Promise<TakeOverFigures> {
  const startedMs = Date.now()
  const stop = new AbortController()
  const sampling = sampled(world, stop.signal)
  try {
    await setNap(world, 'Manual')
    await world.maintain()
    const adoptedMs = await world.until('all machines are adopted', async () => {
      const claims = await world.list('nodeclaims')
      const own = claims.filter(({ metadata }) => metadata.annotations?.[adopted] === metadata.uid)
      const begun = claims.some(({ metadata }) => metadata.deletionTimestamp !== undefined)
      return (own.length === names.length || begun) && Date.now()
    })
    const timeoutMs = names.length * 30_000 + 180_000
    const left = async () => (await machinesOf(world)).filter(({ name }) => name !== foreign).length
    await world.until('a third is gone', async () => (await left()) <= (names.length * 2) / 3, timeoutMs)
    await halfway()
    const isOver = async () => (await left()) === 0 && (await isSettled(world, names.length))
    await world.until('all machines are replaced', isOver, timeoutMs)
    stop.abort()
    const seconds = (ms: number) => Math.round((ms - startedMs) / 1000)
    return {
      machines: names.length,
      adoptedSeconds: seconds(adoptedMs),
      replacedSeconds: seconds(Date.now()),
      ...figuresOf(await sampling),
    }
  } finally {
    stop.abort()
    await sampling
  }
}

interface Sample {
  readonly atMs: number
  /** Healthy pods beyond what the PodDisruptionBudget needs. */
  readonly spare: number
  readonly going: number
  readonly counted: number
}

/** Looks at the PodDisruptionBudget and the NodeClaims each second, whatever else happens, until it is stopped. A slow answer delays no other sample. */
async function sampled(world: World, stop: AbortSignal): Promise<readonly Sample[]> {
  const samples: Promise<Sample>[] = []
  for (let nextMs = Date.now(); !stop.aborted; nextMs += 1000) {
    const sample = sampleOf(world)
    // Errors are thrown at the end.
    sample.catch(() => {})
    samples.push(sample)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextMs + 1000 - Date.now())))
  }
  return Promise.all(samples)
}

async function sampleOf(world: World): Promise<Sample> {
  const going = async () =>
    (await world.list('nodeclaims')).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
  const atMs = Date.now()
  const [spare, claims] = await Promise.all([spareOf(world), going()])
  const counted = claims.filter((claim) => !isTrue(claim, 'InstanceTerminating'))
  return { atMs, spare, going: claims.length, counted: counted.length }
}

function figuresOf(samples: readonly Sample[]) {
  const gaps = samples.slice(1).map(({ atMs }, index) => atMs - (samples[index]?.atMs ?? atMs))
  return {
    samples: samples.length,
    belowMinimum: samples.filter(({ spare }) => spare < 0).length,
    leastSpare: Math.min(...samples.map(({ spare }) => spare)),
    longestGapMs: Math.max(...gaps),
    mostGoing: Math.max(...samples.map(({ going }) => going)),
    mostCounted: Math.max(...samples.map(({ counted }) => counted)),
  }
}

/** Healthy pods beyond what the PodDisruptionBudget needs. Errors: it needs none, so that the sample proves nothing. */
async function spareOf(world: World): Promise<number> {
  const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets/inflate'
  const { status } = await world.operator.api<Budget>('GET', path)
  if (!status?.desiredHealthy) throw new Error('the PodDisruptionBudget needs no healthy pod')
  return (status.currentHealthy ?? 0) - status.desiredHealthy
}

/** All pods run on nodes of Joiner's own, and nothing else is left. */
async function isSettled(world: World, pods: number): Promise<boolean> {
  const own = (await world.list('nodeclaims')).filter(({ metadata }) => metadata.name !== foreign)
  const isReady = own.length === pods && own.every((claim) => isTrue(claim, 'Initialized'))
  return isReady && (await world.running()) === pods && (await world.azure()).virtualMachines.length === pods + 1
}

/** Nothing is left of the machines, and the one of the other cluster is as it was. */
export async function expectOnlyForeignLeft(world: World, names: readonly string[]): Promise<void> {
  const machines = await machinesOf(world)
  expect(machines).toEqual([expect.objectContaining({ name: foreign, isDeleting: false })])
  const { virtualMachines, networkInterfaces, disks } = await world.azure()
  const isOfMachine = (name: string) => name.startsWith(`aks-${napPool}-`)
  expect(virtualMachines.map(({ name }) => name).filter(isOfMachine)).toEqual([machines[0]?.vm])
  expect(networkInterfaces.filter(isOfMachine)).toHaveLength(1)
  expect(disks.filter(isOfMachine)).toHaveLength(1)
  const claims = await world.list('nodeclaims')
  expect(claims.filter(({ metadata }) => names.includes(metadata.name))).toEqual([])
  const left = claims.find(({ metadata }) => metadata.name === foreign)
  expect(left?.metadata.annotations?.[adopted]).toBeUndefined()
  expect(left?.metadata.deletionTimestamp).toBeUndefined()
  const nodes = await world.list('nodes')
  expect(nodes.map(({ metadata }) => metadata.name).filter(isOfMachine)).toEqual([machines[0]?.vm])
}
