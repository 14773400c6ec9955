import { type InstanceType, minValues } from '../../instance-type.ts'
import type { ContainerPort } from '../../objects.ts'
import { intersects, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import { subtractQuantity, zero } from '../../values/quantity.ts'
import { entryOf } from '../../values/records.ts'
import { type Bits, hasBit, membersOf, noBits } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { PodVolumes } from '../snapshot.ts'
import type { Level } from '../solver/pod-shapes.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import type { FinishedPass } from './finished-pass.ts'
import {
  amountText,
  countOf,
  lackText,
  type NearestType,
  nearestByRoom,
  type Stages,
  shortKey,
  shortly,
  some,
  TypeQuestions,
  typesOf,
  valuesOf,
} from './funnel-types.ts'
import { type Unsold, unsoldOf, unsoldText } from './unsold.ts'

/** One attempt to get the pod's node from a pool: one of the alternatives of its volumes, if it has any. */
export interface Attempt {
  readonly pool: PoolIndex
  readonly one: Waiting
  readonly level: Level
  readonly alternative: RequirementSet | undefined
}

/** Origin of a requirement on a new node. */
export type RequirementOrigin = 'pod' | 'pool' | 'volumes' | 'topology'

/** The requirement that excludes the most types. */
export interface Blamed {
  readonly key: string
  readonly asked: Requirement
  readonly by: RequirementOrigin
  /** The node's requirements without it. */
  readonly others: RequirementSet
  /** Types that these leave, with an offering. */
  readonly types: Bits
}

/** Describes the change that would take a pod further with one NodePool. */
export class NearestMisses {
  readonly #pass: FinishedPass
  readonly #questions: TypeQuestions
  /** Slow to find, and asked for by the funnel and for what helps. */
  readonly #nearest = new Map<string, { readonly found: NearestType | undefined }>()

  constructor(pass: FinishedPass) {
    this.#pass = pass
    this.#questions = new TypeQuestions(pass)
  }

  /** Returns the pool's types that each stage leaves. */
  stages(pool: PoolIndex, set: RequirementSet, one: Waiting): Stages {
    const within = pool.nodesExhausted ? noBits(pool.index.types.length) : pool.withinLimits
    return this.#questions.ask(pool, set, { requests: one.requested.vector, within })
  }

  /** Returns the type of these that comes nearest to having room for the pod. */
  nearest(pool: PoolIndex, types: Bits, { requested }: Waiting): NearestType | undefined {
    const key = `${pool.name} ${requested.number} ${types.join()}`
    const known = this.#nearest.get(key) ?? { found: nearestByRoom(pool, types, requested.requests) }
    this.#nearest.set(key, known)
    return known.found
  }

  /** Returns the types that would do if they were for sale; undefined where others are, or none would do. */
  unsold({ pool, one }: Attempt, set: RequirementSet, { offerings }: Stages): Unsold | undefined {
    if (countOf(offerings) > 0) return undefined
    const { vector } = one.requested
    const roomy = new Set(
      pool.index.slots.flatMap(({ type }, slot) => (this.#questions.hasRoom(pool, slot, vector) ? [type] : [])),
    )
    const found = unsoldOf(pool, set, { wellKnown: this.#pass.wellKnown, hasRoom: (type) => roomy.has(type) })
    return found.missing.length === 0 ? undefined : found
  }

  /** The pod's volumes conflict with the pool or with the pod itself. */
  ofVolumes({ pool, one, alternative }: Attempt, base: RequirementSet): string {
    const asked = [...(alternative?.map.values() ?? [])].find((own) => {
      const other = base.map.get(own.key)
      return other === undefined || !intersects(other, own)
    })
    if (asked === undefined) return `${volumesOf(one)} cannot be reached from it`
    const { offerings } = this.stages(pool, base, one)
    const cause = `${shortly(asked)} of ${volumesOf(one)}`
    return this.#onlyElsewhere({ pool, key: asked.key, set: base, types: offerings, cause })
  }

  /** `set`: all requirements of the node; `stages`: the types that they leave. */
  of(attempt: Attempt, set: RequirementSet, stages: Stages): string {
    const { pool, one, level } = attempt
    const unsold = this.unsold(attempt, set, stages)
    if (unsold !== undefined) return unsoldText(unsold)
    if (countOf(stages.requirements) === 0) return this.#blame(attempt, set)
    if (countOf(stages.resources) === 0) {
      const nearest = this.nearest(pool, stages.requirements, one)
      if (nearest === undefined) return 'no type has room'
      return `needs ${lackText(nearest.lacks)} than ${nearest.type} leaves for pods, the nearest of ${countOf(stages.requirements)} ${plural(countOf(stages.requirements), 'type')}`
    }
    if (countOf(stages.offerings) === 0) return this.#blame(attempt, set)
    if (countOf(stages.limits) === 0) return limitMiss(pool, stages.offerings)
    return restMiss({ pool, set, types: stages.limits, ports: level.pod.hostPorts, volumes: one.volumes })
  }

  #blame(attempt: Attempt, set: RequirementSet): string {
    const { pool, one } = attempt
    const best = this.blamed(attempt, set)
    if (best === undefined) return this.#hardMiss(pool, set)
    if (isEmpty(best.asked) && attempt.alternative?.map.has(best.key) === true)
      return `${volumesOf(one)} have no ${shortKey(best.key)} in common`
    return this.#onlyElsewhere({
      pool,
      key: best.key,
      set: best.others,
      types: best.types,
      cause: `${shortly(best.asked)} of ${this.#origin(attempt, best.key)}`,
    })
  }

  /** Returns the one requirement of a node whose removal would admit the most types; undefined when none alone does. */
  blamed(attempt: Attempt, set: RequirementSet): Blamed | undefined {
    const { pool, one } = attempt
    let best: (Blamed & { readonly count: number }) | undefined
    for (const key of [...set.map.keys()].sort()) {
      const others = this.#questions.without(set, key)
      const { offerings } = this.stages(pool, others, one)
      const count = countOf(offerings)
      if (count > (best?.count ?? 0)) {
        const asked = set.map.get(key) as Requirement
        best = { key, asked, others, types: offerings, by: this.#originKind(attempt, key), count }
      }
    }
    return best
  }

  #hardMiss(pool: PoolIndex, set: RequirementSet): string {
    if (pool.index.types.length === 0) return 'it has no instance types'
    const known = [...set.map].map(([key, own]) => ({ own, left: countOf(pool.index.meeting(this.#alone(key, own))) }))
    const empty = known.filter(({ left }) => left === 0).map(({ own }) => shortly(own))
    if (empty.length > 0) return `no type has ${empty.join(' nor ')}`
    const available = pool.index.types.some(({ offerings }) => offerings.some(({ available: healthy }) => healthy))
    return available
      ? 'no type meets all requirements together, whichever one is dropped'
      : `none of its ${pool.index.types.length} types can be had now`
  }

  #alone(key: string, own: Requirement): RequirementSet {
    return this.#pass.sets.intern(new Map([[key, own]]))
  }

  /** `set`: all other requirements, with which these types are available. */
  #onlyElsewhere(miss: {
    readonly pool: PoolIndex
    readonly key: string
    readonly set: RequirementSet
    readonly types: Bits
    readonly cause: string
  }): string {
    const { pool, key, set, types, cause } = miss
    const found = typesOf(pool, types)
    if (found.length === 0) return `ruled out by ${cause}; without it no type would do either`
    const values = valuesOf(found, key, set)
    const where =
      values.length === 0
        ? 'types without that label have it'
        : `only ${shortKey(key)} ${some(values)} ${values.length === 1 ? 'has' : 'have'} it`
    return `${where} (${found.length} ${plural(found.length, 'type')}), ruled out by ${cause}`
  }

  /** Returns the origin of a key's requirement in words. */
  #origin(attempt: Attempt, key: string): string {
    const { one, pool } = attempt
    switch (this.#originKind(attempt, key)) {
      case 'volumes':
        return volumesOf(one)
      case 'pod':
        return 'the pod'
      case 'pool':
        return `NodePool ${pool.name}`
      case 'topology':
        return `the pod's ${this.#groupOf(attempt, key)?.rule.kind}`
    }
  }

  /** The most restrictive origin comes first. */
  #originKind(attempt: Attempt, key: string): RequirementOrigin {
    if (attempt.alternative?.map.has(key) === true) return 'volumes'
    if (this.#groupOf(attempt, key) !== undefined) return 'topology'
    return attempt.level.wanted.map.has(key) ? 'pod' : 'pool'
  }

  #groupOf({ level }: Attempt, key: string) {
    return this.#pass.topology.concerning(level).find(({ group: own }) => own.key === key)?.group
  }
}

export function volumesOf({ pod: { persistentVolumeClaims: names } }: Waiting): string {
  return `${plural(names.length, 'volume')} ${some(names.map((name) => `"${name}"`))}`
}

const isEmpty = (one: Requirement) => operatorOf(one) === 'DoesNotExist'

const plural = (count: number, word: string) => (count === 1 ? word : `${word}s`)

/** Compares the limits' rest before this pass with the smallest type; claims of the pass may have used the rest. */
function limitMiss(pool: PoolIndex, types: Bits): string {
  const { nodePool, usage } = pool.option
  const left = membersOf(types).map((type) => pool.index.types[type] as InstanceType)
  const shares = Object.keys(nodePool.limits)
    .sort()
    .flatMap((name) => {
      const limit = entryOf(nodePool.limits, name) ?? zero
      const used = entryOf(usage, name) ?? zero
      const smallest = left
        .map(({ capacity }) => entryOf(capacity, name) ?? zero)
        .sort((a, b) => (a.nano < b.nano ? -1 : 1))[0]
      const free = subtractQuantity(limit, used)
      const text = `limit ${amountText(name, limit)}, in use ${amountText(name, used)}`
      if (name === 'nodes') return pool.nodesExhausted ? [text] : []
      if (smallest === undefined || smallest.nano === 0n) return []
      return smallest.nano > free.nano ? [`${text}, the smallest type left has ${amountText(name, smallest)}`] : []
    })
  return shares.length > 0
    ? `limits: ${shares.join('; ')}`
    : `limits: new nodes of this pass have taken what was left of ${Object.keys(nodePool.limits).sort().join(', ')}`
}

interface RestQuestion {
  readonly pool: PoolIndex
  readonly set: RequirementSet
  /** Types left by requirements, resources, offerings and limits. */
  readonly types: Bits
  readonly ports: readonly ContainerPort[]
  readonly volumes: PodVolumes | undefined
}

/** Returns what excludes types that pass all stages of the funnel. */
function restMiss(question: RestQuestion): string {
  return (
    volumeLimitMiss(question) ??
    portMiss(question) ??
    minValuesMiss(question) ??
    `${typesText(question.types)} would do, but not at once with the reservations that are left`
  )
}

function volumeLimitMiss({ pool, types, volumes }: RestQuestion): string | undefined {
  for (const [driver, ids] of Object.entries(volumes?.byDriver ?? {})) {
    const limits = typesOf(pool, types).map(({ volumeAttachmentLimits }) => entryOf(volumeAttachmentLimits, driver))
    const most = Math.max(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY))
    if (ids.length > most) return `it has ${ids.length} volumes of ${driver}, and no type attaches more than ${most}`
  }
  return undefined
}

function portMiss({ pool, types, ports }: RestQuestion): string | undefined {
  if (ports.length === 0) return undefined
  const free = pool.withoutPorts(ports)
  if (membersOf(types).some((type) => hasBit(free, type))) return undefined
  return `daemons hold host port ${ports.map(({ hostPort }) => hostPort).join(' or ')} on every type that would do`
}

function minValuesMiss({ pool, set, types }: RestQuestion): string | undefined {
  const { unsatisfied } = minValues(typesOf(pool, types), set.map)
  const [short] = unsatisfied
  if (short === undefined) return undefined
  const [key, count] = short
  return `${typesText(types)} would do, with ${count} different values of ${shortKey(key)} where minValues asks for ${set.map.get(key)?.minValues}`
}

function typesText(types: Bits): string {
  const count = membersOf(types).length
  return count === 1 ? '1 type' : `${count} types`
}
