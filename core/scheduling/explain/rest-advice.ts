import { minValues } from '../../instance-type.ts'
import { entryOf } from '../../values/records.ts'
import { type Bits, hasBit, membersOf } from '../offerings/bits.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { typesOf } from './funnel-types.ts'
import { type Attempt, volumesOf } from './nearest-miss.ts'
import type { WaitingCause } from './waiting-class.ts'

interface RestAdvice {
  readonly cause: WaitingCause
  readonly remedies: readonly string[]
}

/** Returns what helps where types pass all stages of the funnel and something else excludes them; in the order of `restMiss`. */
export function restAdvice({ pool, level, one }: Attempt, set: RequirementSet, types: Bits): RestAdvice {
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
