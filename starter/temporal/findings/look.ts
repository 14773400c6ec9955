import type { NodeClaim } from '../../../core/objects.ts'
import { lookAtAttributes } from './attributes.ts'
import { type Finding, findingsOf, type Look, type LookContext, merged } from './finding.ts'
import { LifecycleLook, type LifecycleLookOptions } from './lifecycles.ts'
import { lookAtLoops } from './loops.ts'
import { OtherFormsLook } from './other-forms.ts'
import { lookAtSchedule } from './schedule.ts'
import { lookForStuckRuns } from './stuck-runs.ts'

/** Returns all looks. `claims` returns the NodeClaims that should have lifecycles, as they are at the moment. */
export function temporalLooks(
  context: LookContext,
  claims: () => Iterable<NodeClaim>,
  options: LifecycleLookOptions = {},
): readonly Look[] {
  const lifecycles = new LifecycleLook(context, options)
  const otherForms = new OtherFormsLook(context)
  return [
    { what: 'the loops', run: () => lookAtLoops(context) },
    { what: 'the Schedule', run: () => lookAtSchedule(context) },
    { what: 'the search attributes', run: () => lookAtAttributes(context) },
    { what: 'the lifecycles', run: () => lifecycles.look(claims) },
    { what: 'what is of another form', run: () => otherForms.look() },
    { what: 'the list of workflows that cannot go on', run: () => lookForStuckRuns(context) },
  ]
}

/** Reads the NodeClaims. Undefined: they could not be read. */
export type ReadClaims = () => Promise<readonly NodeClaim[] | undefined>

/**
 * Looks once at everything, and changes nothing. `claims`: undefined where they could not be read; lifecycles are not compared then. They are read
 * again where one seems to lack its lifecycle: it may have gone meanwhile.
 */
export async function lookOnce(
  context: LookContext,
  claims: readonly NodeClaim[] | undefined,
  again: ReadClaims,
): Promise<readonly Finding[]> {
  const looks = temporalLooks(context, () => claims ?? [], { isOnly: true })
  const possible = claims === undefined ? looks.filter(({ what }) => what !== 'the lifecycles') : looks
  const findings = merged((await Promise.all(possible.map(findingsOf))).flat())
  if (findings.every(({ repair }) => repair?.kind !== 'start')) return findings
  const left = new Set((await again())?.map(({ metadata }) => metadata.name))
  return findings.filter(({ repair }) => repair?.kind !== 'start' || left.has(repair.nodeClaim))
}
