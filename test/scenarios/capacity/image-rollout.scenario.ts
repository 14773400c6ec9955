// A new node image is rolled out by drift: first with one node, and not at all when nodes with it do not come up.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const nodes = 20
const name = 'fleet'
const [working, broken, mute] = ['202611.10.0', '202611.15.0', '202611.16.0'] as const

interface ClassStatus {
  readonly images?: readonly { readonly id: string }[]
}

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.operator.simulator('POST', '/images', { version: working })
  world.startJoiner()
  await world.apply(
    nodeClass(name),
    nodePool({
      name,
      nodeClass: name,
      consolidateAfter: 'Never',
      budget: '50%',
      requirements: [
        { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
        { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      ],
    }),
  )
  await world.untilReady(name)
  await world.apply(deployment({ name, replicas: nodes, apart: true, nodeSelector: { 'karpenter.sh/nodepool': name } }))
  await world.until(`${nodes} nodes have initialized`, async () => (await initialized()).length === nodes)
})

afterAll(() => world?.stop())

const claims = () => world.list('nodeclaims')

const holds = ({ status }: Seen, type: string) =>
  status?.conditions?.some((one) => one.type === type && one.status === 'True')

const initialized = async () => (await claims()).filter((claim) => holds(claim, 'Initialized'))

async function theClass(): Promise<Seen> {
  const found = (await world.list('aksnodeclasses')).find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Error(`no AKSNodeClass ${name}`)
  return found
}

async function versions(): Promise<ReadonlySet<string | undefined>> {
  const { images = [] } = (await theClass()).status as ClassStatus
  return new Set(images.map(({ id }) => id.split('/').at(-1)))
}

/** Publishes a version, and has the classes looked at. */
async function publish(version: string): Promise<void> {
  await world.operator.simulator('POST', '/images', { version })
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-image-versions', '--ignore-not-found'])
  await world.maintain()
}

test('an image whose VMs fail costs two VMs and no node, the image before is kept, and an event says why', async () => {
  const before = new Set((await claims()).map(({ metadata }) => metadata.name))
  await world.fault({ kind: 'failAsync', code: 'OSProvisioningTimedOut', match: { image: broken }, count: 1000 })
  await publish(broken)
  await world.until('the image is given up', async () => {
    const events = await world.list('events')
    return events.some(
      ({ reason, message = '' }) => reason === 'ImageGivenUp' && message.includes(broken) && message.includes(working),
    )
  })
  expect(await versions()).toEqual(new Set([working]))
  await world.until(
    'no node has drifted any more',
    async () => !(await claims()).some((claim) => holds(claim, 'Drifted')),
  )
  await world.until('the rollout is over', async () => (await claims()).length === nodes)
  expect(await world.running(name)).toBe(nodes)
  // The node whose replacement was on its way may have gone for a good one; no other has.
  const after = await initialized()
  expect(after.filter(({ metadata }) => before.has(metadata.name)).length).toBeGreaterThanOrEqual(nodes - 1)
  const hits = await world.operator.simulator<Record<string, number>>('GET', '/faults/hits')
  expect(hits['failAsync']).toBe(2)
  const capacity = await world.joiner('blocked', 'capacity', 'list')
  expect(capacity).toMatch(new RegExp(`image .*${broken}, AKSNodeClass ${name} .*RepeatedFailure`))
})

test('while the first node with an image has not initialized, no other node is replaced', async () => {
  await world.operator.simulator('DELETE', '/faults')
  await world.fault({ kind: 'neverJoins', match: { image: mute }, forMs: 600_000 })
  const before = new Set((await claims()).map(({ metadata }) => metadata.name))
  await publish(mute)
  const others = async () => (await claims()).filter(({ metadata }) => !before.has(metadata.name))
  await world.until('a first replacement is on its way', async () => (await others()).length > 0)
  await world.until('the other nodes say what they wait for', async () => {
    const events = await world.list('events')
    return events.some(
      ({ reason, message = '' }) => reason === 'DisruptionBlocked' && message.includes('has a new node image'),
    )
  })
  // By then a VM runs that says nothing, and the nodes were looked at several times.
  await world.until('its VM runs', async () => (await others()).every((claim) => holds(claim, 'Launched')))
  expect((await others()).length).toBe(1)
  expect((await initialized()).length).toBe(nodes)
  expect(await world.running(name)).toBe(nodes)
  await world.operator.simulator('DELETE', '/faults')
})
