import { setTimeout as pause } from 'node:timers/promises'
import type { JournalEntry } from '../../deploy/local/azure/server/arm-deps.ts'
import { pauseSignal, resumeSignal } from '../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { FaultyWorld } from '../faulty-world.ts'
import { dated } from '../scenarios/dated.ts'
import type { World } from '../world.ts'
import { describe, type Planned, scheduleOf, type Trouble, workloads } from './schedule.ts'
import type { Stage } from './stage.ts'

export interface SoakOptions {
  readonly stage: Stage
  /** How long everything may take to go, when all troubles are over and nothing is asked for any more. */
  readonly endMs: number
  readonly say: (text: string) => void
}

export interface SoakReport {
  /** How often each kind of trouble came. */
  readonly troubles: Readonly<Record<string, number>>
  /** Hits of the simulator's faults, by kind. */
  readonly hits: Readonly<Record<string, number>>
  /** Nodes that were there at once, at most. */
  readonly mostNodes: number
  /** Requests that change a VM, by method. */
  readonly requests: Readonly<Record<string, number>>
  readonly duplicates: readonly string[]
  /** VMs, NICs, disks and tokens that no lifecycle had cleaned up: Joiner's own alarms. */
  readonly alarms: readonly string[]
  readonly settledMs: number
}

/** Sizes small enough that a few dozen pods need many nodes. */
const requirements = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D', 'E', 'F'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4', '8'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand', 'spot'] },
]

/** A NodePool that frees idle nodes, and faults of all kinds at times that follow from the seed. */
export function soakStage(seed: number, minutes: number): Stage {
  return {
    objects: [
      nodeClass(),
      nodePool({ requirements, consolidateAfter: '5s' }),
      ...workloads.map((name) => deployment({ name, apart: name === 'spread' })),
    ],
    pools: ['general'],
    workloads,
    troubles: scheduleOf(seed, minutes * 60_000),
    keepsNodes: false,
  }
}

/** Faults at their times; then everything is scaled to zero. Errors: throws when something is left after `endMs`. */
export async function soak(faulty: FaultyWorld, { stage, endMs, say }: SoakOptions): Promise<SoakReport> {
  const { world } = faulty
  const { objects, pools, workloads: names, troubles, keepsNodes } = stage
  faulty.startJoiner()
  await world.apply(...objects)
  for (const pool of pools) await world.untilReady(pool)
  const weather = new Weather(faulty, say)
  let mostNodes = 0
  const ended = new AbortController()
  const watching = watch(world, ended.signal, (nodes) => {
    mostNodes = Math.max(mostNodes, nodes)
  })
  try {
    await weather.play(troubles)
  } finally {
    ended.abort()
    await watching
  }
  say('all troubles are over: everything is scaled to zero')
  const endedAtMs = Date.now()
  await weather.clear()
  for (const name of names) await world.scale(name, 0)
  if (keepsNodes) for (const pool of pools) await world.operator.kubectl(['delete', 'nodepool', pool, '--wait=false'])
  await world.untilNothingLeft(endMs)
  return {
    troubles: counted(troubles.map(({ trouble }) => nameOf(trouble))),
    hits: await world.operator.simulator('GET', '/faults/hits'),
    mostNodes,
    requests: counted((await world.journal()).map(({ method }) => method)),
    duplicates: duplicatesIn(await world.journal()),
    alarms: await alarmsOf(world),
    settledMs: Date.now() - endedAtMs,
  }
}

/** Brings troubles about. What cannot be done because there is nothing to do it to, or nobody answers, is left out. */
class Weather {
  readonly #faulty: FaultyWorld
  readonly #say: (text: string) => void
  readonly #lasting = new Set<Promise<void>>()
  #revision = 1

  constructor(faulty: FaultyWorld, say: (text: string) => void) {
    this.#faulty = faulty
    this.#say = say
  }

  async play(troubles: readonly Planned[]): Promise<void> {
    const startMs = Date.now()
    for (const { atMs, trouble } of troubles) {
      await pause(Math.max(startMs + atMs - Date.now(), 0))
      this.#say(describe(trouble))
      await this.#act(trouble).catch((error: unknown) => this.#say(`  left out: ${String(error).slice(0, 200)}`))
    }
    await Promise.all(this.#lasting)
  }

  async clear(): Promise<void> {
    const { world } = this.#faulty
    await world.operator.simulator('DELETE', '/faults')
    await world.until('the API server answers', async () => (await world.list('nodes')) !== undefined)
    for (const loop of ['provisioning', 'disruption'] as const)
      await world.until(`${loop} is resumed`, () =>
        world
          .loop(loop)
          .signal(resumeSignal, dated())
          .then(() => true),
      )
  }

  async #act(trouble: Trouble): Promise<void> {
    const { world, proxy } = this.#faulty
    switch (trouble.kind) {
      case 'kill':
        return this.#kill(trouble.process)
      case 'freeze':
        return this.#freeze(trouble.forMs)
      case 'azure':
        return world.fault(trouble.fault)
      case 'throttleApi':
        return proxy.throttle(trouble.forMs)
      case 'scale':
        return world.scale(trouble.workload, trouble.replicas)
      case 'deleteObject': {
        const one = picked(await world.list(trouble.of), trouble.draw)
        if (one !== undefined)
          await world.operator.kubectl(['delete', trouble.of, one.metadata.name, '--wait=false', '--ignore-not-found'])
        return
      }
      case 'vm':
        return this.#toVm(trouble.action, trouble.draw)
      case 'pause':
        await world.loop(trouble.loop).signal(pauseSignal, { reason: 'soak' })
        return this.#later(trouble.forMs, () => world.loop(trouble.loop).signal(resumeSignal, dated()))
      case 'drift':
        this.#revision += 1
        await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${trouble.pool}`, {
          spec: { template: { metadata: { labels: { revision: String(this.#revision) } } } },
        })
    }
  }

  async #kill(process: string): Promise<void> {
    if (process !== 'joiner') {
      await this.#faulty.world.restartServer(process)
      return
    }
    await this.#faulty.world.crash()
    this.#faulty.startJoiner()
  }

  /** One that was killed meanwhile is not frozen any more. */
  async #freeze(ms: number): Promise<void> {
    const { supervisor } = this.#faulty.world.cluster
    await supervisor.kill('joiner', 'SIGSTOP')
    this.#later(ms, () => supervisor.kill('joiner', 'SIGCONT'))
  }

  async #toVm(action: 'delete' | 'evict', draw: number): Promise<void> {
    const { virtualMachines } = await this.#faulty.world.azure()
    const able = virtualMachines.filter(({ priority }) => action !== 'evict' || priority === 'Spot')
    const one = picked(able, draw)
    if (one !== undefined) await this.#faulty.world.operator.simulator('POST', `/vms/${one.name}/${action}`)
  }

  #later(ms: number, act: () => Promise<void>): void {
    const done: Promise<void> = pause(ms)
      .then(act)
      .catch((error: unknown) => this.#say(`  left out: ${String(error).slice(0, 200)}`))
      .finally(() => this.#lasting.delete(done))
    this.#lasting.add(done)
  }
}

function picked<T>(list: readonly T[], draw: number): T | undefined {
  return list[Math.floor(draw * list.length)]
}

async function watch(world: World, signal: AbortSignal, reported: (nodes: number) => void): Promise<void> {
  while (!signal.aborted) {
    const nodes = await world.list('nodes').catch(() => [])
    reported(nodes.length)
    await pause(1000, undefined, { signal }).catch(() => undefined)
  }
}

/** A create of a VM that is there: what a launch made is found again and not made twice. */
function duplicatesIn(journal: readonly JournalEntry[]): readonly string[] {
  return journal.filter(({ method, answer }) => method === 'PUT' && answer?.status === 200).map(({ name }) => name)
}

/** NodeClaims whose VM was deleted behind Joiner's back are for garbage collection to find; what costs money is not. */
async function alarmsOf({ cluster }: World): Promise<readonly string[]> {
  const lines = (await cluster.supervisor.tail('joiner', 1_000_000)).split('\n')
  const alarms = lines.filter((line) => line.includes('garbage collection found'))
  return alarms.filter((line) => /"(virtualMachines|networkInterfaces|disks|bootstrapTokens)":\["/.test(line))
}

function nameOf(trouble: Trouble): string {
  if (trouble.kind === 'kill') return `kill ${trouble.process}`
  if (trouble.kind === 'azure') return `Azure: ${trouble.fault.kind}`
  if (trouble.kind === 'vm') return `${trouble.action} a VM`
  if (trouble.kind === 'deleteObject') return `delete one of ${trouble.of}`
  return trouble.kind
}

function counted(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
