// Nodes made as AKS machines: scaled up, killed while they are made, refused, replaced for a new node image, and scaled down.
import { nodeImageVersion } from '../../../core/drift/node-image-version.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { addMachinesPool, machinesPool, makingMachines } from '../../arm/machines-mode.ts'
import type { RawObject } from '../../karpenter-remains.ts'
import { machinesOf } from '../../take-over/nap-cluster.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, fastTest, test } from '../scenario.ts'

const making = { ...makingMachines, JOINER_RESYNC_INTERVAL: '3s' } as const

const newest = '202611.24.0'

let world: World

beforeAll(async () => {
  world = await World.start()
  await addMachinesPool(world)
  world.startJoiner('joiner', making)
  await world.apply(nodePool({ consolidateAfter: '1s' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const claims = async () => (await world.list('nodeclaims')) as readonly (Seen & Pick<RawObject, 'status'>)[]

/** Waits until the pods run, each on a Node of its own. Then there is one machine with one VM for each NodeClaim, and nothing else. */
async function untilMade(count: number): Promise<void> {
  await world.untilRunning(count)
  await world.until('all claims have their nodes', async () => {
    const seen = await world.list('nodeclaims')
    return seen.length === count && seen.every((claim) => isTrue(claim, 'Initialized'))
  })
  const machines = await machinesOf(world)
  const made = await claims()
  expect(machines.map(({ name }) => name).sort()).toEqual(made.map(({ metadata }) => metadata.name).sort())
  const { virtualMachines } = await world.azure()
  expect(virtualMachines.map(({ name }) => name).sort()).toEqual(machines.map(({ vm }) => vm).sort())
  const nodes = await world.list('nodes')
  expect(nodes.map(({ metadata }) => metadata.name).sort()).toEqual(machines.map(({ vm }) => vm).sort())
  for (const { metadata } of made)
    expect(metadata.annotations).toMatchObject({
      'karpenter.azure.com/aks-machine-resource-id': expect.stringContaining(
        `/agentPools/${machinesPool}/machines/${metadata.name}`,
      ),
      'joiner.sh/adopted-machine': metadata.uid,
    })
}

/** The PUTs of machines that AKS got. */
async function puts(): Promise<number> {
  const calls = await world.operator.simulator<Readonly<Record<string, number>>>('GET', '/calls')
  return calls['PUT machines'] ?? 0
}

test('pods get nodes that are AKS machines', async () => {
  await world.scale('inflate', 3)
  await untilMade(3)
})

test('kill -9 while machines are made leaves one for each NodeClaim', async () => {
  await world.timing({ createMs: 8000 })
  // The answer to one PUT is lost, so that nobody knows of its machine.
  await world.fault({ kind: 'resetAfterCommit', count: 1 })
  await world.scale('inflate', 6)
  await world.until('a machine is being made', async () => (await machinesOf(world)).length > 3)
  await world.crash()
  world.startJoiner('joiner', making)
  await untilMade(6)
  await world.timing({ createMs: 500 })
  const hits = await world.operator.simulator<Record<string, number>>('GET', '/faults/hits')
  expect(hits['resetAfterCommit']).toBe(1)
})

test('a machine that Azure has no room for gives way to another one', async () => {
  await world.fault({ kind: 'failAsync', code: 'SkuNotAvailable', message: 'no room', count: 1 })
  await world.scale('inflate', 7)
  await untilMade(7)
  const hits = await world.operator.simulator<Record<string, number>>('GET', '/faults/hits')
  expect(hits['failAsync']).toBe(1)
  await world.operator.simulator('DELETE', '/faults')
})

test('a new node image replaces each machine', async () => {
  const before = new Set((await machinesOf(world)).map(({ name }) => name))
  await world.operator.simulator('POST', '/images', { version: newest })
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-image-versions', '--ignore-not-found'])
  await world.maintain()
  await world.until(
    'all machines have the new image',
    async () => {
      const seen = await claims()
      return seen.length === 7 && seen.every(({ status }) => String(status['imageID']).endsWith(`-${newest}`))
    },
    300_000,
  )
  await untilMade(7)
  expect((await machinesOf(world)).filter(({ name }) => before.has(name))).toEqual([])
  const [made] = (await world.list('aksnodeclasses')) as unknown as readonly RawObject[]
  const images = made?.status['images'] as readonly { readonly id: string }[]
  const versions = images.map(({ id }) => nodeImageVersion(id))
  for (const { status } of await claims()) expect(versions).toContain(status['imageID'])
})

/** Removes all NodeClaims past their lifecycles while Joiner is away. */
async function lose(cascade: 'orphan' | 'background'): Promise<void> {
  await world.crash()
  for (const { metadata } of await claims()) {
    const patch = '{"metadata":{"finalizers":[]}}'
    await world.operator.kubectl(['patch', 'nodeclaim', metadata.name, '--type=merge', '-p', patch])
    await world.operator.kubectl(['delete', 'nodeclaim', metadata.name, `--cascade=${cascade}`])
  }
  world.startJoiner('joiner', making)
}

const machineNames = async () => (await machinesOf(world)).map(({ name }) => name).sort()
const podUids = async () => (await world.list('pods')).map(({ metadata }) => metadata.uid).sort()
const longMs = 40 * 60_000

fastTest('NodeClaims that were lost are made again, twice, with their machines and pods', async () => {
  const before = [await podUids(), await machineNames(), await puts()]
  for (const _ of ['once', 'again']) {
    await lose('orphan')
    await world.until('all NodeClaims are back', async () => (await claims()).length === 7, longMs)
    await untilMade(7)
    expect([await podUids(), await machineNames(), await puts()]).toEqual(before)
  }
})

fastTest('a lost NodeClaim whose machine is to end is drained, and nothing is left of it', async () => {
  const [{ metadata } = { metadata: { name: '' } }] = await claims()
  const [machine] = (await machinesOf(world)).filter(({ name }) => name === metadata.name)
  await lose('orphan')
  const named = `${machinesPool}/${metadata.name}`
  await world.until(
    'it is known',
    async () => (await world.joiner('admin', 'adopt', '--dry-run')).includes(`${named} `),
    longMs,
  )
  expect(await world.joiner('admin', 'adopt', '--delete', named, '--yes')).toContain('its VM is drained and ends')
  await world.until('it is gone', async () => !(await machineNames()).includes(metadata.name), longMs)
  await world.until('all others are back', async () => (await claims()).length === 7, longMs)
  await untilMade(7)
  expect((await world.list('nodes')).map((node) => node.metadata.name)).not.toContain(machine?.vm)
})

fastTest('Nodes that are being deleted by then are drained, one by one, and end with their machines', async () => {
  const before = await machineNames()
  await lose('background')
  await world.until(
    'all of them are gone',
    async () => (await machineNames()).every((name) => !before.includes(name)),
    10 * longMs,
  )
  await untilMade(7)
})

test('fewer pods end machines, and at last nothing is left', async () => {
  await world.scale('inflate', 2)
  await untilMade(2)
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  expect(await machinesOf(world)).toEqual([])
})

test('in batches, AKS gets one PUT for several machines', async () => {
  await world.crash()
  world.startJoiner('joiner', { ...making, PROVISION_MODE: 'aksmachineapiheaderbatch' })
  const before = await puts()
  await world.scale('inflate', 5)
  await untilMade(5)
  expect((await puts()) - before).toBeLessThan(5)
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  expect(await machinesOf(world)).toEqual([])
})
