// What joiner history report says of a handful of nodes, against what the cluster showed and the simulated Azure billed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spreadOf } from '../core/history/report/spread.ts'
import type { BilledVm } from '../deploy/local/azure/virtual-machines/bill.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { claimsPath, isTrue, type Seen, World } from './world.ts'

/** A life as history tells it. */
interface Life {
  readonly nodeClaim: string
  readonly created: string
  readonly ready: string
  readonly ended: string
}

interface Spread {
  readonly count: number
  readonly [percentile: string]: number
}

interface ReasonCount {
  readonly reason: string
  readonly nodePool: string
  readonly nodes: number
}

interface Report {
  readonly unreadable: number
  readonly nodes: { readonly created: number; readonly ended: number; readonly atEnd: number; readonly usd: number }
  readonly births: readonly ReasonCount[]
  readonly deaths: readonly ReasonCount[]
  readonly launches: { readonly created: number; readonly ready: number; readonly gaveUp: number }
  readonly latencies: { readonly all: Readonly<Record<string, Spread>> }
  readonly refusals: { readonly rows: readonly Readonly<Record<string, unknown>>[] }
  readonly methods: readonly Readonly<Record<string, unknown>>[]
  readonly interruptions: readonly {
    readonly nodeClaim: string
    readonly gone: string
    readonly drainedPods: number
    readonly replacement: { readonly nodeClaim: string; readonly ready: string }
    readonly outcome: string
  }[]
  readonly podWaits: { readonly plannedOntoNewNodes: Spread }
}

let world: World

beforeAll(async () => {
  world = await World.start()
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
  ]
  await world.startWithPool(nodePool({ requirements }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

/** How long each NodeClaim took to be ready, in ms, as the cluster showed it. */
const latencies = new Map<string, number>()

async function remember(): Promise<readonly Seen[]> {
  const claims = await world.list('nodeclaims')
  for (const claim of claims) {
    const { metadata, status } = claim
    const ready = status?.conditions?.find(({ type }) => type === 'Initialized')
    if (isTrue(claim, 'Initialized'))
      latencies.set(metadata.name, Date.parse(ready?.lastTransitionTime ?? '') - Date.parse(metadata.creationTimestamp))
  }
  return claims
}

/** Waits until two NodeClaims of the NodePool are ready, and none of these. */
const untilTwo = (...gone: readonly string[]) =>
  world.until('two NodeClaims are ready', async () => {
    const claims = (await remember()).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'general')
    const names = claims.map(({ metadata }) => metadata.name).sort()
    const isSettled = claims.every((claim) => isTrue(claim, 'Initialized') && !claim.metadata.deletionTimestamp)
    return names.length === 2 && isSettled && !gone.some((name) => names.includes(name)) && names
  })

const shown = async () => JSON.parse(await world.joiner('history', 'report', '--since', '1h', '-o', 'json')) as Report

test('the report is what happened', async () => {
  await world.operator.simulator('POST', '/settings', { evictions: { noticeMs: 20_000 } })
  await world.operator.api('POST', claimsPath, standaloneClaim('aged', { expireAfter: '20s' }))
  await world.until('the aged one is ready', async () => (await remember()) && latencies.has('aged'))
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 1 })
  await world.operator.api('POST', claimsPath, standaloneClaim('too-big', { resources: { requests: { cpu: '9000' } } }))
  await world.scale('inflate', 2)
  await world.untilRunning(2)
  const [interrupted = '', deleted = ''] = await untilTwo()
  // No NodeClaim that is older is taken for a replacement.
  await world.until('the nodes are some seconds old', async () =>
    (await remember()).every(({ metadata }) => Date.parse(metadata.creationTimestamp) < Date.now() - 6000),
  )
  await world.operator.simulator('POST', `/vms/aks-${interrupted}/evict`, {})
  await world.operator.kubectl(['delete', 'nodeclaim', deleted, '--wait=false'])
  const last = await untilTwo(interrupted, deleted)
  await world.untilRunning(2)
  await world.scale('inflate', 0)
  await world.untilNothingLeft()

  const report = await world.until('all lifecycles are closed', async () => {
    const found = await shown()
    return found.nodes.atEnd === 0 && found.methods.every(({ running }) => running === 0) && found
  })
  const { virtualMachines } = await world.operator.simulator<{ readonly virtualMachines: readonly BilledVm[] }>(
    'GET',
    '/bill',
  )
  expect(report).toMatchObject({ unreadable: 0, nodes: { created: 6, ended: 6 } })
  expect(report.births).toEqual([
    { reason: 'pods', nodePool: 'general', nodes: 4 },
    { reason: 'by-hand', nodePool: '(none)', nodes: 2 },
  ])
  expect(report.deaths).toEqual([
    { reason: 'Empty', nodePool: 'general', nodes: 2 },
    { reason: 'deleted', nodePool: 'general', nodes: 1 },
    { reason: 'expired', nodePool: '(none)', nodes: 1 },
    { reason: 'gave-up', nodePool: '(none)', nodes: 1 },
    { reason: 'interrupted', nodePool: 'general', nodes: 1 },
  ])
  expect(report.launches).toMatchObject({ created: 6, ready: 5, gaveUp: 1 })
  const usd = (vms: readonly BilledVm[], ms: (vm: BilledVm) => number) =>
    vms.reduce((sum, vm) => sum + ((vm.pricePerHour ?? Number.NaN) * ms(vm)) / 3_600_000, 0)
  expect(virtualMachines).toHaveLength(5)
  const billedUsd = usd(virtualMachines, ({ fromMs, toMs = Number.NaN }) => toMs - fromMs)
  // Joiner sees a VM begin before its node is ready, and end before its NodeClaim is gone.
  const { lives } = JSON.parse(await world.joiner('history', '--since', '1h', '-o', 'json')) as {
    readonly lives: readonly Life[]
  }
  const unseen = usd(virtualMachines, ({ name, toMs = Number.NaN }) => {
    const { created, ready, ended } = lives.find(({ nodeClaim }) => name === `aks-${nodeClaim}`) as Life
    return Date.parse(ready) - Date.parse(created) + Date.parse(ended) - toMs + 2000
  })
  expect(Math.abs(report.nodes.usd - billedUsd)).toBeLessThanOrEqual(unseen)

  expect(report.latencies.all['total']).toEqual(inSeconds([...latencies.values()]))
  const { aged: _, ...ofPods } = Object.fromEntries(latencies)
  expect(report.podWaits.plannedOntoNewNodes).toEqual(inSeconds(Object.values(ofPods)))
  expect(report.refusals.rows).toMatchObject([
    { reason: 'SKUNotAvailable', capacityType: 'spot', times: 1, nodeClaims: 1, becameReady: 1 },
  ])

  const perHour = usd(
    virtualMachines.filter(({ name }) => last.includes(name.slice('aks-'.length))),
    () => 3_600_000,
  )
  expect(report.methods).toMatchObject([
    { method: 'emptiness', reason: 'Empty', undone: 0, removed: 2, replacements: 0 },
  ])
  expect(report.methods[0]?.['savingsPerHour']).toBeCloseTo(perHour)

  expect(report.interruptions).toMatchObject([{ nodeClaim: interrupted, drainedPods: 1 }])
  const [{ gone, replacement, outcome } = { gone: '', replacement: undefined, outcome: '' }] = report.interruptions
  const billedTo = virtualMachines.find(({ name }) => name === `aks-${interrupted}`)?.toMs ?? Number.NaN
  const endedMs = Date.parse(lives.find(({ nodeClaim }) => nodeClaim === interrupted)?.ended ?? '')
  expect(Date.parse(gone)).toBeGreaterThanOrEqual(billedTo - 1000)
  expect(Date.parse(gone)).toBeLessThanOrEqual(endedMs + 1000)
  expect(latencies.has(replacement?.nodeClaim ?? '')).toBe(true)
  expect([interrupted, deleted]).not.toContain(replacement?.nodeClaim)
  expect(outcome).toBe(Date.parse(replacement?.ready ?? '') <= Date.parse(gone) ? 'in-time' : 'late')
})

function inSeconds(ms: readonly number[]): Spread {
  const spread = spreadOf(ms)
  if (spread === undefined) throw new Error('no NodeClaim was ready')
  const { count, ...values } = spread
  return { count, ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value / 1000])) }
}
