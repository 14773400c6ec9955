import { allows } from '../../requirements/requirement.ts'
import type { ConcernedPod, LabelClass } from '../topology/concern.ts'
import type { LabelFacts } from '../topology/label-facts.ts'
import type { TopologyGroup } from '../topology/topology-group.ts'
import {
  type FacetFacts,
  type LevelFacts,
  type LevelMaker,
  levelFacts,
  type RequestFacts,
  type ShapeFacts,
} from './pod-facts.ts'

export interface Level extends Omit<LevelFacts, 'facet' | 'labels' | 'rules'>, ConcernedPod {
  readonly facts: LevelFacts
  readonly facet: Facet
}

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

/** Requests of pods in a pass: the same places refuse equal requests. */
export interface RequestClass extends RequestFacts {
  readonly facts: RequestFacts
  readonly refused: RefusedPlaces
}

export interface Shape {
  readonly number: number
  readonly facts: ShapeFacts
  /** Sort key of its first pod in the order in which pods state their rules. */
  first: string
  readonly levels: Level[]
  /** Groups of its required anti-affinity, by which it keeps others away. */
  inverse: readonly TopologyGroup[]
  /** Whether its pods have stated their rules. As upstream, that is after the first attempt when volumes cannot be resolved. */
  stated: boolean
}

/** What makes levels of a pass. */
export interface LevelSource {
  readonly maker: LevelMaker
  readonly facet: (facts: FacetFacts) => Facet
  readonly labelClass: (facts: LabelFacts) => LabelClass
}

/** Returns the shape's level of a number, made at the first request; undefined when all preferences are given up before. */
export function levelOf(shape: Shape, number: number, source: LevelSource): Level | undefined {
  const known = shape.levels[number]
  if (known !== undefined) return known
  const facts = levelFacts(shape.facts, number, source.maker)
  if (facts === undefined) return undefined
  const { pod, whole, wanted, wantedHost, strict } = facts
  const level: Level = {
    facts,
    pod,
    whole,
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

/** Returns the level of a pod that has not stated its rules. */
export function withoutRules(level: Level): Level {
  return { ...level, groups: [], concerns: undefined }
}

/** Whether a level may go to a place with this hostname. */
export function allowsHostname({ wantedHost }: Level, hostname: string): boolean {
  return wantedHost === undefined || allows(wantedHost, hostname)
}
