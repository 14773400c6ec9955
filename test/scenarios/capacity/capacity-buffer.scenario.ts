// CapacityBuffers on real servers: nodes that wait for pods, a burst that lands on them, and what is left after faults.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

interface SeenBuffer extends Seen {
  readonly status?: Seen['status'] & { readonly replicas?: number }
}

let world: World

const gates = { FEATURE_GATES: 'CapacityBuffer=true' }
/** Three pods of one CPU fit on it. */
const requirements = [
  { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D4s_v5'] },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
]

const buffer = (name: string, spec: object) => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: { name, namespace: 'default' },
  spec,
})
const ofDeployment = (percentage: number) =>
  buffer('of-deployment', { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'inflate' }, percentage })
const ofTemplate = (replicas: number) => buffer('of-template', { podTemplateRef: { name: 'large' }, replicas })
/** One pod of it fills a node. */
const template = {
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'large', namespace: 'default' },
  template: {
    metadata: { labels: { app: 'large' } },
    spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '3' } } }] },
  },
}

beforeAll(async () => {
  world = await World.start()
  await world.installation.applyRights({ 'settings.featureGates': { capacityBuffer: true } })
  world.startJoiner('joiner', gates)
  await world.apply(nodePool({ requirements }), nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(async () => {
  await world?.stop({ tookRights: true })
})

function bufferOf(name: string): Promise<SeenBuffer> {
  return world.operator.api<SeenBuffer>(
    'GET',
    `/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers/${name}`,
  )
}

async function says(name: string, type: string, text: string): Promise<boolean> {
  const { status } = await bufferOf(name)
  const found = status?.conditions?.find((condition) => condition.type === type)
  return `${found?.status} ${found?.reason}` === text
}

/** Waits until all of a buffer's pods fit on nodes that are there. */
async function untilServed(name: string, replicas: number): Promise<void> {
  await world.until(`CapacityBuffer ${name} has room for ${replicas} pods`, async () => {
    const { status } = await bufferOf(name)
    const place = status?.conditions?.find(({ type }) => type === 'Provisioning')
    const isFor = place?.message === `All ${replicas} virtual pods fit on existing capacity`
    return place?.status === 'True' && status?.replicas === replicas && isFor
  })
  await world.until('every node is ready', async () =>
    (await world.list('nodeclaims')).every((claim) => isTrue(claim, 'Initialized')),
  )
}

const nodeNames = async () => new Set((await world.list('nodes')).map(({ metadata }) => metadata.name))
const placesOfPods = async () =>
  (await world.list('pods'))
    .filter(({ metadata }) => metadata.labels?.['app'] === 'inflate')
    .map(({ spec }) => spec.nodeName)

test('a share of a Deployment and a number of pods of a PodTemplate get nodes that wait for pods; the planner reports no pod of them', async () => {
  await world.scale('inflate', 2)
  await world.untilRunning(2)
  await world.apply(template, ofDeployment(100), ofTemplate(1))
  await untilServed('of-deployment', 2)
  await untilServed('of-template', 1)
  expect((await nodeNames()).size).toBe(3)
  const claims = await world.list('nodeclaims')
  const plannedFor = claims.map(({ metadata }) => metadata.annotations?.['joiner.sh/planned-buffers'] ?? '')
  expect(plannedFor.join(' ')).toContain('default/of-template')
  const events = (await world.list('events')).filter(({ involvedObject }) => involvedObject?.name?.includes('buffer:'))
  expect(events).toEqual([])
  expect(await world.joiner('status')).not.toContain('buffer:')
})

test('a burst lands on the room at once, and the buffer is filled again', async () => {
  const before = await nodeNames()
  await world.scale('inflate', 4)
  await world.untilRunning(4)
  expect((await placesOfPods()).every((node) => before.has(node ?? ''))).toBe(true)
  await world.until('a node for the room that they took', async () => (await nodeNames()).size > 3)
  await untilServed('of-deployment', 4)
  await untilServed('of-template', 1)
})

test('a node whose room a buffer needs is not removed as empty, and joiner why says so', async () => {
  const used = new Set(await placesOfPods())
  const empty = [...(await nodeNames())].filter((name) => !used.has(name))
  const node = await world.until('an event about a node that is empty now', async () => {
    const events = (await world.list('events')).filter(({ reason }) => reason === 'Unconsolidatable')
    return empty.find((name) => events.some(({ message = '' }) => message.includes(`Node "${name}" has buffer pods`)))
  })
  await world.until('joiner why names the buffer', async () =>
    /keeps room for CapacityBuffer default\/of-/.test(await world.joiner('why', 'node', node)),
  )
  expect(await nodeNames()).toContain(node)
  expect(await says('of-template', 'Provisioning', 'True FitsExistingCapacity')).toBe(true)
})

test('a buffer whose Deployment is deleted while nodes are created for it says so, and they go; the other buffer is served', async () => {
  const before = (await world.list('nodeclaims')).length
  await world.timing({ createMs: 4000 })
  await world.apply(ofDeployment(300))
  await world.until('nodes are ordered', async () => (await world.list('nodeclaims')).length > before)
  await world.operator.kubectl(['delete', 'deployment', 'inflate'])
  await world.timing({ createMs: 0 })
  await world.until('the reference leads nowhere', () =>
    says('of-deployment', 'ReadyForProvisioning', 'False ScalableRefNotFound'),
  )
  await world.until('one node is left', async () => (await world.list('nodeclaims')).length === 1)
  await world.until('one VM is left', async () => (await world.azure()).virtualMachines.length === 1)
  await untilServed('of-template', 1)
  expect(await says('of-deployment', 'Provisioning', 'False NotReadyForProvisioning')).toBe(true)
})

test('kill -9 between the order and the node leaves no double capacity', async () => {
  const before = (await world.lifecycles()).length
  await world.timing({ createMs: 4000 })
  await world.apply(ofTemplate(3))
  await world.until('nodes are ordered', async () => (await world.list('nodeclaims')).length > 1)
  await world.crash()
  await world.timing({ createMs: 0 })
  world.startJoiner('joiner', gates)
  await untilServed('of-template', 3)
  expect((await world.list('nodeclaims')).length).toBe(3)
  expect((await world.azure()).virtualMachines).toHaveLength(3)
  // Temporal lists what has begun a moment later.
  await world.until('the lifecycles are listed', async () => (await world.lifecycles()).length >= before + 2)
  expect((await world.lifecycles()).length).toBe(before + 2)
})

test('nodes go when their buffers are deleted', async () => {
  expect(await world.forbidden()).toEqual([])
  await world.operator.kubectl(['delete', 'capacitybuffer', '--all'])
  await world.untilNothingLeft()
})
