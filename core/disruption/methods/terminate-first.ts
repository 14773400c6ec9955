// Nodes that go before their replacement, since they take up the only room for it (reference/karpenter-1.15.md 4.8b).
import { isTrue } from '../../conditions.ts'
import { capacityTypeOf, compatibleOfferings, isLaunchable } from '../../instance-type.ts'
import { templateOf, templateRequirements } from '../../node-pool/node-claim-template.ts'
import type { NodePool } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { isCompatible } from '../../requirements/requirements.ts'
import { isUnready } from '../../static-capacity/pool-count.ts'
import type { Candidate } from '../candidates.ts'
import { reservationOf, type Simulation, type SimulationSettings } from '../simulation.ts'
import type { Cause } from '../verdicts/cause.ts'
import type { MethodContext } from './context.ts'
import { type Counts, roomOf } from './static-counts.ts'

/** Returns where the pods go if the node's place in its full reservation is free again; undefined when they still find none. */
export function refillable(
  candidate: Candidate,
  { settings, simulator }: MethodContext,
  how: SimulationSettings,
): Simulation | undefined {
  const reservation = reservationOf(candidate, settings.scheduling)
  if (reservation === undefined) return undefined
  const freed = simulator.crediting(reservation).without([candidate], how)
  return freed.problems.length === 0 ? freed : undefined
}

/** The context of a method with its gate. */
export interface Gated extends MethodContext {
  readonly isGateOn: boolean
}

/** Why a static pool gets no replacement: its limit, that nothing can be launched from it now, or reservations that are full, by their ids. */
export type Shortage = 'at limit' | 'not ready' | ReadonlySet<string>

/** Returns why a static pool gets no more nodes; undefined when it gets one. Reservations count where the gate is on. */
export function shortageOf(nodePool: NodePool, counts: Counts, context: Gated): Shortage | undefined {
  const full = context.isGateOn ? fullReservations(nodePool, context) : undefined
  if (full !== undefined) return full
  if (roomOf(nodePool, counts) === 0) return 'at limit'
  return isUnready(nodePool) ? 'not ready' : undefined
}

/** Returns ids of the healthy reservations of the pool's nodes when all are full; undefined when something else can be bought, or there is room. */
function fullReservations(nodePool: NodePool, { view, settings }: MethodContext): ReadonlySet<string> | undefined {
  const wanted = templateRequirements(templateOf(nodePool))
  const { wellKnown, scheduling } = settings
  const ids = new Set<string>()
  for (const type of view.instanceTypes.get(nodePool.metadata.name) ?? []) {
    if (!isCompatible(wanted, type.requirements, wellKnown)) continue
    for (const offering of compatibleOfferings(type, wanted, wellKnown)) {
      if (capacityTypeOf(offering) !== 'reserved' || isLaunchable(offering)) return undefined
      const [id] = offering.requirements.get(scheduling.reservationIdLabel ?? labels.reservationId)?.values ?? []
      // One node less frees no place where there are more than fit in.
      if (offering.available && (offering.reservationCapacity ?? 0) >= 0 && id !== undefined) ids.add(id)
    }
  }
  return ids
}

/** Sorts nodes that hold a place in one of the full reservations first: only their places can be filled again. */
export function byReservation(
  candidates: readonly Candidate[],
  shortage: Shortage,
  context: MethodContext,
): readonly Candidate[] {
  const holds = (one: Candidate) => holdsRoom(one, shortage, context)
  return [...candidates.filter(holds), ...candidates.filter((one) => !holds(one))]
}

/** Returns what keeps a node of a static pool without room; undefined when it may go first. A pool that would not be filled again keeps its nodes. */
export function hindranceOf(candidate: Candidate, shortage: Shortage, context: Gated): Cause | undefined {
  const { conditions, metadata } = candidate.nodePool
  const isFilledAgain = isTrue(conditions, 'Ready') && metadata.deletionTimestamp === undefined
  if (context.isGateOn && isFilledAgain && holdsRoom(candidate, shortage, context)) return undefined
  if (shortage === 'not ready') return { kind: 'static-pool-not-ready', nodePool: metadata.name }
  return { kind: shortage === 'at limit' ? 'static-pool-at-limit' : 'static-pool-reservations-full' }
}

function holdsRoom(candidate: Candidate, shortage: Shortage, { settings }: MethodContext): boolean {
  if (typeof shortage === 'string') return true
  return shortage.has(reservationOf(candidate, settings.scheduling) ?? '')
}
