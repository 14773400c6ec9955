import { hostPortConflict } from '../host-ports.ts'
import { minValues } from '../instance-type.ts'
import { labels, wellKnownLabels } from '../labels.ts'
import type { ContainerPort, Pod } from '../objects.ts'
import { type Quantity, zero } from '../quantity.ts'
import { intersect, inValues, type Requirement } from '../requirement.ts'
import { incompatibility, isCompatible, merge, type Requirements } from '../requirements.ts'
import { maxResources, mergeResources, noResources, type Resources } from '../resources.ts'
import { intolerance, untolerated } from '../taints.ts'
import {
  describeRequests,
  describeRequirements,
  holds,
  type PoolType,
  type PoolTypes,
  typesError,
} from './pool-types.ts'
import type { Topology, TopologyTarget } from './topology.ts'

/** Undefined: the pod was added. Else why not; the text is made only when somebody asks. */
export type Refusal = (() => string) | undefined

/** A NodeClaim in the making: what its pods leave of a pool's instance types. */
export class OpenClaim {
  readonly pool: PoolTypes
  readonly pods: Pod[] = []
  readonly #hostname: string
  readonly #ports: ContainerPort[]
  #requirements: Requirements
  #types: readonly PoolType[]
  #requests: Resources = noResources
  /** The most that any of the types has free, per resource: what exceeds it fits none of them. */
  #most: Resources

  constructor(pool: PoolTypes, hostname: string, types: readonly PoolType[]) {
    this.pool = pool
    this.#hostname = hostname
    this.#requirements = merge(pool.requirements, [inValues(labels.hostname, [hostname])])
    this.#types = types
    this.#most = mostFree(types)
    this.#ports = [...pool.daemonPorts]
  }

  get requirements(): Requirements {
    return this.#requirements
  }

  get types(): readonly PoolType[] {
    return this.#types
  }

  get requests(): Resources {
    return this.#requests
  }

  /** Adds the pod if a type is left that takes it with the others (reference/karpenter-core.md 3.5). */
  add(pod: Pod, wanted: Requirements, topology: Topology): Refusal {
    if (untolerated(this.pool.taints, pod.tolerations).length > 0) {
      return () => intolerance(this.pool.taints, pod.tolerations) ?? ''
    }
    if (!isCompatible(this.#requirements, wanted, wellKnownLabels)) {
      const own = this.#requirements
      return () => `incompatible requirements, ${incompatibility(own, wanted, wellKnownLabels)}`
    }
    const conflict = hostPortConflict(this.#ports, pod.hostPorts)
    if (conflict !== undefined) return () => conflict
    const merged = narrow(this.#requirements, wanted.values())
    const answer = topology.choices(pod, this.#target(merged))
    if (answer.kind === 'unsatisfiable') return answer.explain
    const requests = mergeResources(this.#requests, pod.requests)
    let refusal: Refusal
    for (const choice of answer.choices) {
      refusal = this.#commit(pod, narrow(merged, choice), requests)
      if (refusal === undefined) {
        topology.record(pod, this.#target(this.#requirements))
        return undefined
      }
    }
    return refusal
  }

  #target(requirements: Requirements): TopologyTarget {
    return { hostname: this.#hostname, requirements, taints: this.pool.taints, existing: false }
  }

  #commit(pod: Pod, requirements: Requirements, requests: Resources): Refusal {
    const before = this.#types
    const failed = () => typesError(before, requirements, requests)
    if (exceeds(requests, this.#most)) return failed
    const matching = requirements === this.#requirements ? before : this.#stillMatching(requirements)
    const types = matching.filter((one) => holds(one, requests))
    if (types.length === 0) return failed
    const unsatisfied = minValuesShort(types, requirements)
    if (unsatisfied.length > 0) {
      return () =>
        `minValues requirement is not met for label(s) (label(s)=[${unsatisfied.join(' ')}]), ` +
        `requirements=${describeRequirements(requirements)}, resources=${describeRequests(before, requests)}`
    }
    if (types.length < before.length) this.#most = mostFree(types)
    this.#requirements = requirements
    this.#types = types
    this.#requests = requests
    this.#ports.push(...pod.hostPorts)
    this.pods.push(pod)
    return undefined
  }

  #stillMatching(requirements: Requirements): readonly PoolType[] {
    const matching = new Set(this.pool.matching(withoutHostname(requirements)))
    return this.#types.filter((one) => matching.has(one))
  }
}

/** Instance types have no hostname; without it the claims of one pool share what they ask. */
function withoutHostname(requirements: Requirements): Requirements {
  return new Map([...requirements].filter(([key]) => key !== labels.hostname))
}

function mostFree(types: readonly PoolType[]): Resources {
  return maxResources(...types.map(({ free }) => free))
}

function exceeds(requests: Resources, most: Resources): boolean {
  for (const name in requests) if ((requests[name] as Quantity).nano > (most[name] ?? zero).nano) return true
  return false
}

function minValuesShort(types: readonly PoolType[], requirements: Requirements): readonly string[] {
  for (const set of requirements.values()) {
    if (set.minValues !== undefined) {
      return [
        ...minValues(
          types.map(({ type }) => type),
          requirements,
        ).unsatisfied.keys(),
      ].sort()
    }
  }
  return []
}

/** The same map when nothing in it becomes narrower. */
function narrow(base: Requirements, added: Iterable<Requirement>): Requirements {
  let result: Map<string, Requirement> | undefined
  for (const set of added) {
    const before = (result ?? base).get(set.key)
    const after = before === undefined ? set : intersect(before, set)
    if (before !== undefined && same(before, after)) continue
    result ??= new Map(base)
    result.set(set.key, after)
  }
  return result ?? base
}

/** Whether an intersection took nothing away: it can only have become smaller. */
function same(before: Requirement, after: Requirement): boolean {
  return (
    before.complement === after.complement &&
    before.values.size === after.values.size &&
    before.gte === after.gte &&
    before.lte === after.lte &&
    before.minValues === after.minValues
  )
}
