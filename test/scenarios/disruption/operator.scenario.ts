import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { consolidateUpdate, pauseUpdate, resumeUpdate } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { operatorUser, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World
let directory: string

const pool = {
  ...nodePool({
    requirements: [
      { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5', 'Standard_D4s_v5'] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    ],
  }),
}
// Nothing is consolidated by itself: the wait is longer than the test.
const patient = {
  ...pool,
  spec: {
    ...pool.spec,
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '1h',
      budgets: [{ nodes: '100%' }],
    },
  },
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'joiner-plans-'))
  world = await World.start()
  world.startJoiner()
  await world.apply(
    patient,
    nodeClass(),
    deployment({ name: 'filler', replicas: 2, cpu: '3', apart: true }),
    deployment({ name: 'web', cpu: '500m' }),
  )
  await world.untilReady('general')
  await world.until('the fillers run', async () => (await world.running('filler')) === 2)
  await world.scale('web', 2)
  await world.until('a small pod runs on each node', async () => (await world.running('web')) === 2)
  await world.scale('filler', 0)
  await world.until('the nodes are half empty', async () => (await world.list('pods')).length === 2)
})

afterAll(async () => {
  await world?.stop()
  await rm(directory, { recursive: true, force: true })
})

async function planned(...options: readonly string[]): Promise<DisruptionPlan> {
  return JSON.parse(await world.joiner('plan', '--output', 'json', ...options)) as DisruptionPlan
}

/** What a command of Joiner that does not do what was asked for printed. */
async function refusal(...options: readonly string[]): Promise<{ readonly code: number; readonly stderr: string }> {
  return world.joiner(...options).then(
    (printed) => ({ code: 0, stderr: `not refused: ${printed}` }),
    (error: { readonly code: number; readonly stderr: string }) => error,
  )
}

async function nodeNames(): Promise<readonly string[]> {
  return (await world.list('nodes')).map(({ metadata }) => metadata.name).sort()
}

test('a plan says what would go, come and move, and nothing is done', async () => {
  const nodes = await nodeNames()
  const idle = await planned()
  expect(idle.commands).toEqual([])
  expect(idle.blockers.map(({ node = '' }) => node).sort()).toEqual(nodes)
  for (const { moves, waitsUntil } of idle.blockers) {
    expect(moves.map(({ cause }) => cause.kind)).toContain('not-consolidatable')
    expect(Date.parse(waitsUntil ?? '')).toBeGreaterThan(Date.now())
  }
  const { commands, cost } = await planned('--ignore-consolidate-after')
  expect(commands).toMatchObject([
    { reason: 'Underutilized', decision: 'replace', replacements: [{ instanceTypes: ['Standard_D2s_v5'], pods: 2 }] },
  ])
  const [command] = commands
  expect(command?.candidates.map(({ node }) => node).sort()).toEqual(nodes)
  expect(command?.candidates.flatMap(({ pods }) => pods.map(({ newNode }) => newNode))).toEqual([1, 1])
  expect(cost.nodes.before).toBeCloseTo(cost.cluster.before)
  expect(cost.nodes.after).toBeLessThan(cost.nodes.before / 3)
  const one = await planned('--ignore-consolidate-after', '--node', nodes[0] ?? '', '--node', 'nobody')
  expect(one.commands.flatMap(({ candidates }) => candidates.map(({ node }) => node))).toEqual([nodes[0]])
  expect(one.warnings).toEqual(['there is no Node or NodeClaim "nobody"'])
  const text = await world.joiner('plan', '--ignore-consolidate-after', '--output-file', join(directory, 'plan.json'))
  expect(text).toMatch(
    /^PLAN {4}[0-7][0-9a-f]{7} \(.*:an-operator\): 2 nodes would go, 1 new node would come, .* USD a month saved/,
  )
  expect(text).toContain('whole cluster')
  const saved = JSON.parse(await readFile(join(directory, 'plan.json'), 'utf8')) as DisruptionPlan
  expect(text).toContain(`PLAN    ${saved.id}`)
  expect(await nodeNames()).toEqual(nodes)
  expect((await world.list('nodes')).flatMap(({ spec }) => spec.taints ?? [])).toEqual([])
})

test('a plan whose pods must not be disrupted any more is not applied: what changed is said, and nothing is done', async () => {
  const nodes = await nodeNames()
  const { id } = await planned('--ignore-consolidate-after')
  const [pod] = await world.list('pods')
  const name = pod?.metadata.name ?? ''
  await world.operator.kubectl(['annotate', 'pod', name, 'karpenter.sh/do-not-disrupt=true'])
  const { code, stderr } = await refusal('apply', id)
  expect(code).toBe(1)
  expect(stderr).toContain(`command 1: node ${pod?.spec.nodeName}: Pod has "karpenter.sh/do-not-disrupt" annotation`)
  expect(stderr).toContain(`(Pod=default/${name})`)
  expect(stderr).toContain('nothing was done')
  await world.operator.kubectl(['annotate', 'pod', name, 'karpenter.sh/do-not-disrupt-'])
  expect(await nodeNames()).toEqual(nodes)
  expect((await world.list('nodes')).flatMap(({ spec }) => spec.taints ?? [])).toEqual([])
  expect((await refusal('apply', '7fffffff')).stderr).toContain('there is no plan 7fffffff')
})

test('under a pause nothing is consolidated or applied, and the pause is named', async () => {
  const loop = world.loop('disruption')
  await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'release day', by: 'alice' }] })
  const plan = await planned('--ignore-consolidate-after')
  expect(plan.commands).toHaveLength(1)
  expect(plan.pauses.join()).toMatch(/^all disruption is paused by alice .*release day$/)
  for (const asked of [['consolidate'], ['apply', plan.id]])
    expect(await refusal(...asked)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^all disruption is paused by alice .*release day\n$/),
    })
  const scope = { nodePool: 'general' }
  await loop.executeUpdate(pauseUpdate, { args: [{ reason: 'audit', scope }] })
  await loop.executeUpdate(resumeUpdate, { args: [dated()] })
  for (const asked of [
    ['consolidate', '--nodepool', 'general'],
    ['apply', plan.id],
  ])
    expect((await refusal(...asked)).stderr).toMatch(/^disruption of NodePool "general" is paused .*audit\n$/)
  await loop.executeUpdate(resumeUpdate, { args: [dated({ all: true })] })
})

test('a plan is applied: two half-empty nodes become one', async () => {
  const before = await nodeNames()
  const printed = await world.joiner('apply', join(directory, 'plan.json'))
  expect(printed).toMatch(
    /^BEGUN {4}multi-node-[0-9a-f]{10}-[0-9a-f]{8}: Underutilized, 2 nodes .* USD a month saved\n/,
  )
  expect(printed).toMatch(/done: 2 nodes removed/)
  const after = await nodeNames()
  expect(after).toHaveLength(1)
  expect(before).not.toContain(after[0])
  await world.until('the pods run', async () => (await world.running('web')) === 2)
  const [reported] = (await world.list('events')).filter(({ reason }) => reason === 'PlanApplied')
  expect(reported).toMatchObject({
    involvedObject: { name: 'general' },
    message: expect.stringMatching(new RegExp(`is carried out as ${operatorUser} asked: .* can go$`)),
  })
  expect((await refusal('apply', join(directory, 'plan.json'))).stderr).toContain('is gone')
})

test('consolidate takes what its budget allows, without waiting for consolidateAfter', async () => {
  const kept = await nodeNames()
  await world.scale('filler', 2)
  await world.until('two more nodes run', async () => (await world.running('filler')) === 2)
  await world.scale('filler', 0)
  await world.until('they are empty', async () => (await world.list('pods')).length === 2)
  expect(await nodeNames()).toHaveLength(3)
  const printed = await world.joiner('consolidate', '--budget', '1', '--by', 'carol')
  expect(printed).toMatch(/^BEGUN {4}emptiness-[0-9a-f]{10}-[0-9a-f]{8}: Empty, 1 node \(/)
  expect(await nodeNames()).toHaveLength(2)
  expect(await world.joiner('consolidate', '--budget', '1')).toContain('Empty, 1 node (')
  expect(await nodeNames()).toEqual(kept)
  const answer = await world.loop('disruption').executeUpdate(consolidateUpdate, { args: [dated({ nodes: kept })] })
  expect(answer).toEqual({ kind: 'done', started: [], rejected: [], changes: [], pauses: [] })
  const reported = (await world.list('events')).filter(({ reason }) => reason === 'ConsolidateNow')
  expect(reported.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^A pass was asked for by carol, at most 1 of each NodePool: .* can go$/),
  )
})
