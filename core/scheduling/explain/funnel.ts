import { unclaimable, unclaimableText } from '../../requirements/claim-requirements.ts'
import { labels } from '../../requirements/labels.ts'
import { intersects, requirement } from '../../requirements/requirement.ts'
import { incompatibility, incompatibilityText, merge, type Requirements } from '../../requirements/requirements.ts'
import { describeTaint, untolerated } from '../../taints.ts'
import { noBits } from '../offerings/bits.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { allowsHostname, type Level, levelOf } from '../solver/pod-shapes.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import { choiceOf } from '../topology/concern.ts'
import { topologyText } from '../unschedulable-text.ts'
import type { FinishedPass } from './finished-pass.ts'
import { type Funnel, funnelOf, shortly } from './funnel-types.ts'
import { type Attempt, NearestMisses } from './nearest-miss.ts'

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

  constructor(pass: FinishedPass) {
    this.#pass = pass
    this.#misses = new NearestMisses(pass)
  }

  of(one: Waiting): readonly PoolFunnel[] {
    if (one.hopeless !== undefined) return []
    const level = this.#lastLevel(one)
    return this.#pass.pools.map((pool) => {
      const tries = one.alternatives.length === 0 ? [undefined] : one.alternatives
      const all = tries.map((alternative) => this.#ask({ pool, one, level, alternative }))
      return all.reduce((best, next) => (depthOf(next.funnel) > depthOf(best.funnel) ? next : best))
    })
  }

  #lastLevel(one: Waiting): Level {
    let last = levelOf(one.shape, 0, this.#pass.levels) as Level
    for (let number = 1; ; number++) {
      const next = levelOf(one.shape, number, this.#pass.levels)
      if (next === undefined) return last
      last = next
    }
  }

  #ask(attempt: Attempt): PoolFunnel {
    const { pool, level, one, alternative } = attempt
    const refused = (nearestMiss: string): PoolFunnel => {
      const none = noBits(pool.index.types.length)
      const stages = { requirements: none, resources: none, offerings: none, limits: none }
      return { nodePool: pool.name, funnel: funnelOf(pool, stages), nearestMiss }
    }
    const taint = untolerated(pool.taints, level.facet.facts.tolerations)[0]
    if (taint !== undefined) return refused(`its taint ${describeTaint(taint)} is not tolerated`)
    if (!allowsHostname(level, newHostname))
      return refused(`a new node cannot have the hostname that the pod asks for (${hostnameOf(level)})`)
    const { sets, wellKnown } = this.#pass
    const base = sets.merged(pool.set, level.wanted, 'claim')
    if (typeof base === 'string') return refused(exclusionText(pool.set.map, level.wanted.map, wellKnown))
    const reached = alternative === undefined ? base : sets.merged(base, alternative, 'claim')
    if (typeof reached === 'string') return refused(this.#misses.ofVolumes(attempt, base))
    const narrowed = this.#narrowed(level, reached)
    if (typeof narrowed === 'string') return refused(narrowed)
    const stages = this.#misses.stages(pool, narrowed, one)
    return {
      nodePool: pool.name,
      funnel: funnelOf(pool, stages),
      nearestMiss: this.#misses.of(attempt, narrowed, stages),
    }
  }

  /** Returns topology's requirements for a new node, or why there is no domain for it. */
  #narrowed(level: Level, reached: RequirementSet): RequirementSet | string {
    const { sets, topology } = this.#pass
    let narrowed = reached
    for (const concern of topology.concerning(level)) {
      const { group, pod, selectsItself } = concern
      const { key } = group
      const any = requirement({ key, operator: 'Exists' })
      const explain = () => topologyText(group.refusal(pod ?? any, reached.map.get(key) ?? any))
      if (group.isHostname) {
        if (!group.allowsHost(topology.host(newHostname), pod, selectsItself)) return explain()
        continue
      }
      const choice = choiceOf(concern, reached.map.get(key))
      if (choice === 'any') continue
      if (choice === undefined) return explain()
      const own = narrowed.map.get(key)
      if (own !== undefined && !intersects(own, choice))
        return `${shortly(choice)}, chosen by its ${group.rule.kind}, is not among ${shortly(own)}`
      narrowed = sets.both(narrowed, choice)
    }
    return narrowed
  }
}

/** Returns why no claim of a pool can meet a pod's requirements. */
function exclusionText(own: Requirements, wanted: Requirements, wellKnown: ReadonlySet<string>): string {
  const problem = incompatibility(own, wanted, wellKnown)
  if (problem !== undefined) return incompatibilityText(problem)
  const odd = unclaimable(merge(own, wanted.values()))
  return odd === undefined ? 'its requirements exclude the pod' : unclaimableText(odd)
}

/** The domain of a node that no pod of the pass has been on. */
const newHostname = 'hostname-placeholder-0000'

const hostnameOf = ({ wantedHost }: Level) => (wantedHost === undefined ? labels.hostname : shortly(wantedHost))

/** Returns how many stages left any types. */
function depthOf({ requirements, resources, offerings, limits }: Funnel): number {
  return [requirements, resources, offerings, limits].filter((count) => count > 0).length
}
