import { hostPortConflict } from '../host-ports.ts'
import type { ContainerPort, Pod } from '../objects.ts'
import { allows, operatorOf, type Requirement } from '../requirement.ts'
import { isCompatible, type Requirements, requirements, requirementsOfLabels } from '../requirements.ts'
import { fits, type Resources, subtractResources } from '../resources.ts'
import { untolerated } from '../taints.ts'
import type { SchedulableNode } from './snapshot.ts'
import type { Topology, TopologyTarget } from './topology.ts'

/** A node of the snapshot while a pass fills it. */
export class ExistingNode {
  readonly node: SchedulableNode
  readonly target: TopologyTarget
  readonly placed: Pod[] = []
  readonly #labels: Requirements
  readonly #ports: ContainerPort[]
  #available: Resources

  constructor(node: SchedulableNode) {
    this.node = node
    this.#labels = requirementsOfLabels(node.labels)
    this.#available = node.available
    this.#ports = node.pods.flatMap((pod) => pod.hostPorts)
    const open = [...requirements(node.requirements ?? [])].filter(([key]) => !this.#labels.has(key))
    this.target = {
      hostname: node.hostname,
      requirements: new Map([...this.#labels, ...open]),
      taints: node.taints,
      existing: true,
    }
  }

  /** Places the pod here if it fits in every respect (reference/karpenter-core.md 3.4). */
  add(pod: Pod, wanted: Requirements, topology: Topology): boolean {
    if (!fits(pod.requests, this.#available)) return false
    if (untolerated(this.node.taints, pod.tolerations).length > 0) return false
    if (!isCompatible(this.target.requirements, wanted) || !this.#within([...wanted.values()])) return false
    if (hostPortConflict(this.#ports, pod.hostPorts) !== undefined) return false
    const answer = topology.choices(pod, this.target)
    if (answer.kind === 'unsatisfiable' || !answer.choices.some((choice) => this.#within(choice))) return false
    this.#available = subtractResources(this.#available, pod.requests)
    this.#ports.push(...pod.hostPorts)
    this.placed.push(pod)
    topology.record(pod, this.target)
    return true
  }

  /** A place cannot be narrowed any more: where its label is still open, every value that it may get must do. */
  #within(wanted: readonly Requirement[]): boolean {
    return wanted.every((set) => {
      const own = this.target.requirements.get(set.key)
      if (own === undefined || this.#labels.has(set.key)) return own === undefined || admits(set, own)
      return operatorOf(own) === 'In' && admits(set, own)
    })
  }
}

function admits(wanted: Requirement, own: Requirement): boolean {
  for (const value of own.values) if (!allows(wanted, value)) return false
  return true
}
