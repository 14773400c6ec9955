import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'

export interface TemporalActionsOptions {
  /** How long the cluster at rest is watched. */
  readonly idleMinutes: number
  /** How many nodes live, and how many of them are replaced. */
  readonly lives: number
}

/** Actions by type, as the server's metric `action` counts them. */
type Actions = ReadonlyMap<string, number>

/** As on Azure: from the request to the Node, and from the deletion to the end. */
const timing = { createMs: 30_000, bootMs: 70_000, deleteMs: 20_000 }
/** USD for a million Actions, the first price of Temporal Cloud's Essentials plan (2026). */
const pricePerMillion = 50
const livesADay = 3
const daysAMonth = 30
const sizes = [20, 100, 1000, 5000]
const limitMs = 15 * 60_000

/**
 * What a node's life, a replacement and an idle day cost in Actions of Temporal Cloud, by the server's own count; and by a mixed run whether the sum of
 * these is what the server counts there.
 */
export async function temporalActions({ idleMinutes, lives }: TemporalActionsOptions): Promise<void> {
  const [port] = await freePorts(1)
  const world = await World.start({ temporalArgs: ['--metrics-port', String(port)] })
  const read = () => actionsOf(`http://127.0.0.1:${port}/metrics`)
  try {
    const pool = nodePool({ consolidateAfter: 'Never' })
    await world.startWithPool(pool, nodeClass(), deployment({ apart: true, replicas: 0 }))
    await world.timing(timing)
    const idle = await during(read, () => sleep(idleMinutes * 60_000))
    console.error(`${idleMinutes} idle minutes: ${total(idle.actions)} Actions`)
    const perMs = total(idle.actions) / idle.ms
    const own = ({ actions, ms }: Counted, count: number) => (total(actions) - perMs * ms) / count
    const plain = await during(read, () => live(world, lives))
    console.error(`${lives} lives: ${total(plain.actions)} Actions`)
    const rollout = await during(read, () => replace(world, lives))
    const aLife = own(plain, lives)
    // Each replaced node is a whole life more: one that begins, and one that ends.
    const aCommand = own(rollout, lives) - 2 * aLife
    console.log(report({ idle, plain, rollout, lives, aLife, aCommand, perMs }))
  } finally {
    await world.stop()
  }
}

interface Counted {
  readonly actions: Actions
  readonly ms: number
}

async function during(read: () => Promise<Actions>, work: () => Promise<void>): Promise<Counted> {
  const startedAt = performance.now()
  const before = await read()
  await work()
  const after = await read()
  const actions = new Map([...after].map(([type, count]) => [type, count - (before.get(type) ?? 0)]))
  return { actions, ms: performance.now() - startedAt }
}

/** Nodes come, run a pod each, and are deleted by hand. */
async function live(world: World, lives: number): Promise<void> {
  await world.scale('inflate', lives)
  await world.untilRunning(lives, limitMs)
  await end(world)
}

/** Nodes come, and their NodePool's template changes, so that each is replaced by a command of its own. */
async function replace(world: World, lives: number): Promise<void> {
  await world.scale('inflate', lives)
  await world.untilRunning(lives, limitMs)
  const template = { metadata: { labels: { 'example.com/release': 'next' } } }
  await world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { template } })
  await world.until(
    'all are replaced',
    async () => {
      const claims = await world.list('nodeclaims')
      const isNew = claims.every(({ metadata }) => metadata.labels?.['example.com/release'] === 'next')
      return isNew && claims.length === lives && (await world.running()) === lives
    },
    limitMs,
  )
  await end(world)
}

async function end(world: World): Promise<void> {
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft(limitMs)
}

async function actionsOf(url: string): Promise<Actions> {
  const found = new Map<string, number>()
  for (const line of (await (await fetch(url)).text()).split('\n')) {
    const { labels = '', value = '' } = /^action\{(?<labels>[^}]*)\} (?<value>\S+)$/.exec(line)?.groups ?? {}
    const type = /action_type="([^"]*)"/.exec(labels)?.[1]
    if (type !== undefined && /namespace="default"/.test(labels))
      found.set(type, (found.get(type) ?? 0) + Number(value))
  }
  if (found.size === 0) throw new Error(`${url} has no metric "action": this Temporal counts no Actions`)
  return found
}

const total = (actions: Actions) => [...actions.values()].reduce((sum, count) => sum + count, 0)

interface Measured {
  readonly idle: Counted
  readonly plain: Counted
  readonly rollout: Counted
  readonly lives: number
  readonly aLife: number
  readonly aCommand: number
  readonly perMs: number
}

function report({ idle, plain, rollout, lives, aLife, aCommand, perMs }: Measured): string {
  const idleDay = perMs * 86_400_000
  const types = [...new Set([idle, plain, rollout].flatMap(({ actions }) => [...actions.keys()]))].sort()
  const counts = types.map((type) => [
    type,
    ...[idle, plain, rollout].map(({ actions }) => String(actions.get(type) ?? 0)),
  ])
  const months = sizes.map((nodes) => {
    const lived = nodes * livesADay * daysAMonth
    const bill = (each: number) => (((idleDay * daysAMonth + lived * each) * pricePerMillion) / 1e6).toFixed(2)
    return [String(nodes), String(lived), bill(aLife), bill(aLife + aCommand)]
  })
  const head = ['', 'Actions']
  return [
    `### Actions of Temporal, ${circumstances()}`,
    '',
    table(head, [
      [`a life (${lives} of them; ${(timing.createMs + timing.bootMs) / 1000} s until it is ready)`, aLife.toFixed(1)],
      ['a command that replaces a node', aCommand.toFixed(1)],
      [`an idle day (from ${(idle.ms / 60_000).toFixed(0)} minutes)`, idleDay.toFixed(0)],
    ]),
    '',
    table(['by the server', 'idle', `${lives} lives`, `${lives} lives and as many replaced`], counts),
    '',
    table(['nodes', 'lives a month', 'USD a month', 'and a command each'], months),
    '',
  ].join('\n')
}
