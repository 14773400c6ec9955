import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { Condition, Pod } from '../../core/objects.ts'
import { labels, terminationFinalizer } from '../../core/requirements/labels.ts'
import { sampleClaim, sampleNode, samplePod } from '../../test/samples/sample-objects.ts'
import { CloudProviderMetrics } from './cloud-provider-metrics.ts'
import { conditionTransitions } from './condition-metrics.ts'
import { LifecycleMetrics } from './lifecycle-metrics.ts'
import { type PodWaits, waitsFromCreation, waitsFromPlan } from './pod-waits.ts'

const at = (seconds: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1000).toISOString()
const now = () => Date.parse(at(100))

/** Returns a registry's sums and counts, without the buckets, which follow from them. */
async function shown(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics())
    .split('\n')
    .filter((line) => /^(karpenter|operator)/.test(line) && !/_bucket|quantile/.test(line))
}

test('the end of a lifecycle: drained, VM gone, Node and NodeClaim gone, each counted once', async () => {
  const registry = new Registry()
  const metrics = new LifecycleMetrics(now, registry)
  const meta = { creationTimestamp: at(0), deletionTimestamp: at(90), finalizers: [terminationFinalizer] }
  const own = { [labels.nodePool]: 'web', [labels.zone]: 'westus2-1', [labels.capacityType]: 'spot' }
  const claim = sampleClaim('web', {
    metadata: { ...meta, labels: own },
    status: { conditions: [{ type: 'InstanceTerminating', status: 'True', lastTransitionTime: at(96) }] },
  })
  const node = sampleNode('web', { metadata: meta })
  metrics.nodeCreated(claim)
  metrics.evictionAnswered(429)
  metrics.evictionAnswered(200)
  metrics.podDrained('Drifted')
  metrics.nodeDrained(claim)
  metrics.instanceTerminated(claim)
  metrics.nodeTerminated(node, claim)
  metrics.nodeClaimTerminated(claim)
  // A second attempt of the last step finds them without their finalizers.
  metrics.nodeTerminated({ ...node, metadata: { ...node.metadata, finalizers: [] } }, claim)
  metrics.nodeClaimTerminated({ ...claim, metadata: { ...claim.metadata, finalizers: [] } })
  const pool = '{nodepool="web"}'
  const placed = '{nodepool="web",zone="westus2-1"}'
  expect(await shown(registry)).toEqual([
    `karpenter_nodes_created_total${placed} 1`,
    `karpenter_nodes_terminated_total${placed} 1`,
    `karpenter_nodes_drained_total${pool} 1`,
    'karpenter_nodeclaims_terminated_total{nodepool="web",zone="westus2-1",capacity_type="spot"} 1',
    'karpenter_nodes_reboot_recovery_duration_seconds_sum 0',
    'karpenter_nodes_reboot_recovery_duration_seconds_count 0',
    'karpenter_pods_eviction_requests_total{code="429"} 1',
    'karpenter_pods_eviction_requests_total{code="200"} 1',
    'karpenter_pods_drained_total{reason="Drifted"} 1',
    `karpenter_nodeclaims_instance_termination_duration_seconds_sum${pool} 4`,
    `karpenter_nodeclaims_instance_termination_duration_seconds_count${pool} 1`,
    `karpenter_nodeclaims_termination_duration_seconds_sum${pool} 10`,
    `karpenter_nodeclaims_termination_duration_seconds_count${pool} 1`,
    `karpenter_nodes_lifetime_duration_seconds_sum${pool} 100`,
    `karpenter_nodes_lifetime_duration_seconds_count${pool} 1`,
    `karpenter_nodes_termination_duration_seconds_sum${pool} 10`,
    `karpenter_nodes_termination_duration_seconds_count${pool} 1`,
  ])
  const text = await registry.metrics()
  const last = (name: string) => [...text.matchAll(new RegExp(`${name}_bucket{le="(\\d+)"`, 'g'))].at(-1)?.[1]
  expect(last('instance_termination_duration_seconds')).toBe('1024')
  expect(last('nodeclaims_termination_duration_seconds')).toBe('2048')
  expect(last('lifetime_duration_seconds')).toBe(String(30 * 24 * 3600))
})

test('calls to the cloud, with upstream’s names of their errors', async () => {
  const registry = new Registry()
  const metrics = new CloudProviderMetrics(registry)
  await metrics.measure({ method: 'Get' }, async () => 'vm')
  await metrics.measure({ method: 'Create', nodePool: 'web' }, async () => 'refused', {
    errorOf: () => 'InsufficientCapacityError',
  })
  const broken = metrics.measure({ method: 'Delete', nodePool: 'web' }, async () => {
    throw new Error('broken')
  })
  await expect(broken).rejects.toThrow('broken')
  const lines = await shown(registry)
  const of = (method: string) => `{controller="",method="${method}",provider="azure"`
  for (const method of ['Get', 'Create', 'Delete'])
    expect(lines).toContain(`karpenter_cloudprovider_duration_seconds_count${of(method)}} 1`)
  const errors = lines.filter((line) => line.includes('errors'))
  // An increase needs a value before it.
  expect(errors.filter((line) => line.endsWith(' 0'))).toHaveLength(4)
  expect(errors.filter((line) => !line.endsWith(' 0'))).toEqual([
    `karpenter_cloudprovider_errors_total${of('Create')},error="InsufficientCapacityError",nodepool="web"} 1`,
    `karpenter_cloudprovider_errors_total${of('Delete')},error="unknown",nodepool="web"} 1`,
  ])
})

test('transitions of conditions and ends of objects, by the names of the kind and by the older ones', async () => {
  const registry = new Registry()
  const reported = conditionTransitions(now, registry)('NodeClaim')
  const claim = (...conditions: readonly Condition[]) =>
    sampleClaim('web', {
      metadata: { labels: { [labels.nodePool]: 'web', [labels.nodeClass]: 'default' }, deletionTimestamp: at(80) },
      status: { conditions },
    })
  const condition = (status: Condition['status'], seconds: number) =>
    ({ type: 'Launched', status, reason: 'Why', lastTransitionTime: at(seconds) }) as const
  reported?.(undefined, claim(condition('Unknown', 10)))
  reported?.(claim(condition('Unknown', 10)), claim({ ...condition('Unknown', 10), reason: 'Other' }))
  reported?.(claim(condition('Unknown', 10)), claim(condition('True', 13)))
  reported?.(claim(condition('True', 13)), undefined)
  const names = (prefix: string, own: string) => [
    `${prefix}_status_condition_transitions_total{type="Launched",status="Unknown",reason="Why",${own}} 1`,
    `${prefix}_status_condition_transitions_total{type="Launched",status="True",reason="Why",${own}} 1`,
    `${prefix}_status_condition_transition_seconds_sum{type="Launched",status="Unknown",to_status="True",${own}} 3`,
    `${prefix}_status_condition_transition_seconds_count{type="Launched",status="Unknown",to_status="True",${own}} 1`,
    `${prefix}_termination_duration_seconds_sum{${own}} 20`,
    `${prefix}_termination_duration_seconds_count{${own}} 1`,
  ]
  expect((await shown(registry)).filter((line) => !line.endsWith(' 0'))).toEqual([
    ...names('operator_nodeclaim', 'karpenter_azure_com_aksnodeclass="default",karpenter_sh_nodepool="web"'),
    ...names('operator', 'group="karpenter.sh",kind="NodeClaim"'),
  ])
  expect(conditionTransitions(now, new Registry())('Pod')).toBeUndefined()
})

const pending = samplePod('web-0', { metadata: { creationTimestamp: at(0) } })
const scheduled: Pod = {
  ...pending,
  nodeName: 'node',
  conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: at(30) }],
}
const ready: Pod = {
  ...scheduled,
  phase: 'Running',
  conditions: [...scheduled.conditions, { type: 'Ready', status: 'True', lastTransitionTime: at(45) }],
}
const waiting = (waits: readonly PodWaits[]) =>
  waits.flatMap((wait) => {
    const { name, samples } = wait.family()
    return [...samples()].map(([pairs, value]) => `${name}${pairs} ${value}`)
  })

test('a pod that is seen waiting is a gauge until it is bound and ready, and then a duration', async () => {
  const registry = new Registry()
  const waits = waitsFromCreation({ now, isReported: () => true }, registry)
  const change = (before: Pod | undefined, after: Pod | undefined) => {
    for (const wait of waits) wait.changed(before, after)
  }
  change(undefined, pending)
  const name = 'name="web-0",namespace="default"'
  expect(waiting(waits)).toEqual([
    `karpenter_pods_unbound_time_seconds{${name},dynamic_resources="false"} 100`,
    `karpenter_pods_unstarted_time_seconds{${name}} 100`,
  ])
  change(pending, scheduled)
  expect(waiting(waits)).toEqual([`karpenter_pods_unstarted_time_seconds{${name}} 100`])
  change(scheduled, ready)
  expect(waiting(waits)).toEqual([])
  // A pod that ran before this process watched says nothing of its start.
  change(undefined, { ...ready, metadata: { ...ready.metadata, uid: 'old' } })
  expect(await shown(registry)).toEqual([
    'karpenter_pods_bound_duration_seconds_sum{dynamic_resources="false"} 30',
    'karpenter_pods_bound_duration_seconds_count{dynamic_resources="false"} 1',
    'karpenter_pods_startup_duration_seconds_sum 45',
    'karpenter_pods_startup_duration_seconds_count 1',
  ])
})

test('what has ended is reported by one process; a pod that ends waiting is not reported at all', async () => {
  const registry = new Registry()
  const waits = waitsFromCreation({ now, isReported: () => false }, registry)
  for (const wait of waits) wait.changed(undefined, pending)
  for (const wait of waits) wait.changed(pending, ready)
  for (const wait of waits) wait.changed(undefined, pending)
  for (const wait of waits) wait.changed(pending, { ...pending, phase: 'Failed' })
  expect(waiting(waits)).toEqual([])
  for (const wait of waits) wait.changed(undefined, pending)
  const deleted = { ...pending, metadata: { ...pending.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  for (const wait of waits) wait.changed(pending, deleted)
  expect(waiting(waits)).toEqual([])
  expect((await shown(registry)).filter((line) => !line.endsWith(' 0'))).toEqual([])
})

test('waits of planned pods count from their plan', async () => {
  const registry = new Registry()
  let planned: number | undefined
  const waits = waitsFromPlan({ now, plannedAt: () => planned }, registry)
  for (const wait of waits) wait.changed(undefined, pending)
  expect(waiting(waits)).toEqual([])
  planned = Date.parse(at(10))
  expect(waiting(waits)).toEqual([
    'karpenter_pods_provisioning_unbound_time_seconds{name="web-0",namespace="default",dynamic_resources="false"} 90',
    'karpenter_pods_provisioning_unstarted_time_seconds{name="web-0",namespace="default"} 90',
  ])
  for (const wait of waits) wait.changed(pending, ready)
  expect(await shown(registry)).toEqual([
    'karpenter_pods_provisioning_bound_duration_seconds_sum{dynamic_resources="false"} 20',
    'karpenter_pods_provisioning_bound_duration_seconds_count{dynamic_resources="false"} 1',
    'karpenter_pods_provisioning_startup_duration_seconds_sum 35',
    'karpenter_pods_provisioning_startup_duration_seconds_count 1',
  ])
})

test.each([
  ['Ready', 'ready'],
  ['KernelDeadlock', 'kernel_deadlock'],
  ['VMEventScheduled', 'vm_event_scheduled'],
  ['ReadonlyFilesystem', 'readonly_filesystem'],
])('upstream: repairs are counted by the condition in snake case: %s is %s', async (condition, label) => {
  const registry = new Registry()
  new LifecycleMetrics(now, registry).repaired(sampleClaim('web'), { condition })
  expect((await shown(registry)).filter((line) => line.includes(`condition="${label}"`))).toHaveLength(1)
})
