// Temporal, Joiner or both are away while nodes launch, drain and are replaced, with the limits as they are.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const nodes = 20
/** Nodes that are drained, and nodes that are replaced since they have drifted. */
const drained = 3
const drifted = 4
/** A launch begins every so often, so that an outage finds each of them in another phase. */
const everyMs = 8000
const timing = { createMs: 30_000, bootMs: 90_000, deleteMs: 40_000 }
/** What the last of them needs after the return, and 40 s. */
const afterwardsMs = timing.createMs + timing.bootMs + 15_000 + 40_000

/** What a replacement needs that begins then, and the end of the node before it. */
const replacedMs = afterwardsMs + timing.deleteMs

let world: World

beforeAll(async () => {
  world = await World.start()
  const on = (pool: string) => ({ apart: true, nodeSelector: { 'karpenter.sh/nodepool': pool } })
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never' }),
    replacedPool('old'),
    nodeClass(),
    deployment(on('general')),
    deployment({ name: 'moved', ...on('replaced') }),
  )
})

afterAll(() => world?.stop())

/** A pool whose nodes drift when `release` changes. */
function replacedPool(release: string) {
  const pool = nodePool({ name: 'replaced', consolidateAfter: 'Never' })
  return {
    ...pool,
    spec: {
      ...pool.spec,
      template: { metadata: { labels: { 'example.com/release': release } }, ...pool.spec.template },
    },
  }
}

const outages = {
  temporal: (awayMs: number) => world.restartServer('temporal', awayMs),
  joiner: async (awayMs: number) => {
    await world.crash()
    await new Promise((resolve) => setTimeout(resolve, awayMs))
    world.startJoiner()
  },
  both: async (awayMs: number) => {
    await world.crash()
    await world.restartServer('temporal', awayMs)
    world.startJoiner()
  },
} as const

/** PUTs of VMs, by the name of the VM. */
async function creates(): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { method, name } of await world.journal())
    if (method === 'PUT') counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const isOf =
  (pool: string) =>
  ({ metadata }: Seen) =>
    metadata.labels?.['karpenter.sh/nodepool'] === pool
const staying = (claims: readonly Seen[]) => claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
const uids = (claims: readonly Seen[]) => claims.map(({ metadata }) => metadata.uid).toSorted()

async function inAllPhases(): Promise<readonly Seen[]> {
  await world.apply(replacedPool('old'))
  await world.scale('moved', drifted)
  await world.until('the nodes that will drift are ready', async () => (await world.running('moved')) === drifted)
  await world.timing(timing)
  for (let count = 1; count <= nodes; count++) {
    await world.scale('inflate', count)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  const ready = await world.until('some are ready', async () => {
    const claims = (await world.list('nodeclaims')).filter((claim) => isOf('general')(claim) && isTrue(claim, 'Ready'))
    return claims.length >= drained && claims
  })
  await world.apply(replacedPool('new'))
  await world.until(
    'replacements come',
    async () => (await world.list('nodeclaims')).filter(isOf('replaced')).length > drifted,
  )
  const names = ready.slice(0, drained).map(({ metadata }) => metadata.name)
  await world.operator.kubectl(['delete', 'nodeclaim', ...names, '--wait=false'])
  await new Promise((resolve) => setTimeout(resolve, everyMs))
  return staying(await world.list('nodeclaims')).filter(isOf('general'))
}

/** Waits until each node that has drifted is replaced, once, and its pod runs on the new one. */
async function untilReplaced(): Promise<void> {
  await world.until(
    'the nodes that drifted are replaced',
    async () => {
      const nodes = (await world.list('nodes')).filter(isOf('replaced'))
      const isNew = nodes.every(({ metadata }) => metadata.labels?.['example.com/release'] === 'new')
      return isNew && nodes.length === drifted && (await world.running('moved')) === drifted
    },
    replacedMs,
  )
}

/** All of them take a minute of a core, and are a part of `npm run test:all`. */
const rows = (['temporal', 'joiner', 'both'] as const)
  .flatMap((who) => [1, 10, 20, 120].map((minutes) => ({ who, minutes })))
  .filter(({ who, minutes }) => process.env['JOINER_TEST_OUTAGES'] === 'all' || (who !== 'joiner' && minutes === 20))

test.each(rows)(
  '$who away for $minutes minutes: each node lives on, none is bought twice',
  async ({ who, minutes }) => {
    const before = await inAllPhases()
    const bought = await creates()
    await outages[who](minutes * 60_000)
    await world.untilRunning(nodes, afterwardsMs)
    await untilReplaced()
    const after = staying(await world.list('nodeclaims')).filter(isOf('general'))
    expect(uids(after)).toEqual(expect.arrayContaining(uids(before)))
    expect(after).toHaveLength(nodes)
    for (const [vm, count] of await creates()) expect([vm, count]).toEqual([vm, 1])
    for (const vm of bought.keys()) expect((await creates()).get(vm)).toBe(1)
    const timeouts = (await world.list('events')).filter(({ reason }) => reason?.endsWith('Timeout'))
    expect(timeouts.map(({ message }) => message)).toEqual([])
    for (const name of ['inflate', 'moved']) await world.scale(name, 0)
    await world.timing({ createMs: 0, bootMs: 0, deleteMs: 0 })
    await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
    await world.untilNothingLeft()
    expect((await world.azure()).virtualMachines).toEqual([])
  },
)
