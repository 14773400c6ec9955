// Temporal, then Joiner, are away for longer than each limit of a node's lifecycle; and what a limit ends while nothing is away.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Limits } from '../../../core/node-claim/limits.ts'
import { buildWorkflowBundle } from '../../../workers/bundle.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, isFast, test } from '../scenario.ts'

/** In virtual time the looks of a test take most of its time, and each reads all of them. */
const nodes = isFast ? 3 : 8
/** Each has a NodePool and a Deployment of its own, so that no pod finds room on a node of another. */
const phases = ['draining', 'joining', 'launching'] as const
type Phase = (typeof phases)[number]

/** A claim that nothing holds up takes a quarter of these, also on a busy machine. */
const limits: Limits = {
  launch: { attemptMs: 30_000, claimMs: 60_000 },
  registrationMs: 60_000,
  reboot: { issueMs: 60_000, recoveryMs: 60_000 },
}
/** Longer than each limit. */
const awayMs = limits.registrationMs + 10_000

let world: World
let folder: string
let settings: Readonly<Record<string, string>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-outage-'))
  const [table, bundle] = [join(folder, 'limits.js'), join(folder, 'workflow-bundle.js')]
  await writeFile(table, `export const limits = ${JSON.stringify(limits)}`)
  await writeFile(bundle, await buildWorkflowBundle('plain', table))
  settings = { JOINER_WORKFLOW_BUNDLE: bundle }
  world = await World.start()
  world.startJoiner('joiner', settings)
  const ofPhase = (name: Phase) => [
    nodePool({ name, consolidateAfter: 'Never' }),
    deployment({ name, apart: true, nodeSelector: { 'karpenter.sh/nodepool': name } }),
  ]
  await world.apply(nodeClass(), ...phases.flatMap(ofPhase))
  for (const pool of phases) await world.untilReady(pool)
})

afterAll(async () => {
  await world?.stop()
  await rm(folder, { recursive: true, force: true })
})

const claimsOf = async (...pools: readonly Phase[]): Promise<readonly Seen[]> =>
  (await world.list('nodeclaims')).filter(({ metadata }) =>
    pools.some((pool) => metadata.labels?.['karpenter.sh/nodepool'] === pool),
  )

async function untilAll(pool: Phase, condition: string): Promise<void> {
  await world.until(`${nodes} NodeClaims of ${pool} are ${condition}`, async () => {
    const claims = await claimsOf(pool)
    return claims.length === nodes && claims.every((claim) => isTrue(claim, condition))
  })
}

/** Ends nodes whose pods may not be evicted. */
async function beginDrains(): Promise<void> {
  await world.scale('draining', nodes)
  await untilAll('draining', 'Ready')
  await world.until('their pods run', async () => (await world.running('draining')) === nodes)
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'draining', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'draining' } } },
  })
  await world.operator.kubectl(['delete', 'nodeclaims', '-l', 'karpenter.sh/nodepool=draining', '--wait=false'])
  await world.until('all drain', async () => {
    const drained = (await world.list('nodes')).filter(({ spec }) =>
      spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'),
    )
    return drained.length === nodes
  })
}

/** PUTs of VMs, by the name of the VM. */
async function creates(): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { method, name } of await world.journal())
    if (method === 'PUT') counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

async function beginJoinsAndLaunches(bootMs: number): Promise<void> {
  await world.timing({ bootMs })
  await world.scale('joining', nodes)
  await untilAll('joining', 'Launched')
  await world.fault({ kind: 'latency', ms: 10_000, count: nodes })
  const before = (await creates()).size
  await world.scale('launching', nodes)
  await world.until('Azure holds the answers to all creates', async () => (await creates()).size === before + nodes)
}

const outages = {
  temporal: () => world.restartServer('temporal', awayMs),
  joiner: async () => {
    await world.crash()
    await new Promise((resolve) => setTimeout(resolve, awayMs))
    world.startJoiner('joiner', settings)
  },
}

test.each([
  // By the watches of the running process Nodes join while Temporal is away.
  { server: 'temporal', bootMs: 20_000 },
  // More than what their registration may take has passed before they join.
  { server: 'joiner', bootMs: awayMs + 10_000 },
] as const)('$server is away longer than each limit: no node is lost or bought twice', async ({ server, bootMs }) => {
  await beginDrains()
  await beginJoinsAndLaunches(bootMs)
  const before = (await claimsOf('joining', 'launching')).map(({ metadata }) => metadata.uid).sort()
  expect(before).toHaveLength(2 * nodes)
  const bought = await creates()
  await outages[server]()
  await untilAll('joining', 'Ready')
  await untilAll('launching', 'Ready')
  expect((await claimsOf('joining', 'launching')).map(({ metadata }) => metadata.uid).sort()).toEqual(before)
  expect(await creates()).toEqual(bought)
  expect((await world.azure()).virtualMachines).toHaveLength(3 * nodes)
  expect(await world.running('draining')).toBe(nodes)
  const timeouts = (await world.list('events')).filter(({ reason }) => reason?.endsWith('Timeout'))
  expect(timeouts.map(({ message }) => message)).toEqual([])
  await world.timing({ bootMs: 0 })
  await world.operator.kubectl(['delete', 'pdb', 'draining'])
  for (const pool of phases) await world.scale(pool, 0)
  await world.until('the drained nodes are gone', async () => (await claimsOf('draining')).length === 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})

test.each([
  { limit: 'registration', pool: 'joining', fault: { kind: 'neverJoins', count: 1 }, vm: expect.any(String) },
  { limit: 'launch', pool: 'launching', fault: { kind: 'failSync', code: 'InternalServerError', status: 500 } },
] as const)('a NodeClaim whose $limit takes longer than its limit is given up, and its run fails', async (row) => {
  const { limit, pool, fault, ...vm } = row
  await world.fault(limit === 'launch' ? { ...fault, count: 10_000 } : fault)
  await world.scale(pool, 1)
  const [{ metadata } = { metadata: undefined }] = await world.until('a NodeClaim', async () => {
    const claims = await claimsOf(pool)
    return claims.length > 0 && claims
  })
  const end = await endOf(world, metadata?.name ?? '')
  expect(end).toMatchObject({
    status: 'FAILED',
    type: 'GaveUp',
    outcome: 'gave-up',
    reason: expect.stringMatching(new RegExp(`^gave up: ${limit}_timeout: `)),
    ...vm,
  })
  expect('vm' in end).toBe('vm' in vm)
  await world.operator.simulator('DELETE', '/faults')
  await world.scale(pool, 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})
