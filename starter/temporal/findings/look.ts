import type { NodeClaim } from '../../../core/objects.ts'
import { lookAtAttributes } from './attributes.ts'
import { type Finding, findingsOf, type Look, type LookContext, merged } from './finding.ts'
import { LifecycleLook, type LifecycleLookOptions } from './lifecycles.ts'
import { lookAtLoops } from './loops.ts'
import { lookAtSchedules } from './schedules.ts'
import { lookForStuckRuns } from './stuck-runs.ts'

/** Returns all looks. `claims` returns the NodeClaims that should have lifecycles, as they are at the moment. */
export function temporalLooks(
  context: LookContext,
  claims: () => Iterable<NodeClaim>,
  options: LifecycleLookOptions = {},
): readonly Look[] {
  const lifecycles = new LifecycleLook(context, options)
  return [
    { what: 'the loops', run: () => lookAtLoops(context) },
    { what: 'the Schedules', run: () => lookAtSchedules(context) },
    { what: 'the search attributes', run: () => lookAtAttributes(context) },
    { what: 'the lifecycles', run: () => lifecycles.look(claims) },
    { what: 'the list of workflows that cannot go on', run: () => lookForStuckRuns(context) },
  ]
}

/** Looks once at everything, and changes nothing. `claims`: undefined where they could not be read; lifecycles are not compared then. */
export async function lookOnce(
  context: LookContext,
  claims: readonly NodeClaim[] | undefined,
): Promise<readonly Finding[]> {
  const looks = temporalLooks(context, () => claims ?? [], { isOnly: true })
  const possible = claims === undefined ? looks.filter(({ what }) => what !== 'the lifecycles') : looks
  return merged((await Promise.all(possible.map(findingsOf))).flat())
}
