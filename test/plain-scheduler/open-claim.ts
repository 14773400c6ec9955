import type { Pod } from '../../core/objects.ts'
import { mergeResources, minResources, type Resources } from '../../core/resources.ts'
import { type ClaimSettings, fitOf, newClaim, type OpenClaim, type Refusal } from '../../core/scheduling/open-claim.ts'
import type { Reservations } from '../../core/scheduling/reservations.ts'
import type { Trial } from '../../core/scheduling/trial.ts'
import type { PoolTemplate } from './pool-template.ts'
import type { Topology } from './topology.ts'

export interface PassSettings extends Omit<ClaimSettings, 'relaxMinValues'> {
  readonly topology: Topology
  readonly reservations: Reservations
}

/** A claim that the plain scheduler has opened, with its pods. */
export class PlainClaim {
  readonly pool: PoolTemplate
  readonly pods: Pod[] = []
  readonly #settings: PassSettings
  #now: OpenClaim

  constructor(pool: PoolTemplate, own: Pick<OpenClaim, 'hostname' | 'types'>, settings: PassSettings) {
    const { taints, groups, requirements } = pool
    this.pool = pool
    this.#settings = settings
    this.#now = newClaim({ taints, groups, requirements, ...own })
  }

  get now(): OpenClaim {
    return this.#now
  }

  /** Requests of its pods, and of the daemons that every remaining type would carry. */
  get requestsWithDaemons(): Resources {
    const left = new Set(this.#now.types)
    const alive = this.pool.groups.filter(({ types }) => types.some((type) => left.has(type)))
    return mergeResources(this.#now.requests, minResources(...alive.map(({ overhead }) => overhead)))
  }

  /** Adds the pod if it fits. Returns undefined when it was added. */
  add(trial: Trial, relaxMinValues = false): Refusal | undefined {
    const { topology, reservations } = this.#settings
    const found = fitOf(this.#now, trial, { ...this.#settings, relaxMinValues })
    if ('cause' in found) return found
    const { pod } = trial
    const { hostname, ports } = this.#now
    const { reservations: held, ...fit } = found
    this.pods.push(pod)
    this.#now = { ...this.#now, ...fit, ports: [...ports, ...pod.hostPorts] }
    topology.register(hostname)
    topology.record(pod, this.pool.taints, fit.requirements)
    reservations.hold(hostname, held)
    return undefined
  }
}
