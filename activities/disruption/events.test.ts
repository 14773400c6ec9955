import { expect, test } from 'vitest'
import type { Blocked } from '../../core/disruption/candidates.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import type { Cause } from '../../core/disruption/verdicts/cause.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { at, claimJson, nodeJson } from '../../test/fakes/objects.ts'
import { planningDeps } from '../../test/fakes/planning.ts'
import { sampleClaim, sampleNode, samplePool } from '../../test/samples/sample-objects.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import type { EventInput } from '../kubernetes/event-recorder.ts'
import { publishFindings } from './events.ts'

async function published(evaluation: Partial<Evaluation>, claim: Json = {}) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claimJson('a', claim))
  cluster.put('nodes', nodeJson('a'))
  const { deps } = await planningDeps(cluster)
  const inputs: EventInput[] = []
  const events = { record: (input: EventInput) => void inputs.push(input) } as never
  publishFindings({ ...deps, events }, { blocked: [], commands: [], ...evaluation } as Evaluation)
  return inputs.map(({ about, reason, message, limit, values }) => [
    `${about.kind}/${about.metadata.name}`,
    reason,
    message,
    limit,
    values,
  ])
}

const candidates = (...pools: readonly string[]) =>
  pools.map((pool, index) => ({
    nodeClaim: sampleClaim(`c${index}`),
    node: sampleNode(`c${index}`),
    nodePool: samplePool(pool),
    pods: [],
    reschedulable: [],
    instanceType: undefined,
    price: 1,
    disruptionCost: 1,
  }))

const command = (method: 'multi-node' | 'single-node', ...pools: readonly string[]): DisruptionCommand => ({
  method,
  decision: 'delete',
  candidates: candidates(...pools),
  replacements: [],
  savings: 1,
  scores: [...new Set(pools)].map((nodePool) => ({ nodePool, value: 1.5, savings: 0.15, disruption: 0.1 })),
})
const approved = 'score 1.50 >= threshold 0.50 (k: 2, savings 15.0%, disruption 10.0%)'

test('upstream: should emit approved event for approved pool results, one for each pool', async () => {
  const seen = await published({ commands: [command('multi-node', 'web', 'web', 'batch')] })
  expect(seen.map(([about, reason, message]) => [about, reason, message])).toEqual([
    ['NodePool/web', 'ConsolidationApproved', approved],
    ['NodePool/batch', 'ConsolidationApproved', approved],
  ])
})

test('a node that goes alone has the event itself, as has its claim', async () => {
  const seen = await published({ commands: [command('single-node', 'web')] })
  expect(seen.map(([about]) => about)).toEqual(['Node/c0', 'NodeClaim/c0-claim'])
})

test.each<[Cause, string | undefined]>([
  [{ kind: 'nominated' }, 'passing'],
  [{ kind: 'not-initialized', isRegistered: true }, 'passing'],
  [{ kind: 'do-not-disrupt' }, undefined],
])(
  'upstream: DisruptionBlocked is on Node and NodeClaim, also for passing states (%j), of which a few a second',
  async (cause, limit) => {
    const blocked: Blocked & { readonly method: 'drift' } = {
      method: 'drift',
      object: { kind: 'NodeClaim', name: 'a', nodeName: 'aks-a' },
      reason: 'DisruptionBlocked',
      cause,
    }
    const seen = await published({ blocked: [blocked] })
    expect(seen.map(([about, reason, , own]) => [about, reason, own])).toEqual([
      ['NodeClaim/a', 'DisruptionBlocked', limit],
      ['Node/aks-a', 'DisruptionBlocked', limit],
    ])
  },
)

const going = { deletionTimestamp: at(0) }
const stamp = { annotations: { 'joiner.sh/disruption-command': 'emptiness-1' } }

test.each<[string, Json, number]>([
  ['that somebody deletes is', going, 2],
  ['that a command has reserved is not', {}, 0],
  ['that a command has taken is not', stamp, 0],
  ['that a command deletes is not', { ...going, ...stamp }, 0],
])('upstream: a node %s reported as leaving', async (_, metadata, events) => {
  const object = { kind: 'NodeClaim', name: 'a', nodeName: 'aks-a' } as const
  const blocked = { method: 'drift', object, reason: 'DisruptionBlocked', cause: { kind: 'leaving' } } as const
  expect(await published({ blocked: [blocked] }, { metadata })).toHaveLength(events)
})

test('a passing state does not keep what blocks the node afterwards from being reported', async () => {
  const keys = async (cause: Cause) => {
    const object = { kind: 'NodeClaim', name: 'a', nodeName: 'aks-a' } as const
    const seen = await published({ blocked: [{ method: 'drift', object, reason: 'DisruptionBlocked', cause }] })
    return seen.map(([, , , , values]) => JSON.stringify(values))
  }
  const [passing, lasting] = [await keys({ kind: 'nominated' }), await keys({ kind: 'do-not-disrupt' })]
  expect(passing).toHaveLength(2)
  expect(passing.filter((key) => lasting.includes(key))).toEqual([])
})
