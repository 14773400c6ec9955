// What processes tell of a node's lifecycle: metrics, as a monitoring system reads them, and traces, as a collector gets them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { OtlpReceiver } from './otlp-receiver.ts'
import { World } from './world.ts'

let world: World
let collector: OtlpReceiver

/** Two processes that are told apart in what they tell. */
const processes = { joiner: 'core,azure,bridge,conversion', planner: 'planner' } as const
type Process = keyof typeof processes

beforeAll(async () => {
  world = await World.start()
  collector = await OtlpReceiver.start()
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '200' }
  for (const [name, roles] of Object.entries(processes)) world.startJoiner(name, { JOINER_ROLES: roles, ...traced })
  await world.apply(nodePool(), nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(async () => {
  await world?.stop()
  collector?.stop()
})

/** Values of a process's metrics, by name with labels. */
async function scrape(process: Process): Promise<ReadonlyMap<string, number>> {
  const lines = (await world.cluster.supervisor.tail(process, 10_000)).split('\n')
  const serving = lines.findLast((line) => line.includes('serving health and metrics')) ?? ''
  const [, address = ''] = /"address":"([^"]+)"/.exec(serving) ?? []
  const text = await (await fetch(`${address.replace('0.0.0.0', '127.0.0.1')}/metrics`)).text()
  return new Map([...text.matchAll(/^([a-z].*) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]))
}

/** The sum over the series of a metric that bear all these labels; undefined: there are none. */
function sum(values: ReadonlyMap<string, number>, name: string, labels: Readonly<Record<string, string>> = {}) {
  const found = [...values].filter(
    ([series]) =>
      (series === name || series.startsWith(`${name}{`)) &&
      Object.entries(labels).every(([key, value]) => new RegExp(`[{,]${key}="${value}"`).test(series)),
  )
  return found.length === 0 ? undefined : found.reduce((total, [, value]) => total + value, 0)
}

test('a lifecycle in metrics: a pod waits, its node comes, is used, is empty and goes', async () => {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [node] = await world.list('nodes')
  const node_name = node?.metadata.name ?? ''
  const up = await world.until('the node and its pod are reported', async () => {
    const values = await scrape('joiner')
    const isUp = sum(values, 'karpenter_pods_state', { node: node_name, phase: 'Running', ready: 'true' }) === 1
    const usage = { nodepool: 'general', resource_type: 'nodes' }
    const isInitialized = sum(values, 'operator_nodeclaim_status_condition_count', {
      type: 'Initialized',
      status: 'True',
    })
    return isUp && isInitialized === 1 && sum(values, 'karpenter_nodepools_usage', usage) === 1 && values
  })
  const ofNode = { node_name, managed: 'true', nodepool: 'general', capacity_type: 'on-demand' }
  expect(sum(up, 'karpenter_nodes_total_pod_requests', { ...ofNode, resource_type: 'cpu' })).toBe(1)
  expect(sum(up, 'karpenter_nodes_allocatable', { ...ofNode, resource_type: 'cpu' })).toBeGreaterThan(1)
  expect(sum(up, 'karpenter_nodes_created_total', { nodepool: 'general' })).toBe(1)
  expect(sum(up, 'karpenter_cloudprovider_duration_seconds_count', { method: 'Create', provider: 'azure' })).toBe(1)
  expect(sum(up, 'karpenter_pods_bound_duration_seconds_count', { dynamic_resources: 'false' })).toBe(1)
  expect(sum(up, 'karpenter_pods_startup_duration_seconds_count')).toBe(1)
  expect(sum(up, 'karpenter_build_info')).toBe(1)
  expect(sum(up, 'karpenter_cluster_utilization_percent', { resource_type: 'cpu' })).toBeGreaterThan(0)
  expect(sum(up, 'operator_nodeclaim_status_condition_transitions_total', { type: 'Registered', status: 'True' })).toBe(
    1,
  )

  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  const down = await world.until('the end is reported', async () => {
    const values = await scrape('joiner')
    return sum(values, 'operator_nodeclaim_termination_duration_seconds_count') === 1 && values
  })
  const general = { nodepool: 'general' }
  const ended = [
    'karpenter_nodeclaims_terminated_total',
    'karpenter_nodes_terminated_total',
    'karpenter_nodes_drained_total',
    'karpenter_nodeclaims_termination_duration_seconds_count',
    'karpenter_nodeclaims_instance_termination_duration_seconds_count',
    'karpenter_nodes_termination_duration_seconds_count',
    'karpenter_nodes_lifetime_duration_seconds_count',
  ]
  expect(ended.map((name) => [name, sum(down, name, general)])).toEqual(ended.map((name) => [name, 1]))
  expect(
    sum(down, 'karpenter_nodeclaims_disrupted_total', { reason: 'empty', consolidation_policy: 'when_empty' }),
  ).toBe(1)
  for (const gone of ['karpenter_nodes_allocatable', 'operator_nodeclaim_status_condition_count'])
    expect(sum(down, gone)).toBeUndefined()
})

test('a drained pod and the words of its budget are counted', async () => {
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim] = await world.list('nodeclaims')
  await world.operator.kubectl(['delete', 'nodeclaim', claim?.metadata.name ?? '', '--wait=false'])
  const held = async (code: string) => sum(await scrape('joiner'), 'karpenter_pods_eviction_requests_total', { code })
  await world.until('the budget refuses', async () => ((await held('429')) ?? 0) > 0)
  const leaving = sum(await scrape('joiner'), 'operator_nodeclaim_termination_current_time_seconds')
  expect(leaving).toBeGreaterThan(0)
  await world.operator.kubectl(['delete', 'poddisruptionbudget', 'inflate'])
  await world.until('the pod is drained', async () => (await held('200')) === 1)
  expect(sum(await scrape('joiner'), 'karpenter_pods_drained_total', { reason: 'Forceful Termination' })).toBe(1)
})

test('each process says its own part: the planner what it planned, and only one the cluster', async () => {
  const planner = await scrape('planner')
  expect(sum(planner, 'karpenter_nodeclaims_created_total', { reason: 'provisioned' })).toBeGreaterThan(0)
  expect(sum(planner, 'karpenter_pods_provisioning_bound_duration_seconds_count')).toBeGreaterThan(0)
  expect(sum(planner, 'karpenter_pods_provisioning_startup_duration_seconds_count')).toBeGreaterThan(0)
  for (const name of [
    'karpenter_nodepools_limit',
    'karpenter_nodepools_usage',
    'karpenter_nodepools_allowed_disruptions',
    'karpenter_pods_state',
  ])
    expect([name, sum(planner, name)]).toEqual([name, undefined])
  expect(sum(await scrape('joiner'), 'karpenter_nodepools_allowed_disruptions', { nodepool: 'general' })).toBeDefined()
})

test('the metrics of Temporal’s library stand beside them', async () => {
  const core = await scrape('joiner')
  expect(sum(core, 'temporal_workflow_completed', { workflow_type: 'nodeClaimLifecycle' })).toBeGreaterThan(0)
  expect(sum(core, 'temporal_activity_execution_latency_seconds_count', { activity_type: 'launch' })).toBeGreaterThan(0)
  expect(sum(await scrape('planner'), 'temporal_num_pollers')).toBeGreaterThan(0)
})

test('a trace of each launch, from the plan for a pod to the ready node, across processes', async () => {
  const launches = await world.until('the launches are reported', async () => {
    const found = collector.spans.filter(({ name }) => name === 'nodeClaimLifecycle')
    return found.length >= 2 && found
  })
  for (const launch of launches) {
    const of = collector.spans.filter(({ traceId }) => traceId === launch.traceId)
    const named = (name: string) => {
      const span = of.find((one) => one.name === name)
      expect(span, name).toBeDefined()
      return span as (typeof of)[number]
    }
    const parents = {
      schedule: 'provisioning',
      'create NodeClaim': 'provisioning',
      nodeClaimLifecycle: 'create NodeClaim',
      launch: 'nodeClaimLifecycle',
      'PUT virtualMachine': 'launch',
      awaitRegistration: 'nodeClaimLifecycle',
      awaitInitialization: 'nodeClaimLifecycle',
    }
    for (const [name, parent] of Object.entries(parents))
      expect([name, named(name).parentSpanId]).toEqual([name, named(parent).spanId])
    expect(named('provisioning').parentSpanId).toBe('')
    const claim = launch.attributes['k8s.nodeclaim.name']
    for (const name of ['create NodeClaim', 'launch', 'awaitRegistration', 'awaitInitialization'])
      expect(named(name).attributes['k8s.nodeclaim.name']).toBe(claim)
    expect(named('launch').attributes['joiner.outcome']).toBe('launched')
    expect(named('awaitInitialization').attributes['joiner.outcome']).toBe('initialized')
    expect(named('awaitInitialization').endMs).toBeGreaterThan(named('PUT virtualMachine').endMs)
    // The planner reports the plan, another process of the launch.
    expect(of.every(({ resource }) => resource['service.name'] === 'joiner')).toBe(true)
  }
})
