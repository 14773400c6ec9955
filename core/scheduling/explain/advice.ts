import { minValues } from '../../instance-type.ts'
import { unclaimable, unclaimableText } from '../../requirements/claim-requirements.ts'
import { labels } from '../../requirements/labels.ts'
import { describe, intersects, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import { incompatibility, merge } from '../../requirements/requirements.ts'
import { describeTaint } from '../../taints.ts'
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  integerQuantity,
  type Quantity,
  zero,
} from '../../values/quantity.ts'
import { entryOf } from '../../values/records.ts'
import { type Bits, hasBit, membersOf } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import type { CauseAdvice } from './cause-advice.ts'
import type { FinishedPass } from './finished-pass.ts'
import { countOf, lackText, typesOf } from './funnel-types.ts'
import { type Attempt, type NearestMisses, volumesOf } from './nearest-miss.ts'
import { lastLevelOf, reached } from './reach.ts'
import {
  blamedRemedies,
  causeOf,
  noTypes,
  onlyValue,
  topologyRemedies,
  valuesText,
  volumeRemedies,
} from './remedies.ts'
import type { MissingOffering } from './unsold.ts'
import type { WaitingCause } from './waiting-classes.ts'

/** What stands between a pod and a new node of one NodePool, and what helps. */
export interface PoolAdvice {
  readonly nodePool: string
  readonly cause: WaitingCause
  /** How far the pod got with the NodePool; the highest is the nearest. */
  readonly rank: number
  /** A sentence each, the best first. */
  readonly remedies: readonly string[]
  /** The first few, where nothing but their availability is missing. */
  readonly missing: readonly MissingOffering[]
  /** Whether the pods may use the NodePool, by its name. */
  readonly isAskedFor: boolean
  /** Names of NodePools that the pods ask for, where this is none of them. */
  readonly wantedPools: readonly string[]
}

type Found = Omit<PoolAdvice, 'nodePool' | 'missing' | 'isAskedFor' | 'wantedPools'> &
  Partial<Pick<PoolAdvice, 'missing' | 'wantedPools'>>

const ranks = {
  otherPool: 0,
  excluded: 2,
  volumes: 3,
  topology: 4,
  taint: 5,
  resources: 6,
  offerings: 7,
  missing: 8,
  limits: 9,
  rest: 10,
} as const

/** Finds out what would help a pod that a pass has left pending. Slow, as `PodFunnels` is: for a few pods only. */
export class PodAdvice {
  readonly #pass: FinishedPass
  readonly #misses: NearestMisses

  constructor(pass: FinishedPass, misses: NearestMisses) {
    this.#pass = pass
    this.#misses = misses
  }

  /** The nearest NodePool first. */
  of(one: Waiting): readonly PoolAdvice[] {
    const level = lastLevelOf(one, this.#pass)
    const all = this.#pass.pools.map((pool): PoolAdvice => {
      const tries = one.alternatives.length === 0 ? [undefined] : one.alternatives
      const found = tries
        .map((alternative) => this.#ask({ pool, one, level, alternative }))
        .reduce((best, next) => (next.rank > best.rank ? next : best))
      return { missing: [], wantedPools: [], ...found, nodePool: pool.name, isAskedFor: found.rank !== ranks.otherPool }
    })
    return all.sort((a, b) => b.rank - a.rank)
  }

  #ask(attempt: Attempt): Found {
    const { pool, level } = attempt
    const asked = level.wanted.map.get(labels.nodePool)
    const own = pool.set.map.get(labels.nodePool)
    if (asked !== undefined && own !== undefined && !intersects(asked, own)) return otherPool(asked)
    const found = reached(this.#pass, attempt)
    switch (found.kind) {
      case 'taint': {
        const taint = describeTaint(found.taint)
        const base = this.#pass.sets.merged(pool.set, level.wanted, 'claim')
        return {
          cause: 'taints',
          rank: typeof base === 'string' ? ranks.excluded : ranks.taint,
          remedies: [
            `add a toleration for ${taint} to the pods, or remove that taint from spec.template.spec.taints of NodePool "${pool.name}"`,
          ],
        }
      }
      case 'hostname':
        return {
          cause: 'requirements',
          rank: ranks.excluded,
          remedies: [`let the pods go without the requirement on ${labels.hostname}: a new node has a new name`],
        }
      case 'excluded':
        return this.#excluded(attempt)
      case 'volumes':
        return { cause: 'volume', rank: ranks.volumes, remedies: volumeRemedies(attempt, found.base) }
      case 'topology':
        return { cause: 'topology', rank: ranks.topology, remedies: topologyRemedies(pool.name, found.refusal) }
      case 'conflict':
        return {
          cause: 'topology',
          rank: ranks.topology,
          remedies: [
            `let one of the pods' topology rules on ${found.own.key} be a preference: they contradict each other`,
          ],
        }
      case 'set':
        return this.#types(attempt, found.set)
    }
  }

  #excluded({ pool, level }: Attempt): Found {
    const own = pool.set.map
    const wanted = level.wanted.map
    const problem = incompatibility(own, wanted, this.#pass.wellKnown)
    const about = { cause: 'requirements', rank: ranks.excluded } as const
    if (problem === undefined) {
      const odd = unclaimable(merge(own, wanted.values()))
      return { ...about, remedies: odd === undefined ? [] : [`change the pods: ${unclaimableText(odd)}`] }
    }
    if (problem.kind === 'unknown-label') {
      const { key, meant } = problem
      const value = onlyValue(wanted.get(key)) ?? 'VALUE'
      return {
        ...about,
        remedies: [
          ...(meant === undefined ? [] : [`let the pods ask for ${meant}, if that is meant by ${key}`]),
          `give the nodes of NodePool "${pool.name}" the label: ${key}: ${value} in spec.template.metadata.labels`,
          `remove ${key} from nodeSelector and node affinity of the pods`,
        ],
      }
    }
    const [pair] = problem.pairs
    return pair === undefined
      ? { ...about, remedies: [] }
      : {
          ...about,
          remedies: [
            `let NodePool "${pool.name}" allow ${valuesText(pair.wanted)} for ${pair.wanted.key} in spec.template (it has ${describe(pair.own)})`,
            `let the pods ask for ${valuesText(pair.own)} in place of ${valuesText(pair.wanted)}: ${pair.wanted.key} in nodeSelector and node affinity`,
          ],
        }
  }

  #types(attempt: Attempt, set: RequirementSet): Found {
    const { pool, one } = attempt
    const stages = this.#misses.stages(pool, set, one)
    const blamed = () => this.#misses.blamed(attempt, set)
    // What is for sale may be too small: who would have room counts first.
    const { missing } = this.#misses.unsold(attempt, set, stages) ?? { missing: [] }
    if (missing.length > 0) return { cause: 'capacity', rank: ranks.missing, remedies: [], missing }
    if (countOf(stages.requirements) > 0 && countOf(stages.resources) === 0) {
      const nearest = this.#misses.nearest(pool, stages.requirements, one)
      const other = blamed()
      return {
        cause: 'too-big',
        rank: ranks.resources,
        remedies: [
          ...(nearest === undefined
            ? []
            : [
                `lower spec.containers[].resources.requests of the pods by ${lackText(nearest.lacks).replaceAll(' more ', ' ')}: then ${nearest.type} has room`,
              ]),
          ...(other === undefined ? [] : blamedRemedies(attempt, other)),
        ],
      }
    }
    if (countOf(stages.requirements) === 0 || countOf(stages.offerings) === 0) {
      const other = blamed()
      const rank = countOf(stages.requirements) === 0 ? ranks.topology : ranks.offerings
      if (other === undefined) return { cause: 'requirements', rank, remedies: noTypes(attempt) }
      return { cause: causeOf(other), rank, remedies: blamedRemedies(attempt, other) }
    }
    if (countOf(stages.limits) === 0)
      return { cause: 'limits', rank: ranks.limits, remedies: limitAdvice(pool, stages.offerings) }
    return { ...restAdvice(attempt, set, stages.limits), rank: ranks.rest }
  }
}

/** The pods ask for other NodePools by name. */
function otherPool(asked: Requirement): Found {
  return {
    cause: 'node-pools',
    rank: ranks.otherPool,
    remedies: [
      `create the NodePool that the pods ask for (${describe(asked)}), make it ready, or let them ask for another: kubectl get nodepools`,
    ],
    wantedPools: operatorOf(asked) === 'In' ? [...asked.values] : [],
  }
}

/** Returns the command that raises the limits of a NodePool so far that the smallest of these types is within them. */
function limitAdvice(pool: PoolIndex, types: Bits): readonly string[] {
  const { nodePool, usage } = pool.option
  const found = typesOf(pool, types)
  const needed = (name: string): Quantity => {
    if (name === 'nodes') return integerQuantity(1)
    const [smallest = zero] = found.map(({ capacity }) => entryOf(capacity, name) ?? zero).sort(compareQuantity)
    return smallest
  }
  const raised = Object.keys(nodePool.limits)
    .sort()
    .flatMap((name) => {
      const limit = entryOf(nodePool.limits, name) ?? zero
      const enough = addQuantity(entryOf(usage, name) ?? zero, needed(name))
      return compareQuantity(enough, limit) > 0 ? [[name, formatQuantity({ ...enough, format: limit.format })]] : []
    })
  if (raised.length === 0)
    return [
      `raise ${Object.keys(nodePool.limits)
        .sort()
        .map((name) => `spec.limits.${name}`)
        .join(', ')} of NodePool "${pool.name}": new nodes have taken what was left`,
    ]
  const patch = JSON.stringify({ spec: { limits: Object.fromEntries(raised) } })
  return [`raise the limits: kubectl patch nodepool ${pool.name} --type merge --patch '${patch}'`]
}

/** Returns what helps where types pass all stages of the funnel and something else excludes them; in the order of `restMiss`. */
function restAdvice({ pool, level, one }: Attempt, set: RequirementSet, types: Bits): CauseAdvice {
  const found = typesOf(pool, types)
  for (const [driver, ids] of Object.entries(one.volumes?.byDriver ?? {})) {
    const most = Math.max(
      ...found.map(({ volumeAttachmentLimits: limits }) => entryOf(limits, driver) ?? Number.POSITIVE_INFINITY),
    )
    if (ids.length > most)
      return {
        cause: 'volume',
        remedies: [`let the pods have at most ${most} volumes of ${driver}: now ${volumesOf(one)}`],
      }
  }
  const ports = level.pod.hostPorts
  const free = pool.withoutPorts(ports)
  if (ports.length > 0 && !membersOf(types).some((type) => hasBit(free, type)))
    return {
      cause: 'other',
      remedies: [
        `let the pods use another hostPort than ${ports.map(({ hostPort }) => hostPort).join(', ')}: a DaemonSet has it on every node of NodePool "${pool.name}"`,
      ],
    }
  const [short] = minValues(found, set.map).unsatisfied
  if (short !== undefined)
    return {
      cause: 'requirements',
      remedies: [
        `lower minValues of ${short[0]} in spec.template.spec.requirements of NodePool "${pool.name}" to ${short[1]}, or allow more values`,
      ],
    }
  return { cause: 'capacity', remedies: ['wait until a capacity reservation is free, or let the NodePool go without'] }
}
