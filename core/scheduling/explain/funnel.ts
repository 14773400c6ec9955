import { unclaimable, unclaimableText } from '../../requirements/claim-requirements.ts'
import { labels } from '../../requirements/labels.ts'
import { incompatibility, incompatibilityText, merge, type Requirements } from '../../requirements/requirements.ts'
import { describeTaint } from '../../taints.ts'
import { noBits } from '../offerings/bits.ts'
import type { Level } from '../solver/pod-shapes.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import { topologyText } from '../unschedulable-text.ts'
import type { FinishedPass } from './finished-pass.ts'
import { type Funnel, funnelOf, shortly } from './funnel-types.ts'
import { type Attempt, NearestMisses } from './nearest-miss.ts'
import { lastLevelOf, type Reached, reached } from './reach.ts'

/** Why one NodePool could not give a pod a new node. */
export interface PoolFunnel {
  readonly nodePool: string
  readonly funnel: Funnel
  /** The change that would take the pod further, in words. */
  readonly nearestMiss: string
}

/**
 * Explains a pod that was left pending: by NodePool, how many instance types each stage left, and the nearest miss. It describes the last attempt,
 * with all of the pod's preferences given up, at the end of the pass.
 */
export class PodFunnels {
  readonly #pass: FinishedPass
  readonly #misses: NearestMisses

  constructor(pass: FinishedPass, misses = new NearestMisses(pass)) {
    this.#pass = pass
    this.#misses = misses
  }

  of(one: Waiting): readonly PoolFunnel[] {
    if (one.hopeless !== undefined) return []
    const level = lastLevelOf(one, this.#pass)
    return this.#pass.pools.map((pool) => {
      const tries = one.alternatives.length === 0 ? [undefined] : one.alternatives
      const all = tries.map((alternative) => this.#ask({ pool, one, level, alternative }))
      return all.reduce((best, next) => (depthOf(next.funnel) > depthOf(best.funnel) ? next : best))
    })
  }

  #ask(attempt: Attempt): PoolFunnel {
    const { pool, one } = attempt
    const found = reached(this.#pass, attempt)
    if (found.kind === 'set') {
      const stages = this.#misses.stages(pool, found.set, one)
      const nearestMiss = this.#misses.of(attempt, found.set, stages)
      const unsold = this.#misses.unsold(attempt, found.set, stages)
      // A type that is not for sale has neither zone nor capacity type: it is the offering that is missing, and no requirement excludes it.
      const known = unsold && { requirements: unsold.meeting, resources: unsold.types.length }
      return { nodePool: pool.name, funnel: { ...funnelOf(pool, stages), ...known }, nearestMiss }
    }
    const none = noBits(pool.index.types.length)
    const stages = { requirements: none, resources: none, offerings: none, limits: none }
    return { nodePool: pool.name, funnel: funnelOf(pool, stages), nearestMiss: this.#refusalText(attempt, found) }
  }

  #refusalText(attempt: Attempt, found: Exclude<Reached, { readonly kind: 'set' }>): string {
    const { pool, level } = attempt
    switch (found.kind) {
      case 'taint':
        return `its taint ${describeTaint(found.taint)} is not tolerated`
      case 'hostname':
        return `a new node cannot have the hostname that the pod asks for (${hostnameOf(level)})`
      case 'excluded':
        return exclusionText(pool.set.map, level.wanted.map, this.#pass.wellKnown)
      case 'volumes':
        return this.#misses.ofVolumes(attempt, found.base)
      case 'topology':
        return topologyText(found.refusal)
      case 'conflict':
        return `${shortly(found.choice)}, chosen by its ${found.rule}, is not among ${shortly(found.own)}`
    }
  }
}

/** Returns why no claim of a pool can meet a pod's requirements. */
function exclusionText(own: Requirements, wanted: Requirements, wellKnown: ReadonlySet<string>): string {
  const problem = incompatibility(own, wanted, wellKnown)
  if (problem !== undefined) return incompatibilityText(problem)
  const odd = unclaimable(merge(own, wanted.values()))
  return odd === undefined ? 'its requirements exclude the pod' : unclaimableText(odd)
}

const hostnameOf = ({ wantedHost }: Level) => (wantedHost === undefined ? labels.hostname : shortly(wantedHost))

/** Returns how many stages left any types. */
function depthOf({ requirements, resources, offerings, limits }: Funnel): number {
  return [requirements, resources, offerings, limits].filter((count) => count > 0).length
}

/** Returns what was left of a NodePool's types after each question. */
export function funnelText({ types, requirements, resources, offerings, limits }: PoolFunnel['funnel']): string {
  return `${types} type${types === 1 ? '' : 's'}; left after requirements ${requirements}, resources ${resources}, offerings ${offerings}, limits ${limits}`
}

/** Returns the nearest miss without names that only planning has. */
export function missText({ nearestMiss }: Pick<PoolFunnel, 'nearestMiss'>): string {
  return nearestMiss.replaceAll('hostname-placeholder-0000', 'hostname-placeholder')
}

/** Returns what a NodePool could do: what was left after each question, and the nearest miss. */
export function funnelTexts({ nodePool, funnel, nearestMiss }: PoolFunnel): readonly [string, string] {
  return [`NodePool ${nodePool}: ${funnelText(funnel)}`, missText({ nearestMiss })]
}
