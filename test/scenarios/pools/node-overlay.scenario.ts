// NodeOverlays: what is bought, what is given up, and what the objects say.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

interface SeenOverlay {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
  }
}

let world: World

const sizes = ['Standard_D2s_v5', 'Standard_D2as_v5']
const requirements = [
  { key: 'node.kubernetes.io/instance-type', operator: 'In', values: sizes },
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westus2-1'] },
]

beforeAll(async () => {
  world = await World.start()
  await world.installation.applyRights({ 'settings.featureGates': { nodeOverlay: true } })
  world.startJoiner('joiner', { FEATURE_GATES: 'NodeOverlay=true' })
  const pool = nodePool({ requirements })
  const disruption = { ...pool.spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' }
  await world.apply({ ...pool, spec: { ...pool.spec, disruption } }, nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(() => world?.stop({ tookRights: true }))

function overlay(name: string, spec: object) {
  return { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name }, spec }
}

const ofSize = (size: string) => [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [size] }]
const sizesOfNodes = async () =>
  (await world.list('nodes'))
    .map(({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type'])
    .filter((size) => size?.startsWith('Standard_') === true)

async function conditionOf(name: string): Promise<string | undefined> {
  const found = await world.operator.api<SeenOverlay>('GET', `/apis/karpenter.sh/v1alpha1/nodeoverlays/${name}`)
  const ready = found.status?.conditions?.find(({ type }) => type === 'ValidationSucceeded')
  return ready && `${ready.status} ${ready.reason}`
}

const says = (name: string, condition: string) =>
  world.until(`NodeOverlay ${name} says ${condition}`, async () => (await conditionOf(name)) === condition)

test('the corrected price decides what is bought, the NodeClaim says so, and a later price what it is replaced by', async () => {
  // By the list the one with AMD costs less.
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  expect(await sizesOfNodes()).toEqual(['Standard_D2as_v5'])
  const [plain] = await world.list('nodeclaims')
  expect(plain?.metadata.annotations).not.toHaveProperty('karpenter.sh/price-overlay-applied')

  await world.apply(overlay('reserved-d2s', { requirements: ofSize('Standard_D2s_v5'), priceAdjustment: '-90%' }))
  await says('reserved-d2s', 'True ValidationSucceeded')
  await world.until('the node is replaced by what is cheaper now', async () => {
    const found = await sizesOfNodes()
    return found.length === 1 && found[0] === 'Standard_D2s_v5'
  })
  const claims = await world.until('the NodeClaim before is gone too', async () => {
    const left = await world.list('nodeclaims')
    return left.length === 1 && left
  })
  expect(claims.map(({ metadata }) => metadata.annotations?.['karpenter.sh/price-overlay-applied'])).toEqual(['true'])
  await world.untilRunning(1)
})

test('an overlay in conflict says so until the other is gone; an invalid one changes nothing', async () => {
  await world.apply(overlay('a-second', { requirements: ofSize('Standard_D2s_v5'), price: '9.5' }))
  await says('a-second', 'False Conflict')
  await says('reserved-d2s', 'True ValidationSucceeded')
  await world.apply(
    overlay('wrong', {
      requirements: [{ key: 'example.com/team', operator: 'In', values: ['a b'] }],
      price: '0.000001',
    }),
  )
  await says('wrong', 'False RuntimeValidation')
  expect(await sizesOfNodes()).toEqual(['Standard_D2s_v5'])
  await world.operator.kubectl(['delete', 'nodeoverlay', 'reserved-d2s', 'wrong'])
  await says('a-second', 'True ValidationSucceeded')
  await world.until('the node is replaced by what is cheaper now', async () => {
    const found = await sizesOfNodes()
    return found.length === 1 && found[0] === 'Standard_D2as_v5'
  })
})

test('an overlay that changes during a launch and a crash leaves one node and one VM for the pod', async () => {
  await world.operator.kubectl(['delete', 'nodeoverlay', 'a-second'])
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  await world.timing({ createMs: 3000 })
  await world.scale('inflate', 1)
  await world.until('a VM is asked for', async () => (await world.list('nodeclaims')).length === 1)
  await world.apply(
    overlay('mid-launch', {
      requirements: ofSize('Standard_D2s_v5'),
      price: '0.000001',
      capacity: { 'smarter-devices/fuse': '1' },
    }),
  )
  await world.crash()
  await world.timing({ createMs: 0 })
  world.startJoiner('joiner', { FEATURE_GATES: 'NodeOverlay=true' })
  await world.untilRunning(1)
  await world.until('one node, as the overlay says', async () => {
    const [nodes, { virtualMachines }] = [await sizesOfNodes(), await world.azure()]
    return nodes.length === 1 && nodes[0] === 'Standard_D2s_v5' && virtualMachines.length === 1
  })
  await world.operator.kubectl(['delete', 'nodeoverlay', '--all'])
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
})
