// Sizes that do not boot are learnt and left out; a cause that all sizes share is not held against any of them, and buys nothing dear.
import { randomUUID } from 'node:crypto'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const hour = 3_600_000
/** The last one costs most. */
const sizes = [
  'Standard_D2s_v6',
  'Standard_D2as_v5',
  'Standard_D2s_v5',
  'Standard_E2as_v5',
  'Standard_E2s_v5',
  'Standard_D4s_v5',
]
/** Costs some twenty times as much. */
const dear = 'Standard_E32as_v5'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  const pool = (name: string, values: readonly string[], capacityTypes: readonly string[] = ['on-demand']) =>
    nodePool({
      name,
      nodeClass: name,
      consolidateAfter: 'Never',
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: capacityTypes },
      ],
    })
  const pools = {
    picky: pool('picky', sizes),
    broken: pool('broken', sizes),
    unknown: pool('unknown', [...sizes, dear]),
    dear: pool('dear', ['Standard_D2s_v5', dear]),
    spot: pool('spot', ['Standard_D2s_v5'], ['spot', 'on-demand']),
  }
  await world.apply(...Object.entries(pools).flatMap(([name, one]) => [nodeClass(name), one]))
  for (const name of Object.keys(pools)) await world.untilReady(name)
})

afterAll(() => world?.stop())

interface Mark {
  readonly kind: string
  readonly instanceType?: string
  readonly nodeClass?: string
  readonly reason: string
  readonly until: string
}

async function marks(): Promise<readonly Mark[]> {
  return JSON.parse(await world.joiner('blocked', 'capacity', 'list', '--output', 'json')) as readonly Mark[]
}

const pods = (name: string, replicas: number) =>
  deployment({ name, replicas, apart: true, nodeSelector: { 'karpenter.sh/nodepool': name } })

/** How many VMs were asked for. */
async function asked(): Promise<number> {
  const calls = await world.operator.simulator<Record<string, number>>('GET', '/calls')
  return calls['PUT virtualMachines'] ?? 0
}

async function health(name: string) {
  const nodeClasses = await world.list('aksnodeclasses')
  const { status } = nodeClasses.find(({ metadata }) => metadata.name === name) ?? {}
  return status?.conditions?.find(({ type }) => type === 'LaunchHealthy')
}

/** How many requests were refused. */
async function refusals(): Promise<number> {
  const hits = await world.operator.simulator<Record<string, number>>('GET', '/faults/hits')
  return hits['failSync'] ?? 0
}

test('the five cheapest sizes cannot boot the image: pods run on the sixth, and a restart does not ask again', async () => {
  const refused = sizes.slice(0, 5)
  for (const sku of refused)
    await world.fault({
      kind: 'failSync',
      status: 400,
      code: 'InvalidParameter',
      message: `The VM size '${sku}' cannot boot with OS image or disk. Please check that disk controller types supported by the OS image or disk is one of the supported disk controller types for the VM size '${sku}'.`,
      match: { sku },
      count: 1000,
    })
  await world.apply(pods('picky', 1))
  await world.until('the pod runs', async () => (await world.running('picky')) === 1, 120_000)
  const found = await marks()
  expect(found).toHaveLength(refused.length)
  expect(new Set(found.map(({ instanceType }) => instanceType))).toEqual(new Set(refused))
  expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['SizeCannotBootImage']))
  for (const { until } of found) expect(Date.parse(until) - Date.now()).toBeGreaterThan(hour - 130_000)
  expect(await refusals()).toBe(5)
  await world.crash()
  world.startJoiner()
  await world.scale('picky', 3)
  await world.until('three pods run', async () => (await world.running('picky')) === 3, 120_000)
  expect(await refusals()).toBe(5)
  await world.operator.simulator('DELETE', '/faults')
  await world.joiner('blocked', 'capacity', 'clear', '--all')
})

test('while no VM of any size comes up no size is marked, and pods run soon after the repair', async () => {
  await world.fault({ kind: 'failAsync', code: 'OSProvisioningTimedOut', count: 10_000 })
  await world.apply(pods('broken', 3))
  await world.until('the class says that sizes fail alike', async () => (await health('broken'))?.status === 'False')
  // Launches go on, one at a time: what is common to all is seen to be over only by trying.
  const soFar = await asked()
  await world.until('another was tried since', async () => (await asked()) > soFar)
  expect(await marks()).toEqual([])
  await world.operator.simulator('DELETE', '/faults')
  await world.until('the pods run', async () => (await world.running('broken')) === 3, 120_000)
  expect(await marks()).toEqual([])
  await world.until('the class is healthy again', async () => (await health('broken'))?.status === 'True')
})

test('a parameter that no size is asked for with: the class is marked, few VMs are asked for, and a clear ends it', async () => {
  const target = `properties.${randomUUID().replaceAll(/[^a-z]/g, '')}`
  const message = `The value of parameter ${target} is invalid.`
  await world.fault({ kind: 'failSync', status: 400, code: 'InvalidParameter', target, message, count: 10_000 })
  const before = await refusals()
  await world.apply(pods('unknown', 3))
  await world.until('the class says what is refused', async () => (await health('unknown'))?.status === 'False')
  expect((await health('unknown'))?.message).toContain(target)
  expect(await marks()).toMatchObject([{ kind: 'class', nodeClass: 'unknown', reason: 'CommonLaunchFailure' }])
  await world.until('each NodeClaim quotes Azure', async () => {
    const claims = await world.list('nodeclaims')
    const own = claims.filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'unknown')
    return own.length >= 3 && own.every(({ status }) => JSON.stringify(status?.conditions).includes(target))
  })
  await world.operator.simulator('DELETE', '/faults')
  // Three at the same time, one of another size, and a probe after 30 s.
  expect((await refusals()) - before).toBeLessThanOrEqual(12)
  await world.joiner('blocked', 'capacity', 'clear', '--node-class', 'unknown')
  await world.until('the pods run', async () => (await world.running('unknown')) === 3, 120_000)
  expect(await marks()).toEqual([])
})

test('after a lack of capacity everything that the NodePool allows is bought: on-demand for spot, and a size however dear', async () => {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', match: { capacityType: 'spot' }, count: 10_000 })
  await world.apply(pods('spot', 1))
  await world.until('the pod runs on demand', async () => (await world.running('spot')) === 1, 120_000)
  await world.operator.simulator('DELETE', '/faults')
  await world.fault({ kind: 'failSync', code: 'AllocationFailed', match: { sku: 'Standard_D2s_v5' }, count: 10_000 })
  await world.apply(pods('dear', 1))
  await world.until('the pod runs on the dear size', async () => (await world.running('dear')) === 1, 120_000)
  const own = (await world.list('nodeclaims')).filter(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'dear',
  )
  expect(own.map(({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type'])).toEqual([dear])
})
