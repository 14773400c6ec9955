import type { Pod } from '../../objects.ts'
import { podCost } from '../pod-cost.ts'
import { exceedsLimits } from './attachments.ts'
import { fits } from './candidates.ts'
import { type Change, noChange } from './change.ts'
import { OpenClaims } from './open-claims.ts'
import { PassContext } from './pass-context.ts'
import { PassNodes } from './pass-nodes.ts'
import { type Attempt, PlaceRules } from './place-rules.ts'
import { type ClaimPlace, leavesOpen, type NodePlace } from './places.ts'
import { allowsHostname, type Level, levelOf, type Shape, withoutRules } from './pod-shapes.ts'
import type { SolverBase } from './solver-base.ts'
import { alternativesOf, questionOf, type Waiting } from './waiting-pods.ts'

const always = () => true

/** Result of a pass. */
export interface Outcome {
  /** Whether `shouldStop` or the number of claims ended the pass. */
  readonly isStopped: boolean
  readonly claims: readonly ClaimPlace[]
  /** Nodes that have received pods, in the order of attempts. */
  readonly nodes: readonly NodePlace[]
  readonly failed: ReadonlySet<Waiting>
  /** Outcome of pods with many constraints that are in neither list. */
  readonly heavyPods: HeavyPods
}

/**
 * One pass over the pods. docs/scheduler-speed.md describes its caches and their invariants. Requirement sets, requests and constraints are interned. A
 * place's refusal that cannot change is remembered. A pod that failed is not tried again before another is placed.
 */
export class Solver {
  readonly context: PassContext
  readonly #pods: readonly Pod[]
  readonly #maxNewClaims: number
  readonly #rules: PlaceRules
  readonly #nodes: PassNodes
  readonly #claims: OpenClaims
  readonly #failed = new Set<Waiting>()
  /** Count of places that have received pods: each has a number. */
  readonly #places = { count: 0 }
  /** Grows with each placement: an attempt that failed at this number fails again. */
  #placements = 0
  readonly #failedAt = new Map<string, number>()

  constructor(base: SolverBase, change: Change = noChange(base)) {
    this.context = new PassContext(base, change)
    this.#pods = change.pods
    this.#maxNewClaims = change.maxNewClaims ?? Number.POSITIVE_INFINITY
    this.#rules = new PlaceRules(this.context)
    this.#nodes = new PassNodes(base, change.removed, change.barred?.places)
    this.#claims = new OpenClaims(this.context, this.#rules, this.#places)
  }

  /** Places the pods that fit. Runs once. */
  run(): Outcome {
    const { waiting: pods, amounts, topology, options } = this.context
    const waiting = pods.inOrder(this.#pods, amounts)
    const real = waiting.filter(({ pod }) => pod.buffer === undefined)
    const heavy = real.filter(({ isHeavy }) => isHeavy)
    const late = new Set(heavy.map(({ shape }) => shape))
    for (const shape of pods.shapes) if (shape.stated && !late.has(shape)) this.#state(shape)
    topology.knowHosts(() => this.#nodes.hosts)
    const isOver = this.#placeAll(heavy.length === 0 ? real : real.filter(({ isHeavy }) => !isHeavy))
    const heavyPods = isOver || heavy.length === 0 ? noHeavyPods : this.#placeHeavy(heavy)
    const isStopped = isOver || this.#placeVirtual(waiting, real)
    options.inHand?.(undefined)
    return { isStopped, claims: this.#claims.all, nodes: this.#nodes.filled, failed: this.#failed, heavyPods }
  }

  /** Places the pods that keep room for buffers, after all others: they take what is left, and no pod is placed by a rule that one of them fulfils. */
  #placeVirtual(waiting: readonly Waiting[], real: readonly Waiting[]): boolean {
    if (real.length === waiting.length) return false
    return this.#placeAll(waiting.filter(({ pod }) => pod.buffer !== undefined))
  }

  #placeHeavy(heavy: readonly Waiting[]): HeavyPods {
    const stated = new Set<Shape>()
    const mayGoOn = this.context.options.heavyPodsBegin?.() ?? always
    return placeHeavy(heavy, mayGoOn, (one) => {
      if (one.shape.stated && !stated.has(one.shape)) this.#state(one.shape)
      stated.add(one.shape)
      const answer = this.#place(one, mayGoOn)
      if (answer === 'refused') this.#failed.add(one)
      return answer
    })
  }

  /** Failed pods are tried again while others find a place. */
  #placeAll(waiting: readonly Waiting[]): boolean {
    const { shouldStop } = this.context.options
    for (let queue = waiting; queue.length > 0; ) {
      const failed: Waiting[] = []
      for (const one of queue) {
        if (one.triedAt === this.#placements) return false
        if (this.#claims.all.length > this.#maxNewClaims || shouldStop?.() === true) return true
        if (this.#place(one) === 'placed') this.#failed.delete(one)
        else {
          if (!one.shape.stated) this.#state(one.shape)
          one.triedAt = this.#placements
          failed.push(one)
          this.#failed.add(one)
        }
      }
      queue = failed
    }
    return false
  }

  /** Adds the rules that the shape's pods state with all their preferences. */
  #state(shape: Shape): void {
    const { topology, levels } = this.context
    topology.groupsOf(levelOf(shape, 0, levels) as Level)
    shape.inverse = topology.inverseOf(shape.facts)
    shape.stated = true
  }

  /** Gives up one preference after the other until there is a place. */
  #place(one: Waiting, mayGoOn = always): Placement {
    const { options, levels, topology } = this.context
    options.inHand?.(one.pod)
    if (one.hopeless !== undefined) return 'refused'
    const key = one.volumes === undefined ? questionOf(one) : undefined
    if (key !== undefined && this.#failedAt.get(key) === this.#placements) return 'refused'
    for (let number = 0; ; number++) {
      if (!mayGoOn()) return 'stopped'
      const level = levelOf(one.shape, number, levels)
      if (level === undefined) break
      one.triedBare = number === 0 && !one.shape.stated
      const answer = this.#attempt({ one, level: one.triedBare ? withoutRules(level) : level })
      if (answer === 'placed') {
        this.#placements += 1
        return 'placed'
      }
      if (one.triedBare) one.shape.inverse = topology.inverseOf(one.shape.facts)
      if (answer === 'wait') break
    }
    if (key !== undefined) this.#failedAt.set(key, this.#placements)
    return 'refused'
  }

  #attempt(attempt: Attempt): 'placed' | 'refused' | 'wait' {
    if (!this.#rules.isHopeless(attempt.level)) {
      if (this.#tryNodes(attempt)) return 'placed'
      if (this.#claims.place(attempt)) return 'placed'
    }
    return this.#claims.open(attempt)
  }

  #tryNodes(attempt: Attempt): boolean {
    const { facet } = attempt.level
    const { requested, isBarred } = attempt.one
    const candidates = this.context.base.candidates(facet.facts, requested.facts)
    for (let at = this.#nodes.firstOf(candidates, facet, requested); ; at++) {
      const number = candidates.at(at)
      if (number === undefined) return false
      const place = this.#nodes.placeFor(number, isBarred)
      if (place !== undefined && this.#tryNode(place, number, attempt)) return true
    }
  }

  /** `number`: the node's index among all. */
  #tryNode(place: NodePlace, number: number, attempt: Attempt): boolean {
    const { one, level } = attempt
    const { facet } = level
    if (facet.refused.has(place.number) || one.requested.refused.has(place.number)) return false
    if (!fits(one.requested.vector, place.free)) {
      one.requested.refused.add(place.number)
      return false
    }
    const base = this.#rules.admitted(place, level)
    if (base === undefined || !allowsHostname(level, place.hostname)) return false
    if (!this.#rules.portsFree(place, level) || exceedsLimits(place, one)) return false
    for (const alternative of alternativesOf(one, place.hostname)) {
      const reached = this.#rules.reached(place, base, alternative)
      const set = reached && this.#rules.narrowed(place, level, reached)
      if (set === undefined || !leavesOpen(place, set)) continue
      const filled = place.number < 0 ? this.#nodes.fill(number, this.#places.count++) : place
      filled.set = set
      filled.free = filled.free.map((amount, at) => amount - (one.requested.vector[at] as number))
      this.#rules.settle(filled, attempt)
      return true
    }
    return false
  }
}

/** Outcome of an attempt for a pod: `stopped` when its time ended first. */
type Placement = 'placed' | 'refused' | 'stopped'

interface HeavyPods {
  /** Pods for which there was no time. */
  readonly postponed: readonly Pod[]
  /** A pod for which all of the time was not enough. */
  readonly tooHeavy: Waiting | undefined
}

/**
 * Places pods with many constraints, those with the fewest first, each once, while there is time. All others are placed before, so these constraints
 * do not delay them.
 */
function placeHeavy(heavy: readonly Waiting[], mayGoOn: () => boolean, place: (one: Waiting) => Placement): HeavyPods {
  const inOrder = [...heavy].sort((a, b) => podCost(a.pod) - podCost(b.pod))
  for (const [at, one] of inOrder.entries()) {
    if (mayGoOn() && place(one) !== 'stopped') continue
    const isFirst = at === 0
    // A pod that had all of the time can never have more.
    return { postponed: inOrder.slice(isFirst ? 1 : at).map(({ pod }) => pod), tooHeavy: isFirst ? one : undefined }
  }
  return { postponed: [], tooHeavy: undefined }
}

const noHeavyPods: HeavyPods = { postponed: [], tooHeavy: undefined }
