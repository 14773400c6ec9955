import pino from 'pino'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { hourOf } from '../../core/cost/bill.ts'
import { ledgerMapOf } from '../../core/cost/ledger-format.ts'
import { type LedgerHour, sumOfPools } from '../../core/cost/slice.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { claimJson, condition, nodeJson, podJson } from '../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { sampleTime, sampleType } from '../../test/samples/sample-objects.ts'
import { exposition } from '../telemetry/gauge-family.ts'
import { CostLedger } from './cost-ledger.ts'
import { costGauges } from './cost-metrics.ts'
import { readLedger } from './ledger-store.ts'

useFakeTime()

let cluster: FakeCluster
let price: number
const size = 'Standard_D4s_v5'
const types = () => new Map([['default', [sampleType(size, price / 0.05)]]])
let known: ReturnType<typeof types>

beforeEach(() => {
  cluster = new FakeCluster()
  price = 3.6
  known = types()
})

/** A planner: its own cache of the same cluster. */
async function planner(): Promise<CostLedger> {
  const cache = Object.assign(cluster.cacheOf(), { synced: () => Promise.resolve() })
  const log = pino({ level: 'silent' })
  const now = () => Date.now()
  const ledger = new CostLedger({
    client: cluster.client,
    cache,
    instanceTypes: () => known,
    namespace: 'joiner',
    log,
    now,
  })
  ledger.start()
  await pass(0)
  return ledger
}

async function stored(): Promise<readonly LedgerHour[]> {
  const window = { fromMs: sampleTime, toMs: Date.now() }
  return [...(await readLedger({ client: cluster.client, namespace: 'joiner' }, window)).values()]
}

async function summed() {
  const hours = await stored()
  const { usd, idle, nodeHours } = sumOfPools(hours.flatMap(({ pools }) => [...pools.values()]))
  const namespaces: Record<string, number> = {}
  for (const [name, own] of hours.flatMap((hour) => [...hour.namespaces.byKey]))
    namespaces[name] = (namespaces[name] ?? 0) + own
  const covered = hours.flatMap((hour) => hour.covered.map(({ fromMs, toMs }) => (toMs - fromMs) / 1000))
  return { usd, idle, nodeSeconds: nodeHours * 3600, namespaces, covered }
}

const ofClaims = {
  'karpenter.sh/nodepool': 'default',
  'karpenter.sh/capacity-type': 'on-demand',
  'topology.kubernetes.io/zone': 'zone-1',
  'node.kubernetes.io/instance-type': size,
}
/** A claim that was launched so many seconds after the beginning. */
const launched = (name: string, seconds: number, status = 'True') =>
  claimJson(name, { metadata: { labels: ofClaims }, status: { conditions: [condition('Launched', status, seconds)] } })
const pod = (name: string, claim: string, namespace: string, cpu = '3') =>
  podJson(name, claim, {
    metadata: { namespace, labels: {} },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] },
  })

describe('the cost ledger', () => {
  test('stores what namespaces and nobody requested of the price, which together is the price', async () => {
    const ledger = await planner()
    ledger.lead(true)
    await pass(10_000)
    cluster.put('nodeclaims', launched('a', 10))
    await pass(10_000)
    cluster.put('nodes', nodeJson('a'))
    cluster.put('pods', pod('web', 'a', 'shop'))
    await pass(20_000)
    cluster.put('pods', { ...pod('web', 'a', 'shop'), status: { phase: 'Succeeded' } })
    await pass(10_000)
    cluster.remove('nodeclaims', 'a')
    await pass(30_000)
    await ledger.stop()
    // A tenth of a cent a second; 3 of the node's weight of 4 cores and 16 GiB.
    const { usd, idle, nodeSeconds, namespaces, covered } = await summed()
    expect([usd, nodeSeconds]).toEqual([expect.closeTo(0.04), expect.closeTo(40)])
    expect(namespaces).toEqual({ shop: expect.closeTo(0.02 / 2) })
    expect(idle + (namespaces['shop'] ?? 0)).toBeCloseTo(usd, 9)
    expect(covered).toEqual([60])
  })

  test('a planner that was killed loses nothing that still exists, and counts nothing twice', async () => {
    const first = await planner()
    first.lead(true)
    cluster.put('nodes', nodeJson('a'))
    cluster.put('nodeclaims', launched('a', 0))
    cluster.put('pods', pod('web', 'a', 'shop'))
    await pass(40_000)
    // Killed: it writes no more. The next one starts after a while.
    first.lead(false)
    await pass(100_000)
    const second = await planner()
    second.lead(true)
    await pass(40_000)
    const { usd, nodeSeconds, namespaces, covered } = await summed()
    expect(covered).toEqual([150])
    expect(nodeSeconds).toBeCloseTo(150, 0)
    expect(namespaces['shop']).toBeCloseTo(usd / 2, 3)
  })

  test('a planner that stood by goes on where the first ended, also for nodes that are gone', async () => {
    const [first, second] = [await planner(), await planner()]
    first.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(40_000)
    first.lead(false)
    cluster.remove('nodeclaims', 'a')
    await pass(100_000)
    second.lead(true)
    await pass(20_000)
    expect(await summed()).toMatchObject({ nodeSeconds: expect.closeTo(40, 1), covered: [120] })
  })

  test('two that both believe to plan count once', async () => {
    const both = [await planner(), await planner()]
    for (const one of both) one.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(95_000)
    expect(await summed()).toMatchObject({ nodeSeconds: expect.closeTo(75, 1), covered: [75] })
  })

  test('a long time without a planner stays unknown', async () => {
    const first = await planner()
    first.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(35_000)
    first.lead(false)
    await pass(20 * 60_000)
    const second = await planner()
    second.lead(true)
    await pass(50_000)
    expect((await summed()).covered).toEqual([15, 30])
  })

  test('follows prices, the end of a VM, and a launch that has to be repeated', async () => {
    const ledger = await planner()
    ledger.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(20_000)
    price = 7.2
    known = types()
    await pass(20_000)
    cluster.put('nodeclaims', launched('a', 40, 'Unknown'))
    await pass(35_000)
    // 15 s at the first price and 25 s at the second, which counts from the cut that is under way.
    expect((await summed()).usd).toBeCloseTo(0.015 + 0.05, 3)
  })

  test('ends with the accepted deletion of the VM, however long that takes', async () => {
    const ledger = await planner()
    ledger.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(20_000)
    const conditions = [condition('Launched'), condition('InstanceTerminating', 'True', 12)]
    cluster.put('nodeclaims', claimJson('a', { metadata: { labels: ofClaims }, status: { conditions } }))
    await pass(75_000)
    expect((await summed()).nodeSeconds).toBeCloseTo(12.5, 1)
  })

  test('counts a launch that a killed planner had not heard of, and nothing again after the end of a VM', async () => {
    const first = await planner()
    first.lead(true)
    await pass(60_000)
    // Accepted while the first one planned; the NodeClaim says so after its end.
    first.lead(false)
    const own = {
      labels: ofClaims,
      annotations: { [annotations.acceptedAt]: new Date(sampleTime + 50_000).toISOString() },
    }
    const claim = (...more: readonly ReturnType<typeof condition>[]) =>
      claimJson('a', { metadata: own, status: { conditions: [condition('Launched', 'True', 62), ...more] } })
    cluster.put('nodeclaims', claim())
    const second = await planner()
    second.lead(true)
    await pass(20_000)
    const gone = condition('InstanceTerminating', 'True', 72)
    cluster.put('nodeclaims', claim(gone))
    cluster.put('nodeclaims', claim(gone, condition('Drained')))
    await pass(70_000)
    cluster.remove('nodeclaims', 'a')
    await pass(60_000)
    expect((await summed()).nodeSeconds).toBeCloseTo(22.5, 3)
  })

  test('counts from when Azure accepted the VM, which the NodeClaim says later', async () => {
    const ledger = await planner()
    ledger.lead(true)
    await pass(10_000)
    const accepted = new Date(sampleTime + 2_500).toISOString()
    const own = { labels: ofClaims, annotations: { [annotations.acceptedAt]: accepted } }
    cluster.put(
      'nodeclaims',
      claimJson('a', { metadata: own, status: { conditions: [condition('Launched', 'True', 9)] } }),
    )
    await pass(40_000)
    expect((await summed()).nodeSeconds).toBeCloseTo(27.5, 3)
  })

  test('keeps the price of the launch where the NodeClaim has it', async () => {
    const ledger = await planner()
    ledger.lead(true)
    const kept = { labels: ofClaims, annotations: { [annotations.pricePerHour]: '7.2' } }
    cluster.put('nodeclaims', claimJson('a', { metadata: kept, status: { conditions: [condition('Launched')] } }))
    await pass(50_000)
    expect((await summed()).usd).toBeCloseTo(0.06, 3)
  })

  test.each([
    ['an hour', 3_600_000],
    ['a year', 365 * 86_400_000],
  ])('a clock that was %s ahead for a while costs nothing, and what follows is counted', async (_, aheadMs) => {
    const ledger = await planner()
    ledger.lead(true)
    cluster.put('nodes', nodeJson('a'))
    cluster.put('nodeclaims', launched('a', 0))
    await pass(60_000)
    vi.setSystemTime(Date.now() + aheadMs)
    await pass(60_000)
    cluster.put('pods', pod('web', 'a', 'shop'))
    await pass(60_000)
    // What was not stored yet when the clock was set stays unknown.
    expect(await summed()).toMatchObject({ nodeSeconds: expect.closeTo(120, 1), covered: [30, 90] })
    vi.setSystemTime(Date.now() - aheadMs)
    await pass(120_000)
    const { covered, nodeSeconds, usd, namespaces } = await summed()
    expect(covered).toEqual([270])
    expect(nodeSeconds).toBeCloseTo(270, 1)
    expect(usd).toBeCloseTo(0.27)
    expect(namespaces['shop']).toBeCloseTo(0.12)
  })

  test('keeps trying while the API server is away, and loses nothing', async () => {
    const ledger = await planner()
    const end = cluster.intercept(() => {
      throw new Error('the API server is down')
    })
    ledger.lead(true)
    cluster.put('nodeclaims', launched('a', 0))
    await pass(65_000)
    end()
    await pass(15_000)
    expect(await summed()).toMatchObject({ nodeSeconds: expect.closeTo(60, 1), covered: [60] })
    expect(cluster.names('configmaps')).toContain(ledgerMapOf(hourOf(sampleTime)))
  })

  test('reports what everything costs an hour, from the process that plans', async () => {
    const ledger = await planner()
    cluster.put('nodes', nodeJson('a'))
    cluster.put('nodeclaims', launched('a', 0))
    cluster.put('pods', pod('web', 'a', 'shop'))
    const lines = async () => {
      let text = ''
      for await (const chunk of exposition(costGauges(() => ledger.rate()))) text += chunk
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    }
    await pass(31_000)
    expect(await lines()).toEqual([])
    ledger.lead(true)
    expect(await lines()).toEqual([
      'joiner_cost_usd_per_hour{nodepool="default",capacity_type="on-demand"} 3.6',
      'joiner_cost_idle_usd_per_hour{nodepool="default",capacity_type="on-demand"} 1.8',
      'joiner_cost_namespace_usd_per_hour{namespace="shop"} 1.8',
    ])
  })
})
