import type { Pod, Toleration } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { allows, type Requirement } from '../../requirements/requirement.ts'
import { hasPreferredNodeAffinity, podRequirements, type Requirements } from '../../requirements/requirements.ts'
import type { Resources } from '../../resources.ts'
import type { Quantity } from '../../values/quantity.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import { relax } from '../relaxation.ts'
import type { StatedRule } from '../topology/topology-base.ts'
import type { Choice, TopologyGroup } from '../topology/topology-group.ts'
import type { Candidates } from './candidates.ts'

/** Namespace and labels that pods share. */
export interface LabelFacts {
  /** The same text for all of them; see `labelKey`. */
  readonly text: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly pairs: readonly string[]
}

/** Which groups of a pass count pods with the same labels. */
export interface LabelClass {
  readonly facts: LabelFacts
  /** Groups and inverse groups that select these pods. */
  readonly selectedBy: TopologyGroup[]
  readonly selectedByInverse: TopologyGroup[]
}

/** A pod as it is tried, with all its wishes or with some given up: what follows from the pod alone. */
export interface LevelFacts {
  readonly pod: Pod
  readonly wanted: RequirementSet
  /** Requirements on the hostname, which no set holds. */
  readonly wantedHost: Requirement | undefined
  /** What narrows the domains that the pod's topology counts: only what is required. */
  readonly strict: Requirements
  readonly facet: FacetFacts
  readonly labels: LabelFacts
  /** The rules that it states; absent until somebody asks. */
  rules: readonly StatedRule[] | undefined
}

/** A level in a pass. */
export interface Level extends Omit<LevelFacts, 'facet' | 'labels' | 'rules'> {
  readonly facts: LevelFacts
  readonly facet: Facet
  /** Its own spreads and affinities; absent until the pod states them. */
  groups: readonly TopologyGroup[] | undefined
  readonly labelClass: LabelClass
  /** Its groups and those that keep it away; made anew when there are more of the latter. */
  concerns: readonly Concern[] | undefined
  inverseSeen: number
}

/** A group as it concerns a pod. */
export interface Concern {
  readonly group: TopologyGroup
  /** What the pod strictly asks of the group's key. */
  readonly pod: Requirement | undefined
  readonly selectsItself: boolean
  /** Whether it is another pod's, which keeps this one away. */
  readonly isInverse: boolean
}

/** What a concern leaves to choose on a place where the key may be `node`; `any`: it has nothing to say. */
export function choiceOf(
  { group, pod, selectsItself, isInverse }: Concern,
  node: Requirement | undefined,
): Choice | 'any' {
  // Upstream lets a pod that waits keep all others from every node by a key that no node has; Kubernetes does not.
  return isInverse && group.isAboutNothing ? 'any' : group.choose(pod, node, selectsItself)
}

/** Tolerations and requirements: with the place they decide a refusal that stays. */
export interface FacetFacts {
  readonly tolerations: readonly Toleration[]
  readonly wanted: RequirementSet
  /** Whether the taints of a list are tolerated, by the list's number. */
  readonly tolerated: (boolean | undefined)[]
  /** Nodes that may take a pod, by what it requests. */
  readonly candidates: Map<RequestFacts, Candidates>
}

/** A facet in a pass. */
export interface Facet {
  readonly facts: FacetFacts
  /** 1 where a claim, or a node that has received a pod, refused for good. */
  readonly refused: RefusedPlaces
}

/** Places that refused for good, as bytes that grow with the places. */
export class RefusedPlaces {
  bytes = new Uint8Array(64)

  add(place: number): void {
    if (place < 0) return
    this.upTo(place + 1)[place] = 1
  }

  has(place: number): boolean {
    return this.bytes[place] === 1
  }

  /** The bytes, at least as many as there are places. */
  upTo(places: number): Uint8Array {
    if (places > this.bytes.length) {
      const grown = new Uint8Array(Math.max(places, this.bytes.length * 2))
      grown.set(this.bytes)
      this.bytes = grown
    }
    return this.bytes
  }
}

/** What pods ask for, each amount once. */
export interface RequestFacts {
  readonly number: number
  readonly requests: Resources
  readonly vector: Float64Array
}

/** What pods ask for, in a pass: those that ask for the same are refused by the same places. */
export interface RequestClass extends RequestFacts {
  readonly facts: RequestFacts
  readonly refused: RefusedPlaces
}

/** Pods whose constraints are the same, whatever they request. */
export interface ShapeFacts {
  readonly pod: Pod
  readonly levels: LevelFacts[]
  /** Whether the last level has nothing more to give up. */
  complete: boolean
  /** The rules by which it keeps others away; absent until somebody asks. */
  inverseRules: readonly StatedRule[] | undefined
}

/** A shape in a pass. */
export interface Shape {
  readonly number: number
  readonly facts: ShapeFacts
  /** Where the first of them stands in the order in which pods state their rules. */
  first: string
  readonly levels: Level[]
  /** Groups of its required anti-affinity, by which it keeps others away. */
  inverse: readonly TopologyGroup[]
  /** Whether its pods have stated their rules; where volumes cannot be looked up, that is after the first attempt, as upstream. */
  stated: boolean
}

/** What makes levels of pods. */
export interface LevelMaker {
  readonly sets: RequirementSets
  readonly respectsPreferences: boolean
  readonly toleratePreferNoSchedule: boolean
  readonly facet: (tolerations: readonly Toleration[], wanted: RequirementSet) => FacetFacts
  readonly labels: (pod: Pod) => LabelFacts
}

/** What makes levels of a pass. */
export interface LevelSource {
  readonly maker: LevelMaker
  readonly facet: (facts: FacetFacts) => Facet
  readonly labelClass: (facts: LabelFacts) => LabelClass
}

/** The shape's level of that number, made when first asked for; undefined: all wishes are given up before. */
export function levelOf(shape: Shape, number: number, source: LevelSource): Level | undefined {
  const known = shape.levels[number]
  if (known !== undefined) return known
  const facts = levelFacts(shape.facts, number, source.maker)
  if (facts === undefined) return undefined
  const { pod, wanted, wantedHost, strict } = facts
  const level: Level = {
    facts,
    pod,
    wanted,
    wantedHost,
    strict,
    facet: source.facet(facts.facet),
    groups: undefined,
    labelClass: source.labelClass(facts.labels),
    concerns: undefined,
    inverseSeen: 0,
  }
  shape.levels.push(level)
  return level
}

function levelFacts(shape: ShapeFacts, number: number, maker: LevelMaker): LevelFacts | undefined {
  const known = shape.levels[number]
  if (known !== undefined || shape.complete) return known
  const before = shape.levels[number - 1]
  const pod = before === undefined ? shape.pod : relax(before.pod, maker.toleratePreferNoSchedule)
  if (pod === undefined) {
    shape.complete = true
    return undefined
  }
  const level = makeLevel(pod, maker)
  shape.levels.push(level)
  return level
}

/** The level of a pod that has not stated its rules yet. */
export function withoutRules(level: Level): Level {
  return { ...level, groups: [], concerns: undefined }
}

function makeLevel(pod: Pod, { sets, respectsPreferences, facet, labels: labelsOf }: LevelMaker): LevelFacts {
  const all = podRequirements(pod, { strict: !respectsPreferences })
  const strict = hasPreferredNodeAffinity(pod) ? podRequirements(pod, { strict: true }) : all
  const wanted = sets.intern(withoutHostname(all))
  return {
    pod,
    wanted,
    wantedHost: all.get(labels.hostname),
    strict,
    facet: facet(pod.tolerations, wanted),
    labels: labelsOf(pod),
    rules: undefined,
  }
}

/** Whether a level may go to a place with this hostname. */
export function allowsHostname({ wantedHost }: Level, hostname: string): boolean {
  return wantedHost === undefined || allows(wantedHost, hostname)
}

/** Whether groups of hostnames allow a host. */
export function allowedOn(host: number, concerns: readonly Concern[]): boolean {
  for (const { group, pod, selectsItself } of concerns) if (!group.allowsHost(host, pod, selectsItself)) return false
  return true
}

/** The same text for pods with the same constraints. */
export function shapeKey(pod: Pod): string {
  return JSON.stringify([
    pod.metadata.namespace,
    pod.metadata.labels,
    pod.nodeSelector,
    pod.affinity,
    pod.tolerations,
    pod.topologySpreadConstraints,
    pod.hostPorts,
  ])
}

/** The same text for pods that ask for the same, whatever the order. */
export function requestKey(requests: Resources): string {
  let key = ''
  for (const name of Object.keys(requests).sort()) key += `${name}=${(requests[name] as Quantity).nano};`
  return key
}
