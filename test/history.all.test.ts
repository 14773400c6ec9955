// What Temporal keeps of nodes that are gone: why they came and went, and what they cost, as the simulated Azure billed it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BilledVm } from '../deploy/local/azure/virtual-machines/bill.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { claimsPath, World } from './world.ts'

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
  readonly created: string
  readonly ready?: string
  readonly ended?: string
  readonly labels: Readonly<Record<string, string>>
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
  for (const { nodeClaim, vms, created, ready = '', ended = '' } of lives) {
    const billed = virtualMachines.find(({ name }) => name === `aks-${nodeClaim}`) as BilledVm
    expect(vms, nodeClaim).toMatchObject([
      { instanceType: billed.size, capacityType: billed.capacityType, pricePerHour: billed.pricePerHour },
    ])
    // What Joiner saw lies between what the simulator billed and what came after it. Times of Kubernetes are whole seconds.
    const inOrder = [created, vms[0]?.from ?? '', ready].map((text) => Math.floor(Date.parse(text) / 1000))
    expect(inOrder, `${nodeClaim} began`).toEqual(inOrder.toSorted((a, b) => a - b))
    expect(billed.fromMs, `${nodeClaim} from`).toBeLessThanOrEqual(Date.parse(ready) + 1000)
    const to = Date.parse(vms[0]?.to ?? '')
    expect(to, `${nodeClaim} to`).toBeGreaterThanOrEqual((billed.toMs ?? Number.NaN) - 1000)
    expect(to, `${nodeClaim} to`).toBeLessThanOrEqual(Date.parse(ended) + 1000)
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
