// What Temporal keeps of nodes that are gone: why they came and went, and what they cost, as the simulated Azure billed it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BilledVm } from '../deploy/local/azure/virtual-machines/bill.ts'
import { readHistory } from '../starter/history/lives.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { claimsPath, World } from './world.ts'

/** Joiner hears of a VM's end from a list that it reads every second or so; on a busy machine a process takes longer to come back. */
const toleranceMs = 6000

interface ShownLife {
  readonly nodeClaim: string
  readonly node?: string
  readonly nodePool?: string
  readonly isRunning: boolean
  readonly vms: readonly {
    readonly instanceType: string
    readonly zone: string
    readonly capacityType: string
    readonly pricePerHour?: number
    readonly from: string
    readonly to?: string
  }[]
  readonly came: {
    readonly kind: string
    readonly pods?: number
    readonly command?: string
    readonly replaces?: readonly string[]
  }
  readonly went?: {
    readonly kind: string
    readonly reason?: string
    readonly message?: string
    readonly command?: string
  }
  readonly ready?: string
  readonly ended?: string
  readonly usd: number
  readonly labels: Readonly<Record<string, string>>
  readonly timeline?: readonly { readonly at: string; readonly what: string }[]
}

interface Shown {
  readonly lives: readonly ShownLife[]
  readonly commands: readonly {
    readonly id: string
    readonly outcome?: string
    readonly candidates: readonly string[]
    readonly replacements: readonly string[]
  }[]
  readonly unreadable: number
  readonly retentionHours: number | null
}

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const shown = async (...words: readonly string[]): Promise<Shown> =>
  JSON.parse(await world.joiner('history', ...words, '--since', '1h', '-o', 'json')) as Shown
const claimNames = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name).sort()
const bill = () => world.operator.simulator<{ readonly virtualMachines: readonly BilledVm[] }>('GET', '/bill')

test('history tells birth, death, replacement and prices of nodes that are gone', async () => {
  await world.scale('inflate', 2)
  await world.untilRunning(2)
  const [deleted = '', drifted = ''] = await claimNames()
  const before = await world.until('both are shown as ready', async () => {
    const { lives } = await shown()
    return lives.length === 2 && lives.every(({ ready }) => ready !== undefined) && lives
  })
  expect(before.map(({ came, isRunning, vms }) => [came, isRunning, vms[0]?.to])).toEqual([
    [{ kind: 'pods', pods: 1 }, true, undefined],
    [{ kind: 'pods', pods: 1 }, true, undefined],
  ])
  await world.operator.api('POST', claimsPath, standaloneClaim('aged', { expireAfter: '10s' }))
  await world.operator.kubectl(['delete', 'nodeclaim', deleted, '--wait=false'])
  const template = { metadata: { labels: { team: 'search' } } }
  const patch = JSON.stringify({ spec: { template } })
  await world.operator.kubectl(['patch', 'nodepool', 'general', '--type=merge', '-p', patch])
  await world.until('a command replaces a node', async () =>
    (await world.list('nodeclaims')).some(({ metadata }) => metadata.annotations?.['joiner.sh/replacement-for']),
  )
  await world.crash()
  await world.restartServer('temporal')
  world.startJoiner()
  await world.until('only replacements are left', async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === 2 && claims.every(({ metadata }) => metadata.labels?.['team'] === 'search')
  })
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()

  const { lives, commands, unreadable, retentionHours } = await world.until('all lifecycles are closed', async () => {
    const history = await shown()
    return history.lives.every(({ isRunning }) => !isRunning) && history
  })
  const { virtualMachines } = await bill()
  expect([unreadable, retentionHours]).toEqual([0, expect.any(Number)])
  expect(lives.map(({ nodeClaim }) => `aks-${nodeClaim}`).sort()).toEqual(
    virtualMachines.map(({ name }) => name).sort(),
  )
  for (const { nodeClaim, vms } of lives) {
    const billed = virtualMachines.find(({ name }) => name === `aks-${nodeClaim}`) as BilledVm
    expect(vms, nodeClaim).toMatchObject([
      { instanceType: billed.size, capacityType: billed.capacityType, pricePerHour: billed.pricePerHour },
    ])
    const from = vms[0]?.from ?? ''
    const to = vms[0]?.to ?? ''
    expect(Math.abs(Date.parse(from) - billed.fromMs), `${nodeClaim} from`).toBeLessThan(toleranceMs)
    expect(Math.abs(Date.parse(to) - (billed.toMs ?? 0)), `${nodeClaim} to`).toBeLessThan(toleranceMs)
  }
  const lifeOf = (name: string) => lives.find(({ nodeClaim }) => nodeClaim === name)
  expect(lifeOf(deleted)).toMatchObject({ came: { kind: 'pods' }, went: { kind: 'deleted' } })
  expect(lifeOf('aged')).toMatchObject({ came: { kind: 'by-hand' }, went: { kind: 'expired' } })
  expect(lifeOf('aged')).not.toHaveProperty('nodePool')
  const replaced = lives.filter(({ went }) => went?.reason === 'Drifted')
  expect(replaced.map(({ nodeClaim }) => nodeClaim)).toContain(drifted)
  const replacements = lives.filter(({ came }) => came.kind === 'replacement')
  expect(replacements.flatMap(({ came }) => came.replaces ?? []).sort()).toEqual(
    replaced.map(({ nodeClaim }) => nodeClaim).sort(),
  )
  for (const { came, labels, went, nodeClaim } of replacements) {
    expect(commands.find(({ id }) => id === came.command)).toMatchObject({
      outcome: 'done',
      replacements: [nodeClaim],
      candidates: came.replaces,
    })
    expect([labels, went?.kind]).toEqual([{ team: 'search' }, 'deleted'])
  }
})

test('one node is told by the name of its Node, in all forms', async () => {
  const [life] = (await shown()).lives
  const node = life?.node ?? ''
  const { lives } = await shown('node', node)
  expect(lives).toMatchObject([{ nodeClaim: life?.nodeClaim, timeline: { length: expect.any(Number) } }])
  const what = lives[0]?.timeline?.map((moment) => moment.what) ?? []
  expect(what[0]).toBe(`NodeClaim ${life?.nodeClaim} created, for 1 pod`)
  expect(what.at(-1)).toMatch(/^NodeClaim gone/)
  expect(await world.joiner('history', 'node', node, '--since', '1h')).toMatch(
    /VM accepted: Standard_\w+ on-demand \S+, \$0\.\d+ an hour/,
  )
  const csv = await world.joiner('history', 'node', node, '--since', '1h', '-o', 'csv')
  expect(csv.trimEnd().split('\n')).toHaveLength(what.length + 1)
})

test('NodePools are summed up, and the sum is what was billed', async () => {
  const { nodePools } = JSON.parse(await world.joiner('history', 'nodepool', '--since', '1h', '-o', 'json')) as {
    readonly nodePools: readonly { readonly nodePool: string; readonly usd: number; readonly ended: number }[]
  }
  const { virtualMachines } = await bill()
  const usd = virtualMachines.reduce(
    (sum, { pricePerHour = 0, fromMs, toMs = fromMs }) => sum + (pricePerHour * (toMs - fromMs)) / 3_600_000,
    0,
  )
  const mostOff = virtualMachines.reduce(
    (sum, { pricePerHour = 0 }) => sum + (pricePerHour * toleranceMs) / 3_600_000,
    0,
  )
  expect(nodePools.map(({ nodePool }) => nodePool)).toEqual(['(none)', 'general'])
  expect(Math.abs(nodePools.reduce((sum, pool) => sum + pool.usd, 0) - usd)).toBeLessThan(mostOff)
  const [header = '', ...rows] = (await world.joiner('history', '--since', '1h', '-o', 'csv')).trimEnd().split('\n')
  expect(rows).toHaveLength(virtualMachines.length)
  for (const row of rows)
    expect(row.replaceAll(/"(?:[^"]|"")*"/g, 'x').split(',')).toHaveLength(header.split(',').length)
})

test('what is not there is said', async () => {
  const refused = await world.joiner('history', 'node', 'nobody').catch((error: unknown) => error)
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no Node or NodeClaim "nobody" is known since'),
  })
})

test('facts that anybody else wrote into a memo are counted, and are no node', async () => {
  const workflowId = 'nodeclaim/nobody/forged/uid'
  const options = { workflowId, taskQueue: 'joiner-core-nobody', args: [], memo: { facts: { createdMs: 'soon' } } }
  const { firstExecutionRunId } = await world.temporal.workflow.start('nodeClaimLifecycle', options)
  await world.until('it is listed', async () => {
    const now = Date.now()
    const { lives, unreadable } = await readHistory(world.temporal, {
      cluster: 'nobody',
      sinceMs: now - 60_000,
      nowMs: now,
    })
    return lives.length === 0 && unreadable === 1
  })
  await world.temporal.workflow.getHandle(workflowId, firstExecutionRunId).terminate()
})
