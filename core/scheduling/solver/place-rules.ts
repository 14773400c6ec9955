import { hostPortConflict } from '../../pods/host-ports.ts'
import type { Merge, RequirementSet, RequirementSets } from '../offerings/requirement-sets.ts'
import { choiceOf } from '../topology/concern.ts'
import type { TopologyIndex } from '../topology/topology-index.ts'
import { attach } from './attachments.ts'
import { toleratesAll } from './candidates.ts'
import type { PassContext } from './pass-context.ts'
import type { Place } from './places.ts'
import type { Level } from './pod-shapes.ts'
import type { Alternative, Waiting } from './waiting-pods.ts'

/** An attempt to place a pod. */
export interface Attempt {
  readonly one: Waiting
  readonly level: Level
}

/** Rules that nodes and claims share for accepting a pod and recording it. */
export class PlaceRules {
  readonly #sets: RequirementSets
  readonly #topology: TopologyIndex

  constructor({ sets, topology }: PassContext) {
    this.#sets = sets
    this.#topology = topology
  }

  /** Whether a group leaves no domain on any place. */
  isHopeless(level: Level): boolean {
    for (const concern of this.#topology.concerning(level))
      if (!concern.group.isHostname && choiceOf(concern, undefined) === undefined) return true
    return false
  }

  /** Returns the place's requirements with the pod's, if its taints and labels admit the pod. A final refusal is remembered. */
  admitted(place: Place, { facet }: Level): RequirementSet | undefined {
    const merged: Merge = toleratesAll(place, facet.facts)
      ? this.#sets.merged(place.set, facet.facts.wanted, place.isClaim ? 'claim' : 'strict')
      : 'disjoint'
    if (typeof merged !== 'string') return merged
    if (merged === 'disjoint') facet.refused.add(place.number)
    return undefined
  }

  /** Returns the place's requirements with one of the volumes' alternatives. */
  reached(place: Place, base: RequirementSet, alternative: Alternative): RequirementSet | undefined {
    if (alternative === undefined) return base
    if (alternative === 'elsewhere') return undefined
    const reached = this.#sets.merged(base, alternative, place.isClaim ? 'claim' : 'strict')
    return typeof reached === 'string' ? undefined : reached
  }

  /** Returns the place's requirements within topology's choice. */
  narrowed(place: Place, level: Level, reached: RequirementSet): RequirementSet | undefined {
    let chosen: RequirementSet | undefined
    for (const concern of this.#topology.concerning(level)) {
      const { group, pod, selectsItself } = concern
      if (group.isHostname) {
        if (!group.allowsHost(place.host, pod, selectsItself)) return undefined
        continue
      }
      const choice = choiceOf(concern, reached.map.get(group.key))
      if (choice === 'any') continue
      if (choice === undefined) return undefined
      chosen = chosen === undefined ? this.#sets.single(choice) : this.#sets.both(chosen, choice)
    }
    if (chosen === undefined) return reached
    const narrowed = this.#sets.narrowed(reached, chosen, place.isClaim ? 'claim' : 'strict')
    return typeof narrowed === 'string' ? undefined : narrowed
  }

  portsFree(place: Place, level: Level): boolean {
    const wanted = level.pod.hostPorts
    return wanted.length === 0 || hostPortConflict(place.ports, wanted) === undefined
  }

  /** Records the pod at its place, whose requirements already include the pod's. */
  settle(place: Place, { one, level }: Attempt): void {
    place.pods.push(one.pod)
    place.ports.push(...level.pod.hostPorts)
    attach(place, one)
    if (place.isClaim) this.#topology.registerHost(place.host)
    this.#topology.record(level.labelClass, one.shape.inverse, place)
  }
}
