import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { vmCreateMetrics } from './vm-create-metrics.ts'

it('requested VMs are counted by their offering, failures by phase and code too', async () => {
  const registry = new Registry()
  const create = { instanceType: 'D4', zone: 'westus2-1', capacityType: 'spot', imageId: 'image', nodePool: 'general' }
  vmCreateMetrics(registry).started(create)
  vmCreateMetrics(registry).started(create)
  vmCreateMetrics(registry).failed(create, 'async', 'AllocationFailed')
  const labels = 'image="image",size="D4",zone="westus2-1",capacity_type="spot",nodepool="general"'
  const text = await registry.metrics()
  expect(text).toContain(`karpenter_instance_vm_create_start_total{${labels}} 2`)
  expect(text).toContain(
    `karpenter_instance_vm_create_failure_total{${labels},phase="async",error_code="AllocationFailed"} 1`,
  )
})
