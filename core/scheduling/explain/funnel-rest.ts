import { minValues } from '../../instance-type.ts'
import type { ContainerPort } from '../../objects.ts'
import { entryOf } from '../../values/records.ts'
import { type Bits, hasBit, membersOf } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { PodVolumes } from '../snapshot.ts'
import { shortKey, typesOf } from './funnel-types.ts'

interface RestQuestion {
  readonly pool: PoolIndex
  readonly set: RequirementSet
  /** Types left by requirements, resources, offerings and limits. */
  readonly types: Bits
  readonly ports: readonly ContainerPort[]
  readonly volumes: PodVolumes | undefined
}

/** Returns what excludes types that pass all stages of the funnel. */
export function restMiss(question: RestQuestion): string {
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
