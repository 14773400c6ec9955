import { deployment } from '../../applied-objects.ts'
import { type Requirement, releasedPool, rollOut } from '../../proofs/rolling-out.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const poolLabel = 'karpenter.sh/nodepool'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
})

afterAll(() => world?.stop())

const only = (type: string): readonly Requirement[] => [
  { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [type] },
]
const podOn = (pool: string) => deployment({ name: pool, replicas: 1, nodeSelector: { [poolLabel]: pool } })

async function releasesOf(pool: string): Promise<readonly (string | undefined)[]> {
  const claims = (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
  return claims
    .map(({ metadata }) => metadata.labels?.['example.com/release'])
    .toSorted((a = '', b = '') => (a < b ? -1 : 1))
}

/**
 * One pool's replacements never join, and of the other's new type nothing is sold. VMs boot slowly: a pass begins with one node, so a budget is
 * full only if a node takes longer than four passes do, as it does on Azure and, without this, not on a busy machine.
 */
async function strand(): Promise<void> {
  await world.until('the other pools have their nodes', otherPodsRun)
  await world.timing({ bootMs: 12_000 })
  await world.fault({ kind: 'neverJoins', match: { sku: 'Standard_E4s_v5' }, forMs: 600_000 })
  await world.apply(
    releasedPool('2', 100, 'joinless', only('Standard_E4s_v5')),
    releasedPool('2', 100, 'unbuyable', only('Standard_E8s_v9')),
  )
  await world.until(
    'a replacement that never joins is waited for',
    async () => (await releasesOf('joinless')).length === 2,
  )
}

async function otherPodsRun(): Promise<boolean> {
  return (await world.running('joinless')) === 1 && (await world.running('unbuyable')) === 1
}

test('a rollout keeps its budget, and full, beside pools whose nodes cannot be replaced', async () => {
  await world.apply(
    releasedPool('1', 100, 'joinless', only('Standard_E4s_v5')),
    releasedPool('1', 100, 'unbuyable', only('Standard_E8s_v5')),
    podOn('joinless'),
    podOn('unbuyable'),
  )
  const report = await rollOut(world, { nodes: 20, percent: 20, least: 3, limitMs: 200_000, begin: strand })
  console.log(JSON.stringify(report.facts))
  expect(report.facts.mostCounted).toBe(4)
  // Four replacements that began together may end together, so that for a moment there is none. A rollout that waits for a stranded pool is below nearly all of the time; how long a pass takes beside how long a node takes is the machine's affair.
  expect(report.facts.belowMs / report.facts.betweenMs).toBeLessThan(0.5)
  expect(report.health.violations).toEqual([])
  expect(report.commands.flatMap(({ tooLate }) => tooLate)).toEqual([])
  expect(new Set(report.commands.flatMap(({ candidates }) => candidates)).size).toBe(20)
  // What cannot be replaced was not taken away meanwhile.
  expect(await otherPodsRun()).toBe(true)
  expect(await releasesOf('joinless')).toEqual(['1', '2'])
  expect(await releasesOf('unbuyable')).toEqual(['1'])
})
