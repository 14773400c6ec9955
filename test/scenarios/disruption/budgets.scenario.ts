import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 3, apart: true }))
  await world.untilRunning(3)
  await world.until('the nodes are initialized', async () => (await read()).nodes === 3)
})

afterAll(() => world?.stop())

interface Read {
  readonly nodes: number
  readonly consuming: readonly { readonly nodeClaim: string; readonly why: string }[]
  readonly problems: readonly unknown[]
  readonly reasons: readonly unknown[]
}

async function read(...args: readonly string[]): Promise<Read> {
  const answer = await world.joiner('budgets', 'general', '--output', 'json', ...args)
  const { nodePools } = JSON.parse(answer) as { readonly nodePools: readonly [Read] }
  return nodePools[0]
}

const setBudgets = (...list: readonly object[]) =>
  world.operator.api('PATCH', '/apis/karpenter.sh/v1/nodepools/general', { spec: { disruption: { budgets: list } } })

test('what budgets allow, and which of them is the limit, in the table and in the metrics', async () => {
  const held = { nodes: '0', reasons: ['Drifted'], schedule: '0 9 * * *', duration: '24h' }
  await setBudgets({ nodes: '60%' }, held)
  expect((await world.joiner('budgets')).split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['NODEPOOL', 'REASON', 'NODES', 'BUDGET', 'IN USE', 'LEFT', 'LIMITED BY'],
    ['general', 'Unhealthy, Empty, Underutilized', '3', '2', '0', '2', '60% (budgets[0])'],
    ['general', 'Drifted', '3', '0', '0', '0', '0 by "0 9 * * *" for 24h (budgets[1])'],
    [''],
    ['general:'],
    ['Drifted: blocked for the next 7 days at least'],
    [''],
  ])
  const shown = await world.until('metrics know of the budgets', async () => {
    const values = await world.metrics()
    return values['karpenter_nodepools_allowed_disruptions{nodepool="general",reason="empty"}'] === 2 && values
  })
  expect(shown).toMatchObject({
    'karpenter_nodepools_allowed_disruptions{nodepool="general",reason="drifted"}': 0,
    'karpenter_nodepools_nodes_consuming_budgets{nodepool="general",reason="empty"}': 0,
  })
  expect(shown['karpenter_nodepools_cost_total{nodepool="general"}']).toBeGreaterThan(0)
  const measured = 'karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count'
  expect(shown[`${measured}{reason="empty",consolidation_type="empty"}`]).toBeGreaterThan(0)
})

test('a schedule that cannot be read blocks all, and the remedy is said', async () => {
  await setBudgets({ nodes: '60%' }, { nodes: '1', schedule: '0 25 * * *', duration: '1h' })
  expect(await read('--disruption-reason', 'Empty')).toMatchObject({
    problems: [{ budget: 1, blocks: true, message: expect.stringContaining('its hour "25"') as string }],
    reasons: [{ reason: 'Empty', allowed: 0, left: 0, limitedBy: [1], blockedUntil: null, nextWindow: null }],
  })
})

test('joiner why names the pod that keeps a node, and what its node costs, from the ConfigMaps', async () => {
  const [pod] = await world.list('pods')
  const name = String(pod?.metadata.name)
  const nodeName = String(pod?.spec.nodeName)
  await world.operator.kubectl(['annotate', 'pod', name, 'karpenter.sh/do-not-disrupt=true'])
  const shown = await world.until('the verdict names the pod', async () => {
    const text = await world.joiner('why', 'node', nodeName)
    return text.includes(`pod default/${name}`) && text
  })
  expect(shown).toMatch(/blocked: Pod has "karpenter.sh\/do-not-disrupt" annotation .* USD a month not saved/)
  expect(shown).toContain(`kubectl annotate pod --namespace default ${name} karpenter.sh/do-not-disrupt-`)
  expect(shown).toMatch(/last evaluation \(\S+ ago\)/)
  expect(await world.joiner('why', 'pod', `default/${name}`)).toContain(
    'its annotation karpenter.sh/do-not-disrupt: "true"',
  )
  await expect(world.joiner('why', 'node', 'nobody')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is no Node or NodeClaim nobody; kubectl get nodes,nodeclaims') as string,
  })
})

test('a node that is being deleted uses the budget up', async () => {
  await setBudgets({ nodes: '2' })
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'held', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: {} },
  })
  const [claim] = await world.list('nodeclaims')
  const name = String(claim?.metadata.name)
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
  expect(await read()).toMatchObject({
    consuming: [{ nodeClaim: name, why: 'being deleted' }],
    reasons: [{ allowed: 2, left: 1 }, { left: 1 }, { left: 1 }, { left: 1 }],
  })
})

test('a NodePool that does not exist is reported with those that do', async () => {
  await expect(world.joiner('budgets', 'generale')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('NodePool "generale" does not exist; there are: general') as string,
  })
})
