import { Counter, type Registry } from 'prom-client'
import type { Attempted } from '../arm/azure-error.ts'

const labelNames = ['image', 'size', 'zone', 'capacity_type', 'nodepool'] as const

/** The requested offering of a VM. */
interface VmCreate extends Attempted {
  readonly imageId: string
  /** Empty for a NodeClaim of no pool. */
  readonly nodePool: string
}

/** Counters of requested VMs, by upstream's names (reference/azure-provider.md 5, "Metrics"). */
export interface VmCreateMetrics {
  readonly started: (create: VmCreate) => void
  /** `sync`: the PUT was refused; `async`: the VM failed after it was accepted. */
  readonly failed: (create: VmCreate, phase: 'sync' | 'async', errorCode: string) => void
  /** A launch for whose instance type the node class has no image. `family`: as the images are called, such as Ubuntu2204. */
  readonly withoutImage: (family: string) => void
}

/** Returns the counters of a registry; made once in it. */
export function vmCreateMetrics(registry: Registry): VmCreateMetrics {
  const counter = <L extends string>(name: string, help: string, labels: readonly L[]) =>
    (registry.getSingleMetric(name) as Counter<L> | undefined) ??
    new Counter({ name, help, labelNames: [...labels], registers: [registry] })
  const starts = counter('karpenter_instance_vm_create_start_total', 'VMs that Azure was asked for.', labelNames)
  const failures = counter(
    'karpenter_instance_vm_create_failure_total',
    'VMs that Azure refused at once (sync), or that failed after they were accepted (async).',
    [...labelNames, 'phase', 'error_code'],
  )
  const withoutImage = counter(
    'karpenter_image_selection_error_count',
    'Launches for whose instance type there was no image.',
    ['family'],
  )
  const labelsOf = ({ imageId, instanceType, zone, capacityType, nodePool }: VmCreate) => ({
    image: imageId,
    size: instanceType,
    zone,
    capacity_type: capacityType,
    nodepool: nodePool,
  })
  return {
    withoutImage: (family) => withoutImage.inc({ family }),
    started: (create) => starts.inc(labelsOf(create)),
    failed: (create, phase, errorCode) => failures.inc({ ...labelsOf(create), phase, error_code: errorCode }),
  }
}
