import { expect, test } from 'vitest'
import { parseDisruptionPlan } from '../../../api/disruption-plan.ts'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { causeText, causeTitle } from '../../../core/disruption/verdicts/cause-text.ts'
import { plainText } from '../../document/text.ts'
import { planDocument } from './plan-text.ts'

const node = {
  nodePool: 'general',
  instanceType: 'Standard_D4s_v5',
  capacityType: 'on-demand',
  zone: 'westus2-1',
  price: 0.2,
}
const pdb = { kind: 'pdb', pod: 'default/web-3', podDisruptionBudgets: ['default/web'] } as const
const stuck = {
  kind: 'pods-without-place',
  pods: [{ name: 'default/db-0', constraint: 'no zone fits ' }, { name: 'default/db-1' }],
  count: 5,
} as const

const plan: DisruptionPlan = {
  version: 1,
  id: '3f9a01c2',
  cluster: 'demo',
  createdAt: '2026-11-21T12:00:00.000Z',
  by: 'alice',
  options: { nodePools: ['general'] },
  commands: [
    {
      method: 'multi-node',
      reason: 'Underutilized',
      decision: 'replace',
      candidates: [
        { ...node, nodeClaim: 'c1', uid: 'u1', node: 'n1', pods: [{ pod: 'default/web-1', uid: 'p1', newNode: 1 }] },
        { ...node, nodeClaim: 'c2', uid: 'u2', node: 'n2', pods: [{ pod: 'default/web-2', uid: 'p2', node: 'n3' }] },
      ],
      replacements: [
        {
          number: 1,
          nodePool: 'general',
          instanceTypes: ['Standard_D2s_v5', 'Standard_D2s_v4'],
          otherTypes: 3,
          capacityTypes: ['on-demand'],
          zones: ['westus2-1', 'westus2-2'],
          price: 0.1,
          pods: 1,
        },
      ],
      savings: 0.3,
    },
  ],
  nodePools: [{ name: 'general', uid: 'u', generation: 3 }],
  cost: { nodes: { before: 0.4, after: 0.1 }, cluster: { before: 2, after: 1.7 }, unpriced: 1 },
  blockers: [
    {
      nodeClaim: 'c3',
      node: 'n3',
      nodePool: 'general',
      price: 0.2,
      moves: [
        {
          methods: ['multi-node'],
          outcome: 'blocked',
          cause: pdb,
          savingsForgone: 0.2,
        },
      ],
      forgone: 0.2,
    },
    {
      nodeClaim: 'c4',
      node: 'n4',
      nodePool: 'general',
      price: 0.1,
      moves: [
        {
          methods: ['single-node'],
          outcome: 'hindered',
          cause: stuck,
        },
      ],
      forgone: 0.1,
      waitsUntil: '2026-11-21T12:10:00.000Z',
    },
  ],
  budgets: [{ nodePool: 'general', reason: 'Underutilized', nodes: 20, allowed: 3, disrupted: 1 }],
  pauses: ['all disruption is paused until resumed: release day'],
  warnings: ['there is no Node or NodeClaim "n9"'],
}

test('a plan for people', () => {
  expect(plainText(planDocument(plan)).split('\n')).toEqual([
    'NOTE    there is no Node or NodeClaim "n9"',
    'PLAN    3f9a01c2 (2026-11-21T12:00:00Z, alice): 2 nodes would go, 1 new node would come, 219.00 USD a month saved',
    'PAUSED  all disruption is paused until resumed: release day',
    '',
    '1. Underutilized (multi-node): 2 nodes replaced, 219.00 USD a month saved',
    '     NODE        NODEPOOL  TYPE                         CAPACITY   ZONE                  USD/MONTH  PODS',
    '  -  n1          general   Standard_D4s_v5              on-demand  westus2-1             146.00     1',
    '  -  n2          general   Standard_D4s_v5              on-demand  westus2-1             146.00     1',
    '  +  new node 1  general   Standard_D2s_v5 or 4 others  on-demand  westus2-1, westus2-2  73.00      1',
    '  pod default/web-1  n1  -> new node 1',
    '  pod default/web-2  n2  -> n3',
    '',
    'USD/MONTH      BEFORE    AFTER     CHANGE',
    'these nodes    292.00    73.00     -219.00',
    'whole cluster  1,460.00  1,241.00  -219.00',
    '1 node without a known price counted as nothing',
    '',
    'BUDGET  NodePool general allows 3 of its 20 nodes at once for Underutilized; all are taken, 1 of them before this plan',
    '',
    'Nodes that stay, what each costs, and why:',
    'NODE  NODEPOOL  USD/MONTH  WHY',
    `n3    general   146.00     ${causeText(pdb)}`,
    `n4    general   73.00      waits until 2026-11-21T12:10:00Z (unless --ignore-consolidate-after is given); ${causeTitle(stuck)}: default/db-0 (no zone fits) and 4 pods more`,
  ])
})

test('of many pods and nodes a few are printed, unless all are asked for', () => {
  const [command] = plan.commands
  const [first] = command?.candidates ?? []
  if (command === undefined || first === undefined) throw new Error('no command')
  const pods = Array.from({ length: 50 }, (_, at) => ({ pod: `default/web-${at}`, uid: `p${at}` }))
  const long: DisruptionPlan = {
    ...plan,
    commands: [{ ...command, candidates: [{ ...first, pods }] }],
    blockers: Array.from({ length: 20 }, () => plan.blockers).flat(),
    leftOut: { commands: 2, blockers: 5 },
  }
  const text = plainText(planDocument(long))
  expect(text).toContain('and 30 pods more (--all)')
  expect(text).toContain('and 15 nodes more (--all)')
  expect(text).toContain('CUT     2 further commands found no room')
  expect(plainText(planDocument(long, true))).toContain('pod default/web-49  n1  -> any node')
  expect(plainText(planDocument(long, true))).toContain('and 5 nodes more')
})

test('nothing to do', () => {
  const idle = { ...plan, commands: [], cost: { ...plan.cost, nodes: { before: 0, after: 0 } } }
  expect(plainText(planDocument(idle))).toContain('there is nothing to do')
  expect(plainText(planDocument(idle))).not.toContain('these nodes')
})

test('a plan can be saved and read again; what is no plan is named with what is wrong', () => {
  expect(parseDisruptionPlan(JSON.stringify(plan, null, 2))).toEqual({ kind: 'ok', plan })
  const refused = (change: object) => parseDisruptionPlan(JSON.stringify({ ...plan, ...change }))
  expect(refused({ version: 2 })).toEqual({
    kind: 'refused',
    message: 'version is 2: another version of Joiner has made it; make a new plan',
  })
  expect(refused({ id: 'x' })).toMatchObject({ message: 'id is "x": it is no id of a plan' })
  expect(refused({ commands: [{ method: 'magic' }] })).toMatchObject({
    message: expect.stringMatching(/^commands\[0\]\.method is /),
  })
  expect(parseDisruptionPlan('kind: NodePool')).toMatchObject({ message: expect.stringMatching(/^it is no JSON: /) })
})
