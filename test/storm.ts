import { setTimeout as pause } from 'node:timers/promises'
import type { Fault } from '../deploy/local/azure/faults.ts'
import { deployment, nodeClass, nodePool, type World } from './world.ts'

export interface StormOptions {
  readonly pods: number
  /** How often all pods come and go. */
  readonly cycles: number
  /** Time between two `kill -9` of Joiner. */
  readonly killEveryMs: number
  /** Time between two bursts of 429. */
  readonly throttleEveryMs: number
  readonly seed: number
  /** How long one way up or down may take. */
  readonly limitMs: number
}

export interface StormReport {
  readonly cycles: readonly Cycle[]
  readonly kills: number
  /** Hits of the simulator's faults, by kind. */
  readonly hits: Readonly<Record<string, number>>
  /** Requests that change a VM, by method. */
  readonly requests: Readonly<Record<string, number>>
  /** What garbage collection found that no lifecycle had cleaned up: Joiner's own alarms. */
  readonly alarms: readonly string[]
}

interface Cycle {
  readonly upMs: number
  readonly downMs: number
  /** When all pods ran. */
  readonly nodes: number
}

/** Sizes small enough that 300 pods need dozens of nodes. */
const requirements = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D', 'E', 'F'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4', '8'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand', 'spot'] },
]

/**
 * Capacity errors hit 30 % of creates, half at once and half after the VM was accepted; 5 % of the others are stored and their answer is
 * lost. The codes speak of one zone and capacity type, since those of wider scope would soon leave nothing to buy.
 */
function weather(seed: number): readonly Fault[] {
  const code = 'OverconstrainedZonalAllocationRequest'
  return [
    { kind: 'failSync', code, probability: 0.15, seed },
    { kind: 'failAsync', code, probability: 0.15 / 0.85, seed: seed + 1 },
    { kind: 'resetAfterCommit', probability: 0.05, seed: seed + 2 },
  ]
}

/**
 * Scales pods up and down while Azure fails and Joiner is killed again and again. Errors: throws when a cycle does not end in time, or when
 * VMs, Nodes and NodeClaims are not the same set while all pods run.
 */
export async function storm(world: World, options: StormOptions): Promise<StormReport> {
  await world.apply(nodePool({ requirements }), nodeClass(), deployment())
  world.startJoiner()
  await world.untilReady('general')
  for (const fault of weather(options.seed)) await world.fault(fault)
  const ended = new AbortController()
  const troubles = [
    every(options.throttleEveryMs, ended.signal, () =>
      world.fault({ kind: 'throttle', retryAfterSeconds: 1, forMs: 1000 }),
    ),
    every(options.killEveryMs, ended.signal, async () => {
      await world.crash()
      world.startJoiner()
    }),
  ]
  const cycles: Cycle[] = []
  try {
    for (let cycle = 0; cycle < options.cycles; cycle++) cycles.push(await upAndDown(world, options))
  } finally {
    ended.abort()
  }
  const [, kills = 0] = await Promise.all(troubles)
  return { cycles, kills, ...(await traces(world)) }
}

async function upAndDown(world: World, { pods, limitMs }: StormOptions): Promise<Cycle> {
  const startMs = Date.now()
  await world.scale('inflate', pods)
  await world.untilRunning(pods, limitMs)
  const upMs = Date.now() - startMs
  const nodes = await world.until('VMs, Nodes and NodeClaims are the same set', () => sameSet(world), limitMs)
  const downAtMs = Date.now()
  await world.scale('inflate', 0)
  await world.untilNothingLeft(limitMs)
  // The marks of this cycle would leave the next one little to buy.
  await world.operator.kubectl([
    '-n',
    'joiner',
    'delete',
    'configmap',
    'joiner-unavailable-offerings',
    '--ignore-not-found',
  ])
  return { upMs, downMs: Date.now() - downAtMs, nodes }
}

/** How many there are, once VMs, their NICs and disks, Nodes and NodeClaims name the same machines. */
async function sameSet(world: World): Promise<number | undefined> {
  const names = async (kind: 'nodes' | 'nodeclaims') => (await world.list(kind)).map(({ metadata }) => metadata.name)
  const [nodes, claims, azure] = await Promise.all([names('nodes'), names('nodeclaims'), world.azure()])
  const machines = azure.virtualMachines.map(({ name }) => name)
  const isSame =
    [...nodes].sort().join() === [...machines].sort().join() &&
    claims
      .map((name) => `aks-${name}`)
      .sort()
      .join() === [...machines].sort().join() &&
    azure.networkInterfaces.length === machines.length &&
    azure.disks.length === machines.length
  return isSame ? machines.length : undefined
}

async function traces(world: World): Promise<Pick<StormReport, 'hits' | 'requests' | 'alarms'>> {
  const requests: Record<string, number> = {}
  for (const { method } of await world.journal()) requests[method] = (requests[method] ?? 0) + 1
  const log = await world.cluster.supervisor.tail('joiner', 1_000_000)
  return {
    hits: await world.operator.simulator('GET', '/faults/hits'),
    requests,
    alarms: log.split('\n').filter((line) => line.includes('garbage collection found')),
  }
}

/** Does something again and again until told to stop. Returns how often. */
async function every(ms: number, signal: AbortSignal, act: () => Promise<unknown>): Promise<number> {
  for (let times = 0; ; times++) {
    await pause(ms, undefined, { signal }).catch(() => {})
    if (signal.aborted) return times
    await act()
  }
}
