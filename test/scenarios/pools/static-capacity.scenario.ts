// Static NodePools: as many nodes as replicas, whatever dies in between, and no other ones.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { claimsPath, isTrue, type Seen, type World } from '../../world.ts'
import { afterAll, afterEach, beforeAll, expect, test } from '../scenario.ts'

interface SeenPool {
  readonly status: { readonly nodes?: number; readonly replicas?: number }
}

const poolPath = '/apis/karpenter.sh/v1/nodepools/fixed'
const revision = 'revision'

let faulty: FaultyWorld
let world: World

beforeAll(async () => {
  faulty = await FaultyWorld.startServers({ FEATURE_GATES: 'StaticCapacity=true', JOINER_RESYNC_INTERVAL: '5s' })
  world = faulty.world
  faulty.startJoiner()
  await world.apply(nodeClass(), nodePool())
  await world.untilReady('general')
})

afterAll(() => faulty?.stop())

afterEach(() => faulty.reset())

const byPool = (pool: string) => async () =>
  (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool)
const fixed = byPool('fixed')
const dynamic = byPool('general')
const staying = (claims: readonly Seen[]) => claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
const namesOf = (claims: readonly Seen[]) => claims.map(({ metadata }) => metadata.name).sort()
const scaleTo = (replicas: number) => world.operator.kubectl(['scale', 'nodepool', 'fixed', `--replicas=${replicas}`])
const change = (spec: object) => world.operator.api('PATCH', poolPath, { spec })

/** Waits until the pool has exactly so many nodes, all ready, with a VM each, and nothing else. Returns its NodeClaims. */
async function untilFixed(count: number): Promise<readonly Seen[]> {
  return world.until(`exactly ${count} nodes of the static NodePool`, async () => {
    const [claims, { virtualMachines, networkInterfaces }] = [await world.list('nodeclaims'), await world.azure()]
    const isExact = [claims, virtualMachines, networkInterfaces].every((each) => each.length === count)
    return isExact && claims.every((claim) => isTrue(claim, 'Ready')) && claims
  })
}

test('kill -9 between creations leaves exactly the replicas; what the dead process had sent goes again', async () => {
  const hold = faulty.proxy.hold(({ method, path }) => method === 'POST' && path === claimsPath)
  const pool = nodePool({ name: 'fixed', budget: '1' })
  await world.apply({ ...pool, spec: { ...pool.spec, replicas: 5 } })
  await world.until('three creations are sent', async () => hold.count >= 3)
  await hold.carryOut()
  await hold.carryOut()
  await world.crash()
  expect(await fixed()).toHaveLength(2)
  await faulty.restart()
  const five = await untilFixed(5)
  expect(five.every((claim) => !isTrue(claim, 'Consolidatable'))).toBe(true)

  await hold.carryOut()
  expect(await fixed()).toHaveLength(6)
  await untilFixed(5)
  const scale = await world.until('the scale counts 5 nodes', async () => {
    const found = await world.operator.api<SeenPool>('GET', `${poolPath}/scale`)
    return found.status.replicas === 5 && found
  })
  expect(scale).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 5 } })
})

test('pods get no more nodes of it than replicas; scaled up it makes more, scaled down the empty ones go', async () => {
  const own = { 'karpenter.sh/nodepool': 'fixed' }
  await world.apply(deployment({ name: 'own', replicas: 6, apart: true, nodeSelector: own }))
  await world.until('five of the pods run', async () => (await world.running('own')) === 5)
  await world.until('an event reports the sixth', async () =>
    (await world.list('events')).some(({ reason }) => reason === 'FailedScheduling'),
  )
  expect(await fixed()).toHaveLength(5)
  await scaleTo(6)
  await untilFixed(6)
  await world.until('the sixth pod runs', async () => (await world.running('own')) === 6)

  await world.scale('own', 3)
  await world.until('three pods are left', async () => (await world.list('pods')).length === 3)
  const pods = await world.list('pods')
  const six = namesOf(await fixed())
  await scaleTo(3)
  const left = await untilFixed(3)
  expect(namesOf(await world.list('pods'))).toEqual(namesOf(pods))
  const nodes = new Set(pods.map(({ spec }) => spec.nodeName))
  expect(nodes).toEqual(new Set(left.map(({ metadata }) => `aks-${metadata.name}`)))
  const shown = JSON.parse(await world.joiner('history', '-o', 'json')) as {
    readonly lives: readonly { readonly came: { readonly kind: string }; readonly went?: { readonly kind: string } }[]
  }
  expect(shown.lives.every(({ came }) => came.kind === 'static')).toBe(true)
  expect(shown.lives.filter(({ went }) => went?.kind === 'scaled-down')).toHaveLength(4)
  for (const name of six.filter((one) => !namesOf(left).includes(one)))
    expect(await endOf(world, name)).toMatchObject({
      status: 'COMPLETED',
      outcome: 'scaled-down',
      reason: 'scaled down: spec.replicas of its NodePool was 3',
    })
})

test('a full limit stages no replacement, which an event says, and holds replicas down', async () => {
  const before = namesOf(await fixed())
  await change({ limits: { nodes: '3' }, template: { metadata: { labels: { [revision]: '2' } } } })
  await world.until('an event says that the limit is full', async () =>
    (await world.list('events')).some(
      ({ message, involvedObject }) =>
        message?.includes('tatic NodePool is at its node limit and cannot stage a replacement') === true &&
        before.includes(involvedObject?.name ?? ''),
    ),
  )
  await scaleTo(4)
  await world.until('Joiner has seen the limit', async () =>
    (await world.cluster.supervisor.tail('joiner', 2000)).includes('nodepool node limit reached'),
  )
  expect(namesOf(await fixed())).toEqual(before)
})

test('drift replaces one by one under the budget, each node after its replacement, across a kill -9', async () => {
  await scaleTo(3)
  // Only the replacement has room for the pod of a node that goes, or a node of the dynamic NodePool, which nothing needs.
  await world.apply(deployment({ name: 'free', replicas: 3, cpu: '10m', apart: true }))
  await world.until('its pods run', async () => (await world.running('free')) === 3)
  const before = namesOf(await fixed())
  const isNew = (claim: Seen) => claim.metadata.labels?.[revision] === '2'
  const seen = { staying: new Set<number>(), most: 0, fewestReady: 3, dynamic: 0, crashes: 0 }
  await change({ limits: { nodes: '4' } })
  await world.until('all are replaced', async () => {
    const claims = await fixed()
    seen.staying.add(staying(claims).length)
    seen.most = Math.max(seen.most, claims.length)
    seen.fewestReady = Math.min(seen.fewestReady, staying(claims).filter((claim) => isTrue(claim, 'Ready')).length)
    seen.dynamic += (await dynamic()).length
    if (seen.crashes === 0 && claims.some(isNew)) {
      seen.crashes = 1
      await faulty.restart()
    }
    return claims.length === 3 && claims.every(isNew)
  })
  expect(seen).toEqual({ staying: new Set([3, 4]), most: 4, fewestReady: 3, dynamic: 0, crashes: 1 })
  const after = await untilFixed(3)
  expect(namesOf(after).filter((name) => before.includes(name))).toEqual([])
  await world.until('the pods run', async () =>
    [await world.running('own'), await world.running('free')].every((running) => running === 3),
  )
})

test('with the gate TerminateFirstDrift a node goes before its replacement where the limit is full', async () => {
  await faulty.restart({ FEATURE_GATES: 'StaticCapacity=true,TerminateFirstDrift=true' })
  const isNewest = (claim: Seen) => claim.metadata.labels?.[revision] === '3'
  const counts = new Set<number>()
  await change({ limits: { nodes: '3' }, template: { metadata: { labels: { [revision]: '3' } } } })
  await world.until('all are replaced', async () => {
    const claims = await fixed()
    counts.add(claims.length)
    return claims.length === 3 && claims.every((claim) => isNewest(claim) && isTrue(claim, 'Ready'))
  })
  expect(Math.max(...counts)).toBe(3)
  await world.until('the pods run', async () =>
    [await world.running('own'), await world.running('free')].every((running) => running === 3),
  )
})

test('with the NodePool everything goes', async () => {
  await world.operator.kubectl(['delete', 'nodepool', 'fixed', '--wait=false'])
  await world.operator.kubectl(['delete', 'deployment', 'own', 'free'])
  await world.untilNothingLeft()
})
