import type { disruptionCommand } from '../../../workflows/disruption-command.ts'
import { commandStatusQuery, consolidateNowSignal, pauseUpdate, resumeUpdate } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s' })
  await world.apply(nodeClass())
})

afterAll(() => world?.stop())

const poolLabel = 'karpenter.sh/nodepool'
const stamp = 'joiner.sh/disruption-command'
const replacementFor = 'joiner.sh/replacement-for'
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'
const doNotDisrupt = 'karpenter.sh/do-not-disrupt'

interface SeenClaim extends Seen {
  readonly status?: Seen['status'] & { readonly nodeName?: string }
}

/** A NodePool of sizes with so many cores that saves money where it can. */
function savingPool(name: string, cores: readonly string[], consolidateAfter = '1s') {
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: cores },
  ]
  const pool = nodePool({ name, requirements, consolidateAfter })
  const disruption = { ...pool.spec.disruption, consolidationPolicy: 'WhenEmptyOrUnderutilized' }
  return { ...pool, spec: { ...pool.spec, disruption } }
}

const podsOf = (pool: string, replicas: number, cpu: string) =>
  deployment({ name: pool, replicas, cpu, nodeSelector: { [poolLabel]: pool } })

async function claimsOf(pool: string): Promise<readonly SeenClaim[]> {
  return (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
}

const isTrue = (claim: Seen, type: string) =>
  claim.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true

async function untilSettled(pool: string, nodes: number, pods: number, ms = 60_000): Promise<readonly SeenClaim[]> {
  return world.until(
    `${pods} pods of ${pool} run on ${nodes} nodes`,
    async () => {
      const claims = await claimsOf(pool)
      const isUp = claims.length === nodes && claims.every((claim) => isTrue(claim, 'Initialized'))
      return isUp && (await world.running(pool)) === pods && claims
    },
    ms,
  )
}

/** What a command leaves on a pool's NodeClaims and Nodes while it runs. */
async function traces(pool: string): Promise<readonly string[]> {
  const claims = (await claimsOf(pool)).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const nodes = (await world.list('nodes')).filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
  return [
    ...claims.flatMap(({ metadata: { name, annotations = {} }, status }) => [
      ...[stamp, replacementFor].filter((key) => key in annotations).map((key) => `${name}: ${key}`),
      ...(status?.conditions ?? []).filter(({ type }) => type === 'DisruptionReason').map(() => `${name}: condition`),
    ]),
    ...nodes
      .filter(({ spec }) => spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted'))
      .map(({ metadata }) => `${metadata.name}: taint`),
  ]
}

const patchPool = (name: string, spec: unknown) =>
  world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${name}`, { spec })

/** Follows a pool until `end` holds; returns for each NodeClaim that went what stood when its deletion was first seen. */
async function deletions(
  pool: string,
  end: () => Promise<boolean>,
): Promise<ReadonlyMap<string, readonly SeenClaim[]>> {
  const seen = new Map<string, readonly SeenClaim[]>()
  await world.until(`the command over nodes of ${pool} is done`, async () => {
    const claims = await claimsOf(pool)
    for (const { metadata } of claims)
      if (metadata.deletionTimestamp !== undefined && !seen.has(metadata.name)) seen.set(metadata.name, claims)
    return end()
  })
  return seen
}

/** Two nodes with two pods each, of which each then loses one. */
async function halfEmpty(pool: string): Promise<void> {
  await world.apply(podsOf(pool, 4, '1500m'))
  await untilSettled(pool, 2, 4)
  const pods = (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === pool)
  for (const [, [first]] of Map.groupBy(pods, ({ spec }) => spec.nodeName))
    await world.operator.kubectl(['annotate', 'pod', first?.metadata.name ?? '', `${deletionCost}=-10`])
  await world.scale(pool, 2)
}

test('two half-empty nodes become one, and all pods run on it', async () => {
  await world.apply(savingPool('merge', ['4']))
  await world.untilReady('merge')
  await halfEmpty('merge')
  const both = (await claimsOf('merge')).map(({ metadata }) => metadata.name)
  const [left] = await untilSettled('merge', 1, 2, 90_000)
  await world.until('nothing is left of the command', async () => (await traces('merge')).length === 0)
  const reported = (await world.list('events')).map(({ reason, message }) => `${reason}: ${message}`)
  expect(reported).toContain('DisruptionTerminating: Disrupting Node: Underutilized')
  const commands = world.temporal.workflow.list({ query: `WorkflowType = 'disruptionCommand' AND NodePool = 'merge'` })
  const results: unknown[] = []
  for await (const { workflowId } of commands)
    results.push(await world.temporal.workflow.getHandle(workflowId).result())
  expect(results).toEqual([{ outcome: 'done', why: '1 node removed', savings: 0.154 }])
  const [gone = ''] = both.filter((name) => name !== left?.metadata.name)
  expect(await endOf(world, gone)).toMatchObject({
    status: 'COMPLETED',
    outcome: 'disruption',
    reason: expect.stringMatching(/^Underutilized \(command /),
  })
})

test('an expensive node is replaced by a cheaper one, which is up before the old one goes', async () => {
  await world.apply(savingPool('expensive', ['16']), podsOf('expensive', 1, '1'))
  const [expensive] = await untilSettled('expensive', 1, 1)
  // Long enough that the command is seen to wait for its replacement.
  await world.timing({ bootMs: 4000 })
  await world.apply(savingPool('expensive', ['2', '16']))
  const seen = await deletions('expensive', async () => {
    const claims = await claimsOf('expensive')
    return (
      claims.length === 1 &&
      claims[0]?.metadata.name !== expensive?.metadata.name &&
      (await world.running('expensive')) === 1
    )
  })
  expect([...seen.keys()]).toEqual([expensive?.metadata.name])
  const [beside] = (seen.get(expensive?.metadata.name ?? '') ?? []).filter(
    ({ metadata }) => metadata.uid !== expensive?.metadata.uid,
  )
  expect(beside?.metadata.name).toMatch(/^expensive-[0-9a-f]{8}-0$/)
  expect(beside && isTrue(beside, 'Initialized')).toBe(true)
  const [cheap] = await claimsOf('expensive')
  expect(cheap?.metadata.labels?.['karpenter.azure.com/sku-cpu']).toBe('2')
  await world.until('nothing is left of the command', async () => (await traces('expensive')).length === 0)
  await world.timing({ bootMs: 0 })
  const reported = (await world.list('events')).filter(
    ({ involvedObject }) => involvedObject?.name === cheap?.metadata.name,
  )
  expect(reported.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(
    expect.arrayContaining([
      'DisruptionLaunching: Launching NodeClaim: Underutilized',
      'DisruptionWaitingReadiness: Waiting on readiness to continue disruption',
    ]),
  )
})

test('a drifted node is replaced at once, without consolidation', async () => {
  await world.apply(savingPool('drifting', ['2'], 'Never'), podsOf('drifting', 1, '1'))
  const [old] = await untilSettled('drifting', 1, 1)
  await patchPool('drifting', { template: { metadata: { labels: { team: 'blue' } } } })
  const seen = await deletions('drifting', async () => {
    const claims = await claimsOf('drifting')
    return claims.length === 1 && claims[0]?.metadata.name !== old?.metadata.name
  })
  expect([...seen.keys()]).toEqual([old?.metadata.name])
  const [renewed] = await untilSettled('drifting', 1, 1)
  expect(renewed?.metadata.labels?.['team']).toBe('blue')
  await world.until('nothing is left of the command', async () => (await traces('drifting')).length === 0)
})

test('a replacement that never comes up is taken back with all that was done for it, and the rollout goes on later', async () => {
  const [old] = await untilSettled('drifting', 1, 1)
  await world.fault({ kind: 'failSync', code: 'AllocationFailed', count: 100_000 })
  await patchPool('drifting', { template: { metadata: { labels: { team: 'green' } } } })
  await world.until('a replacement was begun', async () => (await claimsOf('drifting')).length === 2)
  await world.until(
    'the command is undone',
    async () => (await claimsOf('drifting')).length === 1 && (await traces('drifting')).length === 0,
  )
  const [kept] = await claimsOf('drifting')
  expect(kept?.metadata.uid).toBe(old?.metadata.uid)
  expect(kept?.metadata.deletionTimestamp).toBeUndefined()
  expect(await world.running('drifting')).toBe(1)
  await world.operator.simulator('DELETE', '/faults')
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-unavailable-offerings'])
  await world.until('the node is replaced in the end', async () => {
    const claims = await claimsOf('drifting')
    return claims.length === 1 && claims[0]?.metadata.labels?.['team'] === 'green'
  })
})

test('a pause while a replacement starts: the command is taken back, and the rollout goes on after the resume', async () => {
  const loop = world.loop('disruption')
  const [old] = await untilSettled('drifting', 1, 1)
  await world.timing({ bootMs: 4000 })
  await patchPool('drifting', { template: { metadata: { labels: { team: 'red' } } } })
  await world.until('a replacement starts', async () =>
    (await traces('drifting')).some((t) => t.includes(replacementFor)),
  )
  await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'audit', scope: { nodePool: 'drifting' } }] })
  await world.until(
    'the command is undone',
    async () => (await claimsOf('drifting')).length === 1 && (await traces('drifting')).length === 0,
  )
  const [kept] = await claimsOf('drifting')
  expect([kept?.metadata.uid, kept?.metadata.deletionTimestamp]).toEqual([old?.metadata.uid, undefined])
  await world.timing({ bootMs: 0 })
  await loop.executeUpdate(resumeUpdate, { args: [dated({ scope: { nodePool: 'drifting' } })] })
  await world.until('the node is replaced', async () => {
    const claims = await claimsOf('drifting')
    return claims.length === 1 && claims[0]?.metadata.labels?.['team'] === 'red'
  })
})

test('consolidateNow takes what it is limited to and no more, without waiting', async () => {
  const pool = savingPool('asked', ['2'], '1h')
  await world.apply(
    pool,
    deployment({ name: 'asked', replicas: 3, apart: true, nodeSelector: { [poolLabel]: 'asked' } }),
  )
  await untilSettled('asked', 3, 3)
  await world.scale('asked', 0)
  await world.until('the pods are gone', async () => (await world.running('asked')) === 0)
  const loop = world.loop('disruption')
  await loop.signal(consolidateNowSignal, dated({ nodePools: ['asked'], budget: 1 }))
  await world.until('one node is gone', async () => (await claimsOf('asked')).length === 2)
  const [one, other] = await claimsOf('asked')
  await loop.signal('consolidateNow', { nodes: 'all of them' })
  await loop.signal(consolidateNowSignal, dated({ nodes: [one?.status?.nodeName ?? ''] }))
  await world.until('the node that was named is gone', async () => (await claimsOf('asked')).length === 1)
  expect((await claimsOf('asked'))[0]?.metadata.uid).toBe(other?.metadata.uid)
  await loop.signal(consolidateNowSignal, dated({ nodePools: ['asked'] }))
  await world.until('the last one is gone', async () => (await claimsOf('asked')).length === 0)
})

/** The command that waits to be validated again. */
async function validatingCommand() {
  const query = "WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'"
  for await (const { workflowId, runId } of world.temporal.workflow.list({ query })) {
    const handle = world.temporal.workflow.getHandle<typeof disruptionCommand>(workflowId, runId)
    if ((await handle.query(commandStatusQuery)).dueMs !== undefined) return handle
  }
  return undefined
}

test('pods that must not be disrupted appear during the validation delay: nothing happens', async () => {
  await world.apply(savingPool('held', ['4']))
  await world.untilReady('held')
  await halfEmpty('held')
  const before = await world.until('two nodes with a pod each', async () => {
    const claims = await claimsOf('held')
    return claims.length === 2 && (await world.running('held')) === 2 && claims
  })
  const waiting = await world.until('a proposal waits', () => validatingCommand())
  const pods = (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === 'held')
  for (const { metadata } of pods)
    await world.operator.kubectl(['annotate', 'pod', metadata.name, `${doNotDisrupt}=true`])
  expect(await waiting.result()).toEqual({ outcome: 'rejected', why: expect.stringContaining('held'), savings: 0 })
  await world.until('its rejection is reported', async () =>
    (await world.list('events')).some(
      ({ reason, message }) => reason === 'ConsolidationRejected' && message?.includes('reason: churn'),
    ),
  )
  expect((await claimsOf('held')).map(({ metadata }) => metadata.uid).sort()).toEqual(
    before.map(({ metadata }) => metadata.uid).sort(),
  )
  expect(await traces('held')).toEqual([])
})
