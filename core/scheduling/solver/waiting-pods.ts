import { labels } from '../../labels.ts'
import type { Pod } from '../../objects.ts'
import { podName } from '../../pod-rules.ts'
import { allows, type Requirement } from '../../requirement.ts'
import { requirements } from '../../requirements.ts'
import type { Resources } from '../../resources.ts'
import type { PodVolumes, SchedulingSnapshot } from '../snapshot.ts'
import type { Amounts } from './amounts.ts'
import { type Facet, RefusedPlaces, type RequestClass, requestKey, type Shape, shapeKey } from './pod-shapes.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from './requirement-sets.ts'

/** A pod in the queue. */
export interface Waiting {
  readonly pod: Pod
  readonly shape: Shape
  readonly requested: RequestClass
  readonly volumes: PodVolumes | undefined
  readonly alternatives: readonly RequirementSet[]
  /** What each alternative asks of the hostname, if any asks something. */
  readonly alternativeHosts: readonly (Requirement | undefined)[] | undefined
  /** Why it cannot be placed whatever there is. */
  readonly hopeless: string | undefined
  /** Whether some places are barred to it. */
  readonly isBarred: boolean
  /** How many pods had been placed when it was tried last. */
  triedAt: number
  /** Whether its last attempt was made before it had stated its rules. */
  triedBare: boolean
}

const noAlternatives: readonly Alternative[] = [undefined]
const resourceClaimsError = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter'

/** The pods of a pass by what they have in common: constraints, requests, tolerations with requirements. */
export class WaitingPods {
  readonly #sets: RequirementSets
  readonly #podVolumes: SchedulingSnapshot['podVolumes']
  readonly #barred: SchedulingSnapshot['barred']
  readonly #shapes = new Map<string, Shape>()
  readonly #requests = new Map<string, RequestClass>()
  readonly #facets = new Map<string, Facet>()

  constructor({ pods, podVolumes, barred }: SchedulingSnapshot, sets: RequirementSets) {
    this.#sets = sets
    this.#podVolumes = podVolumes
    this.#barred = barred
    for (const pod of pods) this.#requestClass(pod)
  }

  /** What pods ask for, each amount once. */
  get requested(): Iterable<Resources> {
    return [...this.#requests.values()].map(({ requests }) => requests)
  }

  /** Makes the vectors of what pods ask for, once all amounts are known. */
  measure(amounts: Amounts): void {
    for (const one of this.#requests.values()) one.vector = amounts.vector(one.requests)
  }

  /** The first pod that states a rule decides for all that share its counts. */
  get shapes(): readonly Shape[] {
    return [...this.#shapes.values()].sort((a, b) => compareText(a.first, b.first))
  }

  waiting(pod: Pod): Waiting {
    const volumes = this.#podVolumes?.get(pod)
    const shape = this.#shape(pod, volumes?.lookupFailed !== true)
    return {
      pod,
      shape,
      requested: this.#requestClass(pod),
      volumes,
      ...this.#alternatives(volumes),
      isBarred: this.#barred?.pods.has(pod) === true,
      hopeless: pod.resourceClaims.length > 0 ? resourceClaimsError : volumes?.error,
      triedAt: -1,
      triedBare: false,
    }
  }

  /** A pod that does not state its rules at once is of a shape of its own. */
  #shape(pod: Pod, stated: boolean): Shape {
    const key = stated ? shapeKey(pod) : podName(pod)
    const known = this.#shapes.get(key)
    const first = orderText(pod)
    if (known !== undefined) {
      if (first < known.first) known.first = first
      return known
    }
    const number = this.#shapes.size
    const shape: Shape = { number, pod, first, levels: [], complete: false, inverse: [], stated }
    this.#shapes.set(key, shape)
    return shape
  }

  #alternatives(volumes: PodVolumes | undefined): Pick<Waiting, 'alternatives' | 'alternativeHosts'> {
    const all = (volumes?.alternatives ?? []).map((one) => requirements(one))
    const hosts = all.map((one) => one.get(labels.hostname))
    return {
      alternatives: all.map((one) => this.#sets.intern(withoutHostname(one))),
      alternativeHosts: hosts.some((one) => one !== undefined) ? hosts : undefined,
    }
  }

  #requestClass(pod: Pod): RequestClass {
    const key = requestKey(pod.requests)
    let known = this.#requests.get(key)
    if (known === undefined) {
      known = {
        number: this.#requests.size,
        requests: pod.requests,
        vector: new Float64Array(0),
        refused: new RefusedPlaces(),
      }
      this.#requests.set(key, known)
    }
    return known
  }

  facet(tolerations: Facet['tolerations'], wanted: RequirementSet): Facet {
    const key = `${wanted.id} ${JSON.stringify(tolerations)}`
    let known = this.#facets.get(key)
    if (known === undefined) {
      known = { tolerations, wanted, refused: new RefusedPlaces(), tolerated: [] }
      this.#facets.set(key, known)
    }
    return known
  }
}

/** More cpu, more memory, older, lower UID; then by name (reference/karpenter-core.md 3.3). */
export function inOrder(waiting: readonly Waiting[], amounts: Amounts): readonly Waiting[] {
  const cpu = amounts.indexOf('cpu')
  const memory = amounts.indexOf('memory')
  const keyed = waiting.map((one) => ({
    one,
    cpu: one.requested.vector[cpu] ?? 0,
    memory: one.requested.vector[memory] ?? 0,
    created: Date.parse(one.pod.metadata.creationTimestamp),
  }))
  keyed.sort(
    (a, b) =>
      b.cpu - a.cpu ||
      b.memory - a.memory ||
      a.created - b.created ||
      compareText(a.one.pod.metadata.uid, b.one.pod.metadata.uid) ||
      compareText(a.one.pod.metadata.namespace ?? '', b.one.pod.metadata.namespace ?? '') ||
      compareText(a.one.pod.metadata.name, b.one.pod.metadata.name),
  )
  return keyed.map(({ one }) => one)
}

/** Pods that wait come before those that have to move, then by name. */
function orderText(pod: Pod): string {
  return `${pod.nodeName === undefined ? 0 : 1}${podName(pod)}`
}

/** One way to reach a pod's volumes; an undefined one asks nothing, one of other hosts cannot be had here. */
export type Alternative = RequirementSet | undefined | 'elsewhere'

export function alternativesOf({ alternatives, alternativeHosts }: Waiting, hostname: string): readonly Alternative[] {
  if (alternatives.length === 0) return noAlternatives
  if (alternativeHosts === undefined) return alternatives
  return alternatives.map((one, at) => {
    const wanted = alternativeHosts[at]
    return wanted === undefined || allows(wanted, hostname) ? one : 'elsewhere'
  })
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
