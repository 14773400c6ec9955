import type { ContainerPort, Pod } from '../../core/objects.ts'
import { hostPortConflict } from '../../core/pods/host-ports.ts'
import { labels } from '../../core/requirements/labels.ts'
import { inValues, operatorOf, type Requirement } from '../../core/requirements/requirement.ts'
import {
  isCompatible,
  merge,
  type Requirements,
  requirements,
  requirementsOfLabels,
} from '../../core/requirements/requirements.ts'
import { fits, type Resources, subtractResources } from '../../core/resources.ts'
import type { SchedulableNode, VolumesByDriver } from '../../core/scheduling/snapshot.ts'
import { type Trial, unionOfVolumes } from '../../core/scheduling/trial.ts'
import { untolerated } from '../../core/taints.ts'
import { entryOf } from '../../core/values/records.ts'
import type { Topology } from './topology.ts'

/** A node of the snapshot while a pass fills it. */
export class ExistingNode {
  readonly node: SchedulableNode
  readonly placed: Pod[] = []
  readonly #topology: Topology
  readonly #ports: ContainerPort[]
  /** What a claim without a VM leaves open; a pod must not count on one of several values. */
  readonly #open: ReadonlyMap<string, Requirement>
  /** Labels that the Node has instead. */
  readonly #reported: Requirements | undefined
  #requirements: Requirements
  #available: Resources
  #volumes: VolumesByDriver

  constructor(node: SchedulableNode, topology: Topology) {
    this.node = node
    this.#topology = topology
    const own = requirementsOfLabels(node.labels)
    this.#open = new Map([...requirements(node.requirements ?? [])].filter(([key]) => !own.has(key)))
    const hostname = inValues(labels.hostname, [node.hostname])
    this.#requirements = merge(new Map([...own, ...this.#open]), [hostname])
    this.#reported = node.reported && new Map(requirementsOfLabels(node.reported)).set(labels.hostname, hostname)
    this.#available = node.available
    this.#ports = node.pods.flatMap((pod) => pod.hostPorts)
    this.#volumes = node.volumes ?? {}
  }

  /** Places the pod here if it fits in every respect (reference/karpenter-core.md 3.4). */
  add(trial: Trial): boolean {
    const { pod } = trial
    if (this.node.isClosed === true) return false
    if (untolerated(this.node.taints, pod.tolerations).length > 0) return false
    const volumes = unionOfVolumes(this.#volumes, trial.volumes)
    if (!this.#attaches(volumes)) return false
    if (hostPortConflict(this.#ports, pod.hostPorts) !== undefined) return false
    if (!fits(pod.requests, this.#available)) return false
    if (this.#reported !== undefined && !isCompatible(this.#reported, trial.requirements)) return false
    if (!isCompatible(this.#requirements, trial.requirements)) return false
    const base = merge(this.#requirements, trial.requirements.values())
    for (const alternative of trial.alternatives) {
      const narrowed = this.#narrowed(trial, base, alternative)
      if (narrowed === undefined || !this.#leavesOpen(narrowed)) continue
      this.#requirements = narrowed
      this.#available = subtractResources(this.#available, pod.requests)
      this.#volumes = volumes
      this.#ports.push(...pod.hostPorts)
      this.placed.push(pod)
      this.#topology.record(pod, this.node.taints, narrowed)
      return true
    }
    return false
  }

  #narrowed({ pod, strict }: Trial, base: Requirements, alternative: Requirements): Requirements | undefined {
    if (!isCompatible(base, alternative)) return undefined
    const withVolumes = merge(base, alternative.values())
    const answer = this.#topology.narrow(pod, this.node.taints, { pod: strict, node: withVolumes })
    if (answer.kind === 'unsatisfiable' || !isCompatible(withVolumes, answer.requirements)) return undefined
    return merge(withVolumes, answer.requirements.values())
  }

  #attaches(volumes: VolumesByDriver): boolean {
    const limits = this.node.volumeLimits ?? {}
    return Object.entries(volumes).every(
      ([driver, ids]) => ids.length <= (entryOf(limits, driver) ?? Number.POSITIVE_INFINITY),
    )
  }

  /** Whether every value that a label may still get would do for all pods here. */
  #leavesOpen(narrowed: Requirements): boolean {
    return [...this.#open].every(([key, before]) => {
      const after = narrowed.get(key) as Requirement
      if (operatorOf(before) === 'In') return after.values.size === before.values.size
      return operatorOf(after) === operatorOf(before) && after.values.size === before.values.size
    })
  }
}
