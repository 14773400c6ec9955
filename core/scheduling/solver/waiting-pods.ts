import type { Pod } from '../../objects.ts'
import { podName } from '../../pods/pod-rules.ts'
import { labels } from '../../requirements/labels.ts'
import { allows, type Requirement } from '../../requirements/requirement.ts'
import { requirements } from '../../requirements/requirements.ts'
import { compareText } from '../../values/texts.ts'
import type { Amounts } from '../offerings/amounts.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import { isHeavy } from '../pod-cost.ts'
import type { PodVolumes, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'
import type { UnschedulableCause } from '../unschedulable.ts'
import type { KnownPod, PodClasses } from './pod-classes.ts'
import type { FacetFacts, RequestFacts, ShapeFacts } from './pod-facts.ts'
import { type Facet, RefusedPlaces, type RequestClass, type Shape } from './pod-shapes.ts'

export interface Waiting {
  readonly pod: Pod
  readonly shape: Shape
  readonly requested: RequestClass
  readonly volumes: PodVolumes | undefined
  readonly alternatives: readonly RequirementSet[]
  /** Each alternative's requirement on the hostname, if any has one. */
  readonly alternativeHosts: readonly (Requirement | undefined)[] | undefined
  /** Why it can never be placed. */
  readonly hopeless: UnschedulableCause | undefined
  readonly isBarred: boolean
  /** Whether it is planned after all others, because its constraints may take long. */
  readonly isHeavy: boolean
  /** The only group with which it shares new claims. */
  readonly apart: string | undefined
  /** The number of placed pods at its last attempt. */
  triedAt: number
  /** Whether its last attempt was made before it had stated its rules. */
  triedBare: boolean
}

interface WaitingContext {
  readonly sets: RequirementSets
  readonly classes: PodClasses
  readonly podVolumes: SchedulingSnapshot['podVolumes']
  readonly barred: ReadonlySet<Pod> | undefined
  readonly apart: SchedulingSnapshot['apart']
  readonly inHand: SchedulingOptions['inHand']
}

const noVolumes = { alternatives: [], alternativeHosts: undefined }
const noAlternatives: readonly Alternative[] = [undefined]
const resourceClaims: UnschedulableCause = { kind: 'resource-claims' }

/** The pods of a pass, with facts that equal ones share. */
export class WaitingPods {
  readonly #sets: RequirementSets
  readonly #classes: PodClasses
  readonly #podVolumes: SchedulingSnapshot['podVolumes']
  readonly #barred: ReadonlySet<Pod> | undefined
  readonly #apart: SchedulingSnapshot['apart']
  readonly #inHand: SchedulingOptions['inHand']
  readonly #shapes = new Map<ShapeFacts | string, Shape>()
  readonly #requests = new Map<RequestFacts, RequestClass>()
  readonly #facets = new Map<FacetFacts, Facet>()

  constructor({ sets, classes, podVolumes, barred, apart, inHand }: WaitingContext) {
    this.#sets = sets
    this.#classes = classes
    this.#podVolumes = podVolumes
    this.#barred = barred
    this.#apart = apart
    this.#inHand = inHand
  }

  /** The first pod that states a rule decides for all that share its counts. */
  get shapes(): readonly Shape[] {
    return [...this.#shapes.values()].sort((a, b) => compareText(a.first, b.first))
  }

  /** More cpu, more memory, older, lower UID; then by name (reference/karpenter-core.md 3.3). */
  inOrder(pods: readonly Pod[], amounts: Amounts): readonly Waiting[] {
    const cpu = amounts.indexOf('cpu')
    const memory = amounts.indexOf('memory')
    const keyed = pods.map((pod) => {
      this.#inHand?.(pod)
      const known = this.#classes.of(pod)
      const { vector } = known.requested
      return { known, one: this.#waiting(known), cpu: vector[cpu] ?? 0, memory: vector[memory] ?? 0 }
    })
    this.#inHand?.(undefined)
    keyed.sort(
      (a, b) =>
        b.cpu - a.cpu ||
        b.memory - a.memory ||
        a.known.created - b.known.created ||
        compareText(a.one.pod.metadata.uid, b.one.pod.metadata.uid) ||
        compareText(a.one.pod.metadata.namespace ?? '', b.one.pod.metadata.namespace ?? '') ||
        compareText(a.one.pod.metadata.name, b.one.pod.metadata.name),
    )
    return keyed.map(({ one }) => one)
  }

  #waiting(known: KnownPod): Waiting {
    const { pod } = known
    const volumes = this.#podVolumes?.get(pod)
    const { alternatives, alternativeHosts } = volumes === undefined ? noVolumes : this.#alternatives(volumes)
    return {
      pod,
      shape: this.#shape(known, volumes?.lookupFailed !== true),
      requested: this.#requestClass(known.requested),
      volumes,
      alternatives,
      alternativeHosts,
      isBarred: this.#barred?.has(pod) === true,
      isHeavy: isHeavy(pod),
      apart: this.#apart?.get(pod),
      hopeless: hopelessBecause(pod, volumes),
      triedAt: -1,
      triedBare: false,
    }
  }

  /** A pod that does not state its rules at once has a shape of its own. */
  #shape({ pod, shape: facts, first }: KnownPod, stated: boolean): Shape {
    const key = stated ? facts : podName(pod)
    const known = this.#shapes.get(key)
    if (known !== undefined) {
      if (first < known.first) known.first = first
      return known
    }
    const shape: Shape = { number: this.#shapes.size, facts, first, levels: [], inverse: [], stated }
    this.#shapes.set(key, shape)
    return shape
  }

  #alternatives({ alternatives }: PodVolumes): Pick<Waiting, 'alternatives' | 'alternativeHosts'> {
    const all = alternatives.map((one) => requirements(one))
    const hosts = all.map((one) => one.get(labels.hostname))
    return {
      alternatives: all.map((one) => this.#sets.intern(withoutHostname(one))),
      alternativeHosts: hosts.some((one) => one !== undefined) ? hosts : undefined,
    }
  }

  #requestClass(facts: RequestFacts): RequestClass {
    let known = this.#requests.get(facts)
    if (known === undefined) {
      known = { ...facts, facts, refused: new RefusedPlaces() }
      this.#requests.set(facts, known)
    }
    return known
  }

  facet(facts: FacetFacts): Facet {
    let known = this.#facets.get(facts)
    if (known === undefined) {
      known = { facts, refused: new RefusedPlaces() }
      this.#facets.set(facts, known)
    }
    return known
  }
}

function hopelessBecause(
  { resourceClaims: claims }: Pod,
  volumes: PodVolumes | undefined,
): UnschedulableCause | undefined {
  if (claims.length > 0) return resourceClaims
  return volumes?.error && { kind: 'volumes', problem: volumes.error }
}

/** One way to reach a pod's volumes. Undefined: without requirements; `elsewhere`: only on other hosts. */
export type Alternative = RequirementSet | undefined | 'elsewhere'

export function alternativesOf({ alternatives, alternativeHosts }: Waiting, hostname: string): readonly Alternative[] {
  if (alternatives.length === 0) return noAlternatives
  if (alternativeHosts === undefined) return alternatives
  return alternatives.map((one, at) => {
    const wanted = alternativeHosts[at]
    return wanted === undefined || allows(wanted, hostname) ? one : 'elsewhere'
  })
}

/** Returns the same key for pods that get the same answer until the next placement. */
export function questionOf({ shape, requested, isBarred, apart }: Waiting): string {
  return `${shape.number}/${requested.number}/${isBarred}/${apart ?? ''}`
}
