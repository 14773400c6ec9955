import { describe, expect, it } from 'vitest'
import { budgetsBelow, commandsOver, fleetOver, healthSince, rolloutFacts, rolloutOver } from './disruption-proofs.ts'
import type { Moment, Witnessed, WitnessedKind } from './witness.ts'

interface Sketch {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly deleting?: boolean
  readonly is?: readonly string[]
  readonly taints?: readonly string[]
  readonly status?: object
}

function moment(revision: number, kind: WitnessedKind, name: string, sketch?: Sketch): Moment {
  return { revision, atMs: revision * 1000, kind, name, object: sketch && objectOf(name, sketch) }
}

function objectOf(
  name: string,
  { labels = {}, annotations = {}, deleting, is = [], taints = [], status }: Sketch,
): Witnessed {
  const conditions = is.map((type) => ({ type, status: 'True' }))
  return {
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      labels,
      annotations,
      ...(deleting === true ? { deletionTimestamp: 'now' } : {}),
    },
    spec: { taints: taints.map((key) => ({ key })) },
    status: { conditions, ...status },
  }
}

describe('healthy pods', () => {
  const ready = { labels: { app: 'web' }, is: ['Ready'] }
  const start = [moment(1, 'pod', 'a', ready), moment(2, 'pod', 'b', ready)]
  const demand = [{ app: 'web', healthy: 2 }]

  it('are counted after each change, also where their number is right again later', () => {
    const over = [
      ...start,
      moment(3, 'pod', 'a', { ...ready, deleting: true }),
      moment(4, 'pod', 'c', ready),
      moment(5, 'pod', 'a'),
    ]
    expect(healthSince(over, 2, demand)).toEqual([
      { app: 'web', healthy: 2, lowest: 1, moved: 1, violations: [{ revision: 3, healthy: 1 }] },
    ])
  })

  it('are enough when another comes before one goes; pods of others and changes before count for nothing', () => {
    const other = { labels: { app: 'other' }, is: ['Ready'] }
    const over = [...start, moment(3, 'pod', 'c', ready), moment(4, 'pod', 'a'), moment(5, 'pod', 'd', other)]
    expect(healthSince(over, 2, demand)).toMatchObject([{ lowest: 2, moved: 1, violations: [] }])
    expect(healthSince([...over, moment(6, 'pod', 'b')], 6, demand)).toMatchObject([{ violations: [] }])
  })

  it('are what a PodDisruptionBudget counts, too', () => {
    const counted = (currentHealthy: number) => ({ status: { currentHealthy, desiredHealthy: 2 } })
    const over = [1, 2, 3].map((at) => moment(at, 'podDisruptionBudget', 'web', counted(at === 2 ? 1 : 2)))
    expect(budgetsBelow(over, 0)).toEqual([{ name: 'web', revision: 2 }])
    expect(budgetsBelow(over, 2)).toEqual([])
  })
})

describe('commands', () => {
  const stamped = { annotations: { 'joiner.sh/disruption-command': 'x' } }
  const replacement = { annotations: { 'joiner.sh/replacement-for': 'x' } }
  const up = { ...replacement, is: ['Initialized'] }

  it('know their candidates, their replacements and which of those came too late', () => {
    const early = [moment(1, 'nodeClaim', 'old', stamped), moment(2, 'nodeClaim', 'new', replacement)]
    const going = moment(4, 'nodeClaim', 'old', { ...stamped, deleting: true })
    const gone = moment(6, 'nodeClaim', 'old')
    const seen = { id: 'x', reason: '', candidates: ['old'], replacements: ['new'], stampedAtMs: 1000, goneAtMs: 6000 }
    expect(commandsOver([...early, moment(3, 'nodeClaim', 'new', up), going, gone])).toEqual([{ ...seen, tooLate: [] }])
    expect(commandsOver([...early, going, moment(5, 'nodeClaim', 'new', up), gone])).toEqual([
      { ...seen, tooLate: ['new'] },
    ])
  })
})

describe('a rollout', () => {
  const stamped = { annotations: { 'joiner.sh/disruption-command': 'x' }, status: { nodeName: 'node-a' } }
  const old = new Set(['a', 'b'])

  it('has a node on its hands from its taint or stamp until Node and NodeClaim are gone; budgets count it until its VM goes', () => {
    const over = rolloutOver(
      [
        moment(1, 'nodeClaim', 'a', { status: { nodeName: 'node-a' } }),
        moment(2, 'node', 'node-a', { taints: ['karpenter.sh/disrupted'] }),
        moment(3, 'node', 'node-a', {}),
        moment(4, 'nodeClaim', 'a', stamped),
        moment(5, 'nodeClaim', 'b', { deleting: true }),
        moment(6, 'nodeClaim', 'a', { ...stamped, is: ['InstanceTerminating'] }),
        moment(7, 'node', 'node-a'),
        moment(8, 'nodeClaim', 'a'),
      ],
      1,
      old,
    )
    expect(over.map(({ busy, counted, waiting }) => [busy, counted, waiting])).toEqual([
      [1, 1, 1],
      // It was let go again.
      [0, 0, 2],
      [1, 1, 1],
      [2, 2, 0],
      [2, 1, 0],
      [2, 1, 0],
      [1, 1, 0],
    ])
  })

  it('is judged from when its budget was full until nothing was left to begin with', () => {
    const over = [1, 3, 1, 3, 0].map((busy, at) => ({ atMs: at * 10, busy, counted: 1, waiting: at < 4 ? 1 : 0 }))
    expect(rolloutFacts(over, 3, 2)).toEqual({ most: 3, mostCounted: 1, fewest: 1, belowMs: 10, betweenMs: 20 })
    expect(rolloutFacts(over, 4, 2)).toMatchObject({ most: 3, fewest: undefined })
  })
})

it('a fleet costs what its NodeClaims with a VM cost', () => {
  const labels = { type: 'large' }
  const over = fleetOver(
    [
      moment(1, 'nodeClaim', 'a', { labels }),
      moment(2, 'nodeClaim', 'a', { labels, is: ['Launched'] }),
      moment(3, 'node', 'node-a', {}),
      moment(4, 'nodeClaim', 'a'),
    ],
    () => 2,
  )
  expect(over.map(({ nodes, cost }) => [nodes, cost])).toEqual([
    [0, 0],
    [0, 2],
    [1, 2],
    [1, 0],
  ])
})
