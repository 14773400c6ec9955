import pino from 'pino'
import { expect, test } from 'vitest'
import type { NodeRules } from '../../../core/node-claim/node-health.ts'
import { samplePolicy } from '../../../test/samples/sample-objects.ts'
import { ClusterCache } from '../cache/cluster-cache.ts'
import { ApiError } from '../client/api-error.ts'
import { ServerTime } from '../client/server-time.ts'
import { observe } from './observe.ts'

const now = Date.UTC(2026, 0, 1)
const minute = 60_000
const rules: NodeRules = {
  interruptions: [{ type: 'PreemptionScheduled', status: 'True' }],
  repairs: [samplePolicy('Ready', 'Unknown', { tolerationMs: 10 * minute })],
}
const log = pino({ level: 'silent' })
const claimPath = '/apis/karpenter.sh/v1/nodeclaims/general-a'
const condition = (type: string, status: string, atMs: number, message = '') => ({
  type,
  status,
  reason: type,
  message,
  lastTransitionTime: new Date(atMs).toISOString(),
})
const sick = condition('Ready', 'Unknown', now - 11 * minute)
const well = condition('Ready', 'True', now - minute)
const preempted = (ms: number) =>
  condition('PreemptionScheduled', 'True', now, `Preempt Scheduled: ${new Date(now + ms).toUTCString()}.`)

function nodeJson(name: string, conditions: readonly object[]) {
  const labels = { 'karpenter.sh/nodepool': 'general' }
  return { metadata: meta(name, labels), spec: { providerID: `azure:///${name}` }, status: { conditions } }
}

function meta(name: string, labels: object, annotations: object = {}) {
  const creationTimestamp = new Date(now - 60 * minute).toISOString()
  const finalizers = ['karpenter.sh/termination']
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp,
    labels,
    annotations,
    finalizers,
  }
}

function claimJson(annotations: object = {}) {
  const done = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type, 'True', now - 30 * minute))
  return {
    metadata: meta('general-a', { 'karpenter.sh/nodepool': 'general' }, annotations),
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } },
    status: { providerID: 'azure:///a', nodeName: 'a', conditions: done },
  }
}

/** Returns what `observe` answers and does, `atOnce` times in parallel, where the watch has reported some Nodes and the API server has others. */
async function observed(
  cached: readonly object[],
  live: readonly { metadata: { name: string } }[],
  { annotations = {}, atOnce = 1 }: { annotations?: object; atOnce?: number } = {},
) {
  const did: string[] = []
  const counted: string[] = []
  let claim = claimJson(annotations)
  const client = {
    inTurn: (_: string, section: () => unknown) => section(),
    get: async (path: string) =>
      path === claimPath ? claim : live.find((node) => path.endsWith(`/${node.metadata.name}`)),
    mergePatch: async (_: string, { metadata }: { metadata: { annotations: object } }) => {
      did.push(`patch ${JSON.stringify(metadata.annotations)}`)
      return { ...claim, metadata: { ...claim.metadata, annotations: { ...annotations, ...metadata.annotations } } }
    },
    delete: async (path: string, { uid, resourceVersion }: { uid: string; resourceVersion: string }) => {
      if (resourceVersion !== claim.metadata.resourceVersion) throw new ApiError(409, 'Conflict', path)
      did.push(`delete ${path} ${uid}`)
      const deletionTimestamp = new Date(now).toISOString()
      claim = { ...claim, metadata: { ...claim.metadata, deletionTimestamp, resourceVersion: '2' } as never }
    },
  }
  const cache = new ClusterCache(client as never, log, { nodeRules: rules })
  for (const node of cached) cache.upsert('Node', node as never)
  const deps = {
    client,
    cache,
    log,
    now: () => now,
    nodeRules: rules,
    serverTime: new ServerTime({ log }),
    events: {
      recordTransitions: () => undefined,
      record: ({ reason, about }: { reason: string; about: { kind: string } }) => did.push(`${reason} ${about.kind}`),
    },
    disruptionMetrics: { disrupted: ({ why }: { why: { reason: string } }) => counted.push(why.reason) },
    lifecycleMetrics: { repaired: (_: unknown, type: string) => counted.push(type) },
  }
  const ref = { name: 'general-a', uid: 'uid-general-a' }
  const [looked] = await Promise.all(Array.from({ length: atOnce }, () => observe(deps as never, ref)))
  return { step: looked?.step, did, counted }
}

const deleted = `delete ${claimPath} uid-general-a`
const stamp = (ms: number) =>
  `"karpenter.sh/nodeclaim-termination-timestamp":"${new Date(now + ms).toISOString().replace('.000Z', 'Z')}"`
const interrupted = '"joiner.sh/interrupted":"PreemptionScheduled"'

test('an interrupted claim records when its VM ends before it is deleted', async () => {
  const node = nodeJson('a', [well, preempted(8000)])
  expect(await observed([node], [node])).toEqual({
    step: { kind: 'terminate' },
    did: [`patch {${interrupted},${stamp(8000)}}`, 'Interrupted NodeClaim', deleted],
    counted: ['interrupted'],
  })
})

test('an earlier end stays', async () => {
  const node = nodeJson('a', [well, preempted(8000)])
  const nearer = { 'karpenter.sh/nodeclaim-termination-timestamp': new Date(now + 1000).toISOString() }
  expect((await observed([node], [node], { annotations: nearer })).did[0]).toBe(`patch {${interrupted}}`)
})

test('a sick Node has its claim deleted, without a grace period for its pods', async () => {
  const node = nodeJson('a', [sick])
  expect(await observed([node], [node])).toEqual({
    step: { kind: 'terminate' },
    did: [`patch {"joiner.sh/repaired-for":"Ready is Unknown",${stamp(0)}}`, 'NodeRepaired NodeClaim', deleted],
    counted: ['unhealthy', { condition: 'Ready', boundMs: 0 }],
  })
})

test('of two that repair one claim at the same time, one counts it', async () => {
  const node = nodeJson('a', [sick])
  const { did, counted } = await observed([node], [node], { atOnce: 2 })
  expect(did.filter((each) => each === deleted)).toEqual([deleted])
  expect(counted).toEqual(['unhealthy', { condition: 'Ready', boundMs: 0 }])
})

test('nothing is deleted for what only the watch reports', async () => {
  for (const conditions of [[sick], [well, preempted(8000)]])
    expect(await observed([nodeJson('a', conditions)], [nodeJson('a', [well])])).toMatchObject({
      step: { kind: 'steady' },
      did: [],
    })
})

test('nothing is repaired while too many are sick', async () => {
  const node = nodeJson('a', [sick])
  const nodes = [node, nodeJson('b', [sick]), nodeJson('c', [well])]
  expect(await observed(nodes, nodes)).toMatchObject({
    step: { kind: 'steady', wakeAtMs: now + 5 * minute },
    did: ['NodeRepairBlocked Node', 'NodeRepairBlocked NodeClaim'],
    counted: [],
  })
})
