// Machines whose clocks are wrong, one role's after the other's.
import { timeText } from '../../../core/values/time.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { lookAgain } from '../look-again.ts'
import { afterAll, beforeAll, expect, fastTest } from '../scenario.ts'

let world: World
const minute = 60_000
const dayMs = 24 * 60 * minute
const settings = {
  FEATURE_GATES: 'NodeRepair=true',
  JOINER_REPAIR_POLICIES: JSON.stringify([
    { conditionType: 'Broken', conditionStatus: 'True', tolerationDuration: '3h', terminationGracePeriod: '5s' },
  ]),
}

/** Nodes of the NodePool `lasting` expire after a month, those of `brief` after a quarter of an hour. */
const expiring = (name: string, expireAfter: string) => nodePool({ name, consolidateAfter: 'Never', expireAfter })
const pods = (name: string, replicas: number) =>
  deployment({ name, replicas, apart: true, nodeSelector: { 'karpenter.sh/nodepool': name } })

beforeAll(async () => {
  world = await World.start()
  world.startApart(settings)
  await world.apply(expiring('lasting', '720h'), expiring('brief', '15m'), nodeClass(), pods('lasting', 5))
  await world.until('five pods run', async () => (await world.running('lasting')) === 5)
})

afterAll(() => world?.stop())

const claimsOf = async (pool: string): Promise<readonly Seen[]> =>
  (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool)
const uids = async (pool: string) => (await claimsOf(pool)).map(({ metadata }) => metadata.uid)
const isGoing = async (pool: string) => (await claimsOf(pool)).some(({ metadata }) => metadata.deletionTimestamp)
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Lines of all logs that say that a clock is wrong, and that it is right again. */
async function told(): Promise<{ readonly wrong: number; readonly right: number }> {
  const lines = (await world.servers.logs()).join('\n').split('\n')
  const count = (text: string) => lines.filter((line) => line.includes(text)).length
  return { wrong: count('By it no node expires'), right: count("agrees with the API server's again") }
}

async function sicken(claim: Seen): Promise<void> {
  const time = timeText(Date.now())
  const said = { reason: 'Test', message: '', lastHeartbeatTime: time, lastTransitionTime: time }
  const status = { conditions: [{ type: 'Broken', status: 'True', ...said }] }
  const node = `aks-${claim.metadata.name}`
  const patch = JSON.stringify({ status })
  await world.operator.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

const processes = ['joiner', 'joiner-azure', 'joiner-planner']
const rows = processes.flatMap((process) => [365, -31].map((days) => [process, days] as const))

for (const [process, days] of rows)
  fastTest(
    `while the clock of ${process} is ${days} days off, nodes come, none goes, and one line says it`,
    async () => {
      const before = await told()
      const nodes = await uids('lasting')
      const [first] = await claimsOf('lasting')
      if (first !== undefined) await sicken(first)
      world.servers.setClock?.(process, days * dayMs)
      await world.until('it is told', async () => (await told()).wrong === before.wrong + 1)
      await lookAgain(world)
      const replicas = nodes.length + 1
      await world.scale('lasting', replicas)
      await world.until('another pod runs', async () => (await world.running('lasting')) === replicas)
      if (process === 'joiner-planner')
        await world.until('the sick node says why it is kept', async () =>
          (await world.joiner('why', 'node', `aks-${first?.metadata.name}`)).includes('no node is repaired'),
        )
      await wait(2 * minute)
      expect(await uids('lasting')).toEqual(expect.arrayContaining([...nodes]))
      expect(await isGoing('lasting')).toBe(false)
      // Time without a worker would extend the limits of a launch for good.
      const away = (await claimsOf('lasting')).map(({ metadata }) => metadata.annotations?.['joiner.sh/time-away'])
      expect(new Set(away)).toEqual(new Set([undefined]))
      const off = (await world.metrics(process))['joiner_clock_off_seconds'] ?? 0
      expect(Math.round(off / 86_400)).toBe(days)
      world.servers.setClock?.(process, 0)
      await world.until('it is right again', async () => (await told()).right === before.right + 1)
      expect(await told()).toEqual({ wrong: before.wrong + 1, right: before.right + 1 })
    },
  )

fastTest('processes that start with a clock a year ahead end no node, and make one', async () => {
  const nodes = await uids('lasting')
  for (const process of processes) await world.crash(process)
  world.startApart(settings)
  for (const process of processes) world.servers.setClock?.(process, 365 * dayMs)
  const replicas = nodes.length + 1
  await world.scale('lasting', replicas)
  await world.until('another pod runs', async () => (await world.running('lasting')) === replicas)
  await lookAgain(world)
  expect(await uids('lasting')).toEqual(expect.arrayContaining([...nodes]))
  expect(await isGoing('lasting')).toBe(false)
  for (const process of processes) world.servers.setClock?.(process, 0)
})

for (const days of [365, -31])
  fastTest(
    `a node that expires while the clock of its lifecycle is ${days} days off stays until that is right`,
    async () => {
      await world.apply(pods('brief', 1))
      await world.until('its pod runs', async () => (await world.running('brief')) === 1)
      const [uid] = await uids('brief')
      world.servers.setClock?.('joiner', days * dayMs)
      await wait(20 * minute)
      await lookAgain(world)
      expect(await uids('brief')).toEqual([uid])
      expect(await isGoing('brief')).toBe(false)
      world.servers.setClock?.('joiner', 0)
      await world.until('it expires', async () => !(await uids('brief')).includes(uid ?? ''), 10 * minute)
      await world.scale('brief', 0)
      await world.operator.kubectl(['delete', 'nodeclaims', '--selector', 'karpenter.sh/nodepool=brief'])
      await world.until('its nodes are gone', async () => (await uids('brief')).length === 0)
    },
  )
