import { labels } from '../../requirements/labels.ts'
import { inValues, requirement } from '../../requirements/requirement.ts'
import { merge } from '../../requirements/requirements.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import { type ClaimTopology, fitOf, newClaim, type Refusal } from '../open-claim.ts'
import { type Level, levelOf, withoutRules } from '../solver/pod-shapes.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import { choiceOf } from '../topology/concern.ts'
import { trialOf } from '../trial.ts'
import type { PoolRefusal, UnschedulableCause } from '../unschedulable.ts'
import type { FinishedPass } from './finished-pass.ts'
import { typesOf } from './funnel-types.ts'

/**
 * Explains why pods found no place. The pass is over and nothing has changed since the last attempts. So each pod is tried once more on a new claim
 * of each pool, by the plain rules, which name the problem. Equal pods are explained once.
 */
export class Explanations {
  readonly #pass: FinishedPass
  /** Pools that can have new nodes at all. */
  readonly #templates: readonly PoolIndex[]
  readonly #known = new Map<string, UnschedulableCause>()

  constructor(pass: FinishedPass) {
    this.#pass = pass
    this.#templates = pass.pools.filter(({ isUsable }) => isUsable)
  }

  of(one: Waiting): UnschedulableCause {
    if (one.hopeless !== undefined) return one.hopeless
    if (one.volumes !== undefined) return this.#explain(one)
    const key = `${one.shape.number}/${one.requested.number}`
    const known = this.#known.get(key) ?? this.#explain(one)
    this.#known.set(key, known)
    return known
  }

  #explain(one: Waiting): UnschedulableCause {
    const { levels, reservations } = this.#pass
    if (this.#templates.length === 0) return { kind: 'no-instance-types' }
    // Without reservations no refusal is temporary, and the last level decides.
    const first = reservations === undefined ? lastLevel(one, levels) : 0
    for (let number = first; ; number++) {
      const level = levelOf(one.shape, number, levels)
      const tried = level !== undefined && number === 0 && one.triedBare ? withoutRules(level) : level
      const refusals = tried === undefined ? [] : this.#refusals(one, tried)
      const isLast = levelOf(one.shape, number + 1, levels) === undefined
      if (isLast || refusals.some(({ isDeferred }) => isDeferred === true))
        return { kind: 'refused', refusals: refusals.map(({ cause }) => cause()) }
    }
  }

  #refusals(one: Waiting, level: Level): readonly Refusal[] {
    const refusals: Refusal[] = []
    for (const pool of this.#templates) {
      const refusal = this.#refusal(pool, one, level)
      refusals.push(refusal)
      if (refusal.isDeferred === true) break
    }
    return refusals
  }

  #refusal(pool: PoolIndex, one: Waiting, level: Level): Refusal {
    const { options, reservations, wellKnown } = this.#pass
    const limit = limitRefusal(pool)
    if (limit !== undefined) return { cause: () => limit }
    const settings = {
      topology: this.#topology(level),
      reservations: {
        ask: (...question: Parameters<NonNullable<typeof reservations>['ask']>) =>
          reservations?.ask(...question) ?? { kind: 'reserve' as const, ids: new Set<string>() },
      },
      wellKnown,
      relaxMinValues: options.minValuesPolicy === 'BestEffort',
    }
    const claim = newClaim({
      ...asTemplate(pool),
      hostname: 'hostname-placeholder-0000',
      types: typesOf(pool, pool.withinLimits),
    })
    // The level's pod represents all of its shape, whatever they request.
    const pod = { ...level.pod, requests: one.pod.requests }
    const trial = trialOf(pod, one.volumes, options.preferencePolicy === 'Ignore')
    const fit = fitOf(claim, trial, settings)
    return 'cause' in fit ? fit : { cause: () => ({ kind: 'not-tried-again' }) }
  }

  #topology(level: Level): ClaimTopology {
    const { topology } = this.#pass
    const concerns = topology.concerning(level)
    return {
      narrow: (_pod, _taints, { pod: podOwn, node }) => {
        const added = []
        for (const concern of concerns) {
          const { group, selectsItself } = concern
          const { key } = group
          const any = requirement({ key, operator: 'Exists' })
          const hostname = group.isHostname ? [...(node.get(labels.hostname)?.values ?? [])] : []
          const choice = group.isHostname
            ? group.allowsHost(topology.host(hostname[0] ?? ''), podOwn.get(key), selectsItself)
              ? inValues(key, hostname)
              : undefined
            : choiceOf({ ...concern, pod: podOwn.get(key) }, node.get(key))
          if (choice === 'any') continue
          if (choice === undefined) {
            const cause = () => group.refusal(podOwn.get(key) ?? any, node.get(key) ?? any)
            return { kind: 'unsatisfiable', cause }
          }
          added.push(choice)
        }
        return { kind: 'narrowed', requirements: merge(node, added) }
      },
    }
  }
}

function lastLevel({ shape }: Waiting, levels: FinishedPass['levels']): number {
  let number = 0
  while (levelOf(shape, number + 1, levels) !== undefined) number += 1
  return number
}

function limitRefusal(pool: PoolIndex): PoolRefusal | undefined {
  const { name: nodePool } = pool
  if (pool.nodesExhausted) return { kind: 'node-limit', nodePool }
  return pool.withinLimits.some((word) => word !== 0) ? undefined : { kind: 'resource-limits', nodePool }
}

function asTemplate(pool: PoolIndex) {
  return {
    taints: pool.taints,
    requirements: pool.set.map,
    groups: pool.groups.map(({ types, overhead, ports }) => ({
      types: typesOf(pool, types),
      overhead,
      hostPorts: ports,
    })),
  }
}
