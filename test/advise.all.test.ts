// What `joiner advise` promises beside Karpenter, Cluster Autoscaler and node auto-provisioning, against what a pass of Joiner saves.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterName } from '../deploy/local/cluster.ts'
import { Onlooker } from './advise/onlooker.ts'
import { asAgentPool, asMachines, clear, type Kept, kept } from './advise/rebuilt-nodes.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { auditedRequests } from './audit-log.ts'
import { Prices } from './proofs/solver-cost.ts'
import { claimsPath, type Seen, World } from './world.ts'

const pool = 'user1'
/** Nodes of each of two sizes. */
const each = 3
const web = 8
const zones = ['westus2-1', 'westus2-2', 'westus2-3']

/** Nothing is consolidated before it is asked for: the wait is longer than the test. */
function patientPool() {
  const { spec, ...plain } = nodePool({
    name: pool,
    consolidateAfter: '1h',
    requirements: [
      { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones },
    ],
  })
  const disruption = { ...spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' }
  return { ...plain, spec: { ...spec, disruption } }
}

/** Pods that each need a node of so many cores. */
const filler = (name: string, cores: string) =>
  deployment({
    name,
    replicas: each,
    cpu: '1',
    apart: true,
    nodeSelector: { 'karpenter.azure.com/sku-cpu': cores },
  })

let world: World
let onlooker: Onlooker
let prices: Prices
let before: Kept
/** USD an hour. */
let cost: number
let saved: number

beforeAll(async () => {
  world = await World.start({ audit: true })
  world.startJoiner()
  await world.apply(
    patientPool(),
    nodeClass(),
    filler('small', '4'),
    filler('large', '8'),
    deployment({ name: 'web', cpu: '600m' }),
  )
  await world.untilReady(pool)
  for (const name of ['small', 'large'])
    await world.until('the fillers run', async () => (await world.running(name)) === each)
  await world.scale('web', web)
  await world.until('the small pods run', async () => (await world.running('web')) === web)
  await world.scale('small', 0)
  await world.scale('large', 0)
  await world.until('the nodes are half empty', async () => (await world.list('pods')).length === web)
  prices = await Prices.read(world)
  onlooker = await Onlooker.arrive(world, 'onlooker')
  cost = await costNow()
})

afterAll(async () => {
  await onlooker?.leave()
  await world?.stop()
})

/** USD an hour of all nodes. */
async function costNow(): Promise<number> {
  return (await world.list('nodes')).reduce((sum, { metadata }) => sum + prices.ofNode(metadata.labels), 0)
}

/** NodeClaims as Karpenter leaves them: without what only Joiner writes. */
async function leaveToKarpenter(): Promise<void> {
  await world.crash()
  for (const { metadata } of await world.list('nodeclaims')) {
    const own = Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith('joiner.sh/'))
    const annotations = Object.fromEntries(own.map((key) => [key, null]))
    await world.operator.api<Seen>('PATCH', `${claimsPath}/${metadata.name}`, { metadata: { annotations } })
  }
}

const aksCluster = (properties: object) =>
  world.operator.simulator('POST', '/settings', { managedClusters: [{ name: clusterName, properties }] })

/** Within 5 % of what the real pass saved. */
function expectKept(promise: number | undefined): void {
  expect(promise).toBeGreaterThan(saved * 0.95)
  expect(promise).toBeLessThan(saved * 1.05)
}

test('beside Karpenter: a real pass then saves what was promised', async () => {
  await leaveToKarpenter()
  before = await kept(world)
  const advice = await onlooker.advice()
  expect(advice.unread).toEqual([])
  expect(advice.scalers.map(({ kind }) => kind)).toEqual(['Karpenter'])
  expect(advice.bill.perHour).toBeCloseTo(cost, 6)
  expect(advice.bill.pools).toMatchObject([{ kind: 'NodePool', name: pool, nodes: 2 * each, unpriced: [] }])
  expect(advice.nodePools).toEqual([])
  expect((await onlooker.run()).stdout).toContain('one consolidation pass would save')

  world.startJoiner()
  await world.joiner('consolidate')
  const left = 2 * each - (advice.pass?.nodesRemoved ?? 0) + (advice.pass?.nodesAdded ?? 0)
  await world.until('the pass is over', async () => (await world.azure()).virtualMachines.length === left)
  await world.until('no Node is left behind', async () => (await world.list('nodes')).length === left)
  saved = cost - (await costNow())
  expect(saved).toBeGreaterThan(cost / 4)
  expectKept(advice.pass?.savedPerHour)
})

test('beside Cluster Autoscaler: the same is promised, with NodePools that the API server takes', async () => {
  await world.crash()
  await world.operator.kubectl(['delete', 'deployment', '--all'])
  await clear(world)
  await asAgentPool(world, before, pool)
  const scaled = { enableAutoScaling: true, minCount: 1, maxCount: 10, availabilityZones: ['1', '2', '3'] }
  const kind = {
    mode: 'User',
    osType: 'Linux',
    osSKU: 'Ubuntu',
    vmSize: 'Standard_D4as_v5',
    maxPods: 250,
    osDiskSizeGB: 128,
  }
  await aksCluster({ agentPoolProfiles: [{ name: pool, ...kind, ...scaled }] })
  const path = join(onlooker.folder, 'nodepools.yaml')
  const advice = await onlooker.advice('--budget', '100%', '--write-nodepools', path)
  expect(advice.unread).toEqual([])
  expect(advice.scalers.map((one) => one.kind)).toEqual(['Cluster Autoscaler'])
  expect(advice.bill.perHour).toBeCloseTo(cost, 6)
  expect(advice.bill.pools).toMatchObject([{ kind: 'agent pool', name: pool, nodes: 2 * each }])
  expectKept(advice.pass?.savedPerHour)
  const taken = await world.operator.kubectl(['create', '--dry-run=server', '-f', path])
  expect(taken).toContain(`nodepool.karpenter.sh/${pool} created (server dry run)`)
  expect(taken).toContain(`aksnodeclass.karpenter.azure.com/${pool} created (server dry run)`)
  expect((await onlooker.run('-o', 'html')).stdout).toContain(`NodePool ${pool}`)
})

test('beside node auto-provisioning: the same is promised', async () => {
  await clear(world)
  await asMachines(world, before)
  await aksCluster({ nodeProvisioningProfile: { mode: 'Auto' } })
  const advice = await onlooker.advice()
  expect(advice.scalers.map(({ kind }) => kind)).toEqual(['node auto-provisioning'])
  expectKept(advice.pass?.savedPerHour)
})

test('only gets and lists were asked for', async () => {
  const asked = (await auditedRequests(world.cluster.stateDir)).filter(({ actor }) => actor.includes('onlooker'))
  expect(asked.length).toBeGreaterThan(30)
  expect(asked.filter(({ what }) => !/^(get|list) /.test(what))).toEqual([])
})
