// One life of five nodes, with a process for each Deployment of the chart: the objects, the metrics, the traces, the requests and the events that it
// costs, and what must stay secret in it.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimOfLifecycle } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { ArmSession } from '../arm/arm-session.ts'
import { largePayloadsIn, leaksIn } from '../histories/corpus.ts'
import { scrape, sum, untilResyncs } from '../observed/metrics.ts'
import { OtlpReceiver } from '../otlp-receiver.ts'
import { isTrue, type Seen, World } from '../world.ts'
import { eventsByRun, shownEvents, wasLate } from './histories.ts'
import { expectTrace } from './launch-trace.ts'
import { overBudget, ownRequests } from './request-budget.ts'
import { customData, logsText, objectsText, ownTokens, pieces, tokensSeen, watchTokens } from './secrets.ts'

const nodes = 5
const manifests = fileURLToPath(new URL('../manifests/', import.meta.url))

let world: World
let collector: OtlpReceiver
/** The NodeClaim whose launch goes badly at first, and the one whose Node is deleted by hand. */
let refused = ''
let deletedByHand = ''
const objectsSeen: string[] = []

beforeAll(async () => {
  world = await World.start({ audit: true })
  collector = await OtlpReceiver.start()
  await watchTokens(world)
  // None of the processes may do more than its roles need. A short resync, so that an idle time holds several.
  world.startApart({
    JOINER_RESYNC_INTERVAL: '3s',
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '200',
  })
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(async () => {
  await world?.stop()
  collector?.stop()
})

const untilInitialized = (count: number) =>
  world.until(`${count} NodeClaims are initialized`, async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === count && claims.every((claim) => isTrue(claim, 'Initialized')) && claims
  })

test('a launch that Azure refuses, throttles and answers badly comes to its node', async () => {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable' })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed' })
  await world.fault({ kind: 'failSync', code: 'InternalServerError', status: 500, message: 'a failure of its own' })
  await world.fault({ kind: 'throttle', retryAfterSeconds: 1, operation: 'PUT virtualMachines' })
  await world.fault({ kind: 'resetAfterCommit' })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await untilInitialized(1)
  refused = claim?.metadata.name ?? ''
  await world.operator.simulator('DELETE', '/faults')
})

test('pending pods become nodes that join with their own identity, one VM each', async () => {
  const fromMs = Date.now()
  await world.scale('inflate', nodes)
  await world.untilRunning(nodes)
  const claims = await untilInitialized(nodes)
  const toMs = Date.now()
  const [seen, azure] = [await world.list('nodes'), await world.azure()]
  expect(seen).toHaveLength(nodes)
  expect(azure.virtualMachines.map(({ state }) => state)).toEqual(Array(nodes).fill('Succeeded'))
  const used = (await world.list('pods')).map(({ spec }) => spec.nodeName)
  expect(new Set(used)).toEqual(new Set(seen.map(({ metadata }) => metadata.name)))
  expect(claims.filter((claim) => !isTrue(claim, 'Ready'))).toEqual([])
  const requests = await ownRequests(world, { fromMs, toMs })
  expect(overBudget(requests, nodes - 1)).toEqual([])
  expect(requests.filter(({ what }) => what === 'create nodeclaims')).toHaveLength(nodes - 1)
})

test('claims carry the drift hashes of what they were made from', async () => {
  const [[pool], [nodeClassSeen], claims] = await Promise.all([
    world.list('nodepools'),
    world.list('aksnodeclasses'),
    world.list('nodeclaims'),
  ])
  const hashes = { ...hashesOf(pool), ...hashesOf(nodeClassSeen) }
  expect(Object.keys(hashes)).toHaveLength(4)
  const inPlace = { 'karpenter.azure.com/in-place-update-hash': expect.stringMatching(/^\d+$/) }
  for (const claim of claims) expect(hashesOf(claim)).toEqual({ ...hashes, ...inPlace })
})

function hashesOf(object: Seen | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => /-hash(-version)?$/.test(key)),
  )
}

/** Returns what reads the sums of a metric in the processes that report any: one, unless two count the same. */
async function reported() {
  const all = await Promise.all(['joiner', 'joiner-azure', 'joiner-planner'].map((name) => scrape(world, name)))
  return (name: string, labels: Readonly<Record<string, string>> = {}) =>
    all.map((values) => sum(values, name, labels) ?? 0).filter((value) => value > 0)
}

test('metrics report nodes, pods and launches, each process its own part', async () => {
  const [node] = await world.list('nodes')
  const node_name = node?.metadata.name ?? ''
  const joiner = await world.until('the nodes and their pods are reported', async () => {
    const values = await scrape(world)
    const isUp = sum(values, 'karpenter_pods_state', { node: node_name, phase: 'Running', ready: 'true' }) === 1
    const isInitialized = { type: 'Initialized', status: 'True' }
    const initialized = sum(values, 'operator_nodeclaim_status_condition_count', isInitialized)
    const usage = sum(values, 'karpenter_nodepools_usage', { nodepool: 'general', resource_type: 'nodes' })
    return isUp && initialized === nodes && usage === nodes && values
  })
  const ofNode = { node_name, managed: 'true', nodepool: 'general', capacity_type: 'on-demand', resource_type: 'cpu' }
  expect(sum(joiner, 'karpenter_nodes_total_pod_requests', ofNode)).toBe(1)
  expect(sum(joiner, 'karpenter_nodes_allocatable', ofNode)).toBeGreaterThan(1)
  const sums = await reported()
  const counted = [
    sums('karpenter_nodes_created_total', { nodepool: 'general' }),
    sums('karpenter_pods_bound_duration_seconds_count', { dynamic_resources: 'false' }),
    sums('karpenter_pods_startup_duration_seconds_count'),
    sums('operator_nodeclaim_status_condition_transitions_total', { type: 'Registered', status: 'True' }),
    sums('karpenter_nodeclaims_created_total', { reason: 'provisioned' }),
  ]
  expect(counted).toEqual(counted.map(() => [nodes]))
  expect(sum(joiner, 'karpenter_build_info')).toBe(1)
  expect(sum(joiner, 'karpenter_cluster_utilization_percent', { resource_type: 'cpu' })).toBeGreaterThan(0)
  expect(sum(joiner, 'karpenter_nodepools_allowed_disruptions', { nodepool: 'general' })).toBeDefined()
  // Refused launches count as well.
  const [creates] = sums('karpenter_cloudprovider_duration_seconds_count', { method: 'Create', provider: 'azure' })
  expect(creates).toBeGreaterThanOrEqual(nodes)
  const [azure, planner] = [await scrape(world, 'joiner-azure'), await scrape(world, 'joiner-planner')]
  expect(sum(planner, 'karpenter_nodeclaims_created_total', { reason: 'provisioned' })).toBe(nodes)
  const ofTheCluster = ['nodepools_limit', 'nodepools_usage', 'nodepools_allowed_disruptions', 'pods_state']
  for (const values of [azure, planner])
    for (const name of ofTheCluster) expect([name, sum(values, `karpenter_${name}`)]).toEqual([name, undefined])
  expect(sum(azure, 'temporal_activity_execution_latency_seconds_count', { activity_type: 'launch' })).toBeGreaterThan(
    0,
  )
  expect(sum(planner, 'temporal_num_pollers')).toBeGreaterThan(0)
})

test('idle resyncs add no event to any lifecycle or loop', async () => {
  objectsSeen.push(await objectsText(world))
  // What belongs to the start (conditions, the first look of the disruption loop) settles first.
  let before = await eventsByRun(world)
  await world.until('histories have settled', async () => {
    await untilResyncs(world, 1)
    const now = await eventsByRun(world)
    const same = JSON.stringify(now) === JSON.stringify(before)
    before = now
    return same
  })
  expect(Object.keys(before)).toHaveLength(nodes + 2)
  await untilResyncs(world, 3)
  const after = await eventsByRun(world)
  const grown = Object.keys(after).map((id) => [id, after[id]?.slice(before[id]?.length ?? 0)] as const)
  expect(grown.filter(([, events]) => events?.length !== 0)).toEqual([])
  expect(Object.keys(after).toSorted()).toEqual(Object.keys(before).toSorted())
})

test('a deleted node is drained as its budget allows, its VM goes, and its pod runs elsewhere', async () => {
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  })
  const node = (await world.list('nodes')).find(({ metadata }) => metadata.name !== `aks-${refused}`)
  const name = node?.metadata.name ?? ''
  deletedByHand = name.replace(/^aks-/, '')
  await world.operator.kubectl(['delete', 'node', name, '--wait=false'])
  const evictions = async (code: string) =>
    sum(await scrape(world), 'karpenter_pods_eviction_requests_total', { code }) ?? 0
  await world.until('the budget refuses', async () => (await evictions('429')) > 0)
  expect(sum(await scrape(world), 'operator_nodeclaim_termination_current_time_seconds')).toBeGreaterThan(0)
  await world.operator.kubectl(['delete', 'poddisruptionbudget', 'inflate'])
  await world.until('the node is gone and 5 pods run', async () => {
    const gone = !(await world.list('nodes')).some(({ metadata }) => metadata.name === name)
    return gone && (await world.running()) === nodes
  })
  await world.until('the VM is gone', async () => !(await world.azure()).virtualMachines.some((vm) => vm.name === name))
  // The claim is let go only after its VM.
  await untilInitialized(nodes)
  expect(await evictions('200')).toBe(1)
  expect(sum(await scrape(world), 'karpenter_pods_drained_total', { reason: 'Forceful Termination' })).toBe(1)
})

test('empty nodes are disrupted, drained and deleted; nothing is left; an untroubled lifecycle has 38 events at most', async () => {
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  const lifecycles = await world.lifecycles()
  expect(lifecycles).toHaveLength(nodes + 1)
  const histories = await world.histories()
  expect([...histories].flatMap(([id, text]) => largePayloadsIn(text).map((large) => `${id}: ${large}`))).toEqual([])
  const lives = [...histories]
    .filter(([id]) => id.startsWith('nodeclaim/'))
    .map(([run, text]) => ({ id: run.split(' ')[0] ?? '', events: shownEvents(text) }))
  expect(lives.filter(({ events }) => events.at(-1) !== 'WORKFLOW_EXECUTION_COMPLETED')).toEqual([])
  expect(lives.filter(({ events }) => events.length >= 80)).toEqual([])
  const isUntroubled = ({ id, events }: (typeof lives)[number]) =>
    !wasLate(events) && ![refused, deletedByHand].includes(claimOfLifecycle(clusterName, id)?.name ?? '')
  const lengths = lives.filter(isUntroubled).toSorted((one, other) => one.events.length - other.events.length)
  const seen = JSON.stringify(lengths, undefined, 1)
  expect(lengths[Math.floor((lengths.length - 1) / 2)]?.events.length, seen).toBeLessThanOrEqual(38)
  // A second signal would be an event more, a whole further task 42.
  expect(lengths.at(-1)?.events.length, seen).toBeLessThanOrEqual(42)
  const created = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)
  expect(new Set(created).size).toBe(nodes + 1)
})

test('metrics report the end of each node once', async () => {
  const made = nodes + 1
  const joiner = await world.until('the ends are reported', async () => {
    const values = await scrape(world)
    return sum(values, 'operator_nodeclaim_termination_duration_seconds_count') === made && values
  })
  const ended = [
    'karpenter_nodeclaims_terminated_total',
    'karpenter_nodes_terminated_total',
    'karpenter_nodes_drained_total',
    'karpenter_nodeclaims_termination_duration_seconds_count',
    'karpenter_nodeclaims_instance_termination_duration_seconds_count',
    'karpenter_nodes_termination_duration_seconds_count',
    'karpenter_nodes_lifetime_duration_seconds_count',
  ]
  const sums = await reported()
  const general = { nodepool: 'general' }
  expect(ended.map((name) => [name, ...sums(name, general)])).toEqual(ended.map((name) => [name, made]))
  for (const gone of ['karpenter_nodes_allocatable', 'operator_nodeclaim_status_condition_count'])
    expect(sum(joiner, gone)).toBeUndefined()
  const empty = { reason: 'empty', consolidation_policy: 'when_empty' }
  expect(sums('karpenter_nodeclaims_disrupted_total', empty)).toEqual([nodes])
  // The planner counts pods from its plans on, of those that it saw come.
  for (const name of ['bound', 'startup'])
    expect(sums(`karpenter_pods_provisioning_${name}_duration_seconds_count`)).toHaveLength(1)
  const completed = { workflow_type: 'nodeClaimLifecycle' }
  expect(sum(joiner, 'temporal_workflow_completed', completed)).toBeGreaterThanOrEqual(made)
})

test('a trace of each launch, from the plan for a pod to the ready node, across processes', async () => {
  const launches = await world.until('the launches are reported', async () => {
    const found = collector.spans.filter(({ name }) => name === 'nodeClaimLifecycle')
    return found.length > nodes && found
  })
  for (const launch of launches) expectTrace(collector.spans, launch)
})

// v1beta1 and v1alpha2 beside v1 and v1beta1 of today: they end up with the same machines.
test('manifests as people have them, applied unchanged, make the same machines in old versions and new', async () => {
  await world.operator.kubectl(['delete', 'deployment/inflate', 'nodepool/general', 'aksnodeclass/default'])
  const made: (readonly string[])[] = []
  for (const file of ['karpenter-v1.yaml', 'aks-install-guide.yaml']) {
    await world.until('it is applied', () => world.operator.kubectl(['apply', '-f', `${manifests}${file}`]))
    await world.untilReady('general-purpose')
    await world.scale('inflate', nodes)
    await world.untilRunning(nodes)
    made.push(await machines())
    await world.operator.kubectl(['delete', '-f', `${manifests}${file}`])
    await world.untilNothingLeft()
  }
  expect(made[0]).not.toEqual([])
  expect(made[1]).toEqual(made[0])
})

async function machines(): Promise<readonly string[]> {
  const shown = ['node.kubernetes.io/instance-type', 'karpenter.sh/nodepool', 'kubernetes.io/arch']
  return (await world.list('nodes'))
    .map(({ metadata }) => shown.map((label) => metadata.labels?.[label]).join())
    .toSorted()
}

test('no log line, history, event, condition or object holds a token, custom data or a credential', async () => {
  const [log, tokens, data, credentials] = await Promise.all([
    logsText(world),
    tokensSeen(world),
    customData(world),
    ownTokens(world),
  ])
  const objects = [...objectsSeen, await objectsText(world)].join('\n')
  const reported = [...(await world.histories()).values()]
  // All of it happened and is reported, so that there is something to look into.
  expect([tokens.length > nodes, data.length > nodes]).toEqual([true, true])
  const all = `${log}\n${reported.join('\n')}\n${objects}`.toLowerCase()
  expect(
    ['SkuNotAvailable', 'AllocationFail', 'a failure of its own'].filter((what) => !all.includes(what.toLowerCase())),
  ).toEqual([])

  const forbidden = [
    ...tokens,
    ...tokens.map((token) => Buffer.from(token).toString('base64')),
    ...data.flatMap(pieces),
    ...credentials.flatMap((token) => pieces(token.split('.')[2] ?? '')),
  ]
  const accessToken = /\beyJ[\w-]{10,}\.[\w-]{10,}/
  const found = (text: string) => [
    ...forbidden.filter((secret) => text.includes(secret)),
    ...(accessToken.exec(text) ?? []),
  ]
  const arm = await ArmSession.open(world.cluster)
  expect([found(`x${data[0]}y`).length > 10, found(`x ${arm.token} y`).length]).toEqual([true, 1])
  await arm.close()
  expect(found(log)).toEqual([])
  expect(found(objects)).toEqual([])
  const named = Object.fromEntries(forbidden.map((secret, index) => [`secret ${index}`, secret]))
  for (const history of reported) {
    expect(leaksIn(history, named)).toEqual([])
    expect(largePayloadsIn(history)).toEqual([])
    expect(accessToken.test(history)).toBe(false)
  }
})
