// Money: many short lives, during which Joiner, its planner and Temporal are killed. What history and costs say is what the simulator billed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseLedgerMap } from '../api/kept/ledger-map.ts'
import { billedSpans } from '../core/cost/bill.ts'
import type { LedgerEntries } from '../core/cost/ledger-format.ts'
import { coveredUntil } from '../core/cost/slice.ts'
import type { BilledVm } from '../deploy/local/azure/virtual-machines/bill.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { readHistory } from '../starter/picture/history.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { World } from './world.ts'

/** Lifecycles in all. With 200 it takes about three minutes on two cores. */
const lifecycles = Number(process.env['JOINER_COST_LIFECYCLES'] ?? 40)
/** A VM is known to have begun and ended within fractions of a second, so lives of some length are needed for a percent. */
const lifeMs = Number(process.env['JOINER_COST_LIFE_MS'] ?? 25_000)
const hourMs = 3_600_000
const namespaces = ['shop', 'batch'] as const
const pools = { shop: 'on-demand', batch: 'spot' } as const
const perNamespace = Math.ceil(lifecycles / namespaces.length)

let world: World

/** The loops and lifecycles in one process, the planner in another, so that either can be killed. */
const startOthers = () => world.startJoiner('joiner', { JOINER_ROLES: 'core,bridge,azure,conversion' })
const startPlanner = () => world.startJoiner('planner', { JOINER_ROLES: 'planner' })

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  startOthers()
  startPlanner()
  // A node for each pod: two cores, of which a pod takes one.
  const small = { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] }
  for (const name of namespaces)
    await world.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      nodePool({
        name,
        consolidateAfter: 'Never',
        requirements: [
          small,
          { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: [pools[name]] },
        ],
      }),
      inNamespace(name, 0),
    )
  await world.apply(nodeClass())
  for (const name of namespaces) await world.untilReady(name)
})

afterAll(() => world?.stop())

function inNamespace(name: (typeof namespaces)[number], replicas: number) {
  const own = deployment({ name, replicas, nodeSelector: { 'karpenter.sh/nodepool': name } })
  return { ...own, metadata: { ...own.metadata, namespace: name } }
}

const bill = async () =>
  (await world.operator.simulator<{ readonly virtualMachines: readonly BilledVm[] }>('GET', '/bill')).virtualMachines
const usdOf = ({ fromMs, toMs = 0, pricePerHour = 0 }: BilledVm) => ((toMs - fromMs) / hourMs) * pricePerHour
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const joined = async () => (await world.azure()).virtualMachines.filter(({ state }) => state === 'Succeeded').length
const nodesReady = async () =>
  (await world.list('nodes')).filter(({ status }) =>
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  ).length

interface CostJson {
  readonly lines: readonly { readonly key: string; readonly usd: number; readonly nodeHours?: number }[]
  readonly total: { readonly usd: number; readonly nodeHours: number; readonly spotDiscountUsd: number }
  readonly idleUsd: number
  readonly unknownUsd: number
}
const cost = async (by: string) =>
  JSON.parse(await world.joiner('cost', '--group-by', by, '--since', '1h', '-o', 'json')) as CostJson

/** Up to when the ledger of today and yesterday is stored, in epoch ms. */
async function storedUntil(): Promise<number> {
  const path = '/api/v1/namespaces/joiner/configmaps?labelSelector=joiner.sh/cost'
  const { items } = await world.operator.api<{ readonly items: readonly { readonly data?: LedgerEntries }[] }>(
    'GET',
    path,
  )
  return coveredUntil(items.flatMap(({ data = {} }) => [...parseLedgerMap(data).hours.values()])) ?? 0
}

/** Until when the planner leads, in epoch ms, if it is not heard of again. */
async function leaseEndMs(): Promise<number> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-planner'
  const { spec } = await world.operator.api<{
    readonly spec: { readonly renewTime: string; readonly leaseDurationSeconds: number }
  }>('GET', path)
  return Date.parse(spec.renewTime) + spec.leaseDurationSeconds * 1000
}

/** How far a sum is from the bill, in percent of it. */
const off = (value: number, billed: number) => (100 * (value - billed)) / billed

test('history, costs and the shares of namespaces agree with the bill, after kills of Joiner, its planner and Temporal', async () => {
  const total = perNamespace * namespaces.length
  for (const name of namespaces) await world.apply(inNamespace(name, perNamespace))
  await world.until('a third of the VMs are there', async () => (await joined()) >= total / 3)
  await world.crash('planner')
  await world.crash('joiner')
  startPlanner()
  startOthers()
  await world.until('all nodes are ready', async () => (await nodesReady()) === total)
  const readyMs = Date.now()
  await world.restartServer('temporal')
  await world.crash('planner')
  await world.until("the planner's Lease has run out", async () => (await leaseEndMs()) < Date.now())
  startPlanner()
  await world.until('each has lived for a while', async () => Date.now() - readyMs >= lifeMs)
  for (const name of namespaces) await world.apply(inNamespace(name, 0))
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()

  const billed = await bill()
  expect(billed).toHaveLength(total)
  const usd = sum(billed.map(usdOf))
  const { lives } = await readHistory(world.temporal, {
    cluster: clusterName,
    sinceMs: Date.now() - hourMs,
    nowMs: Date.now(),
  })
  const spans = billedSpans(lives, { fromMs: 0, toMs: Date.now() })
  const seconds = sum(spans.map(({ fromMs, toMs }) => (toMs - fromMs) / 1000))
  const billedSeconds = sum(billed.map(({ fromMs, toMs = 0 }) => (toMs - fromMs) / 1000))
  const lastMs = Math.max(...billed.map(({ toMs = 0 }) => toMs))
  await world.until('the ledger is stored up to the last VM', async () => (await storedUntil()) > lastMs)
  const byNamespace = await cost('namespace')
  const byPool = await cost('nodepool')
  const ofPool = (name: string) => byPool.lines.find(({ key }) => key === name)?.usd ?? 0
  const ofNamespace = (name: string) => byNamespace.lines.find(({ key }) => key === name)?.usd ?? 0
  const shared = sum(namespaces.map(ofNamespace)) + byNamespace.idleUsd
  console.log(
    `${total} lifecycles, ${(billedSeconds / total).toFixed(1)} s each, ${usd.toFixed(4)} USD; off the bill: history ${off(seconds, billedSeconds).toFixed(2)} %, ` +
      `joiner cost ${off(byPool.total.usd, usd).toFixed(2)} %, namespaces and idle ${off(shared, usd).toFixed(2)} %`,
  )
  expect(lives).toHaveLength(total)
  expect(Math.abs(off(seconds, billedSeconds))).toBeLessThan(1)
  expect(Math.abs(off(byPool.total.usd, usd))).toBeLessThan(1)
  for (const name of namespaces) {
    const own = sum(billed.filter(({ tags }) => tags['karpenter.sh_nodepool'] === name).map(usdOf))
    expect(Math.abs(off(ofPool(name), own)), name).toBeLessThan(1)
    // A pod has a core of two cores and 8 GiB, for the time that its node is ready.
    expect(ofNamespace(name) / own, name).toBeGreaterThan(0.05)
    expect(ofNamespace(name) / own, name).toBeLessThan(0.6)
  }
  expect(Math.abs(off(shared, usd))).toBeLessThan(1)
  expect(byPool.total.spotDiscountUsd).toBeGreaterThan(0)
})
