import { labels } from '../../requirements/labels.ts'
import type { PlannedNodeClaim } from '../../scheduling/snapshot.ts'
import type { Candidate } from '../candidates.ts'
import type { Decision } from '../command.ts'
import { allowsCapacityType } from '../replacement.ts'

/** Most names of types in a text; the rest is only counted. */
const mostTypes = 5

/** The fields of a command that its text shows. */
export interface TellableCommand {
  readonly decision: Decision
  readonly candidates: readonly Pick<Candidate, 'node' | 'reschedulable'>[]
  /** A number where only their count is still known. */
  readonly replacements: readonly PlannedNodeClaim[] | number
}

/** Returns a command as upstream's events show it: the decision, the nodes with their types, and their replacements. */
export function commandText({ decision, candidates, replacements }: TellableCommand): string {
  const pods = candidates.reduce((sum, { reschedulable }) => sum + reschedulable.length, 0)
  const nodes = candidates.map(({ node: { metadata } }) =>
    [metadata.name, metadata.labels[labels.instanceType] ?? '', metadata.labels[labels.capacityType] ?? ''].join('/'),
  )
  const going = `${decision}, terminating ${candidates.length} nodes (${pods} pods) ${nodes.join(', ')}`
  if (typeof replacements === 'number')
    return replacements === 0 ? going : `${going} and replacing with ${replacements} node${replacements > 1 ? 's' : ''}`
  const [first] = replacements
  if (first === undefined) return going
  const types = `from types ${typesText(first.instanceTypes)}`
  if (replacements.length === 1) return `${going} and replacing with ${onlyCapacityType(first)}node ${types}`
  const spot = replacements.filter((claim) => allowsCapacityType(claim, 'spot')).length
  return `${going} and replacing with ${spot} spot and ${replacements.length - spot} on-demand, ${types}`
}

/** `savings: $1.20`, an hour. */
export function savingsText(savings: number): string {
  return `savings: $${savings.toFixed(2)}`
}

function typesText(types: readonly string[]): string {
  const rest = types.length - mostTypes
  return `${types.slice(0, mostTypes).join(', ')}${rest > 0 ? ` and ${rest} other(s)` : ''}`
}

function onlyCapacityType(claim: PlannedNodeClaim): string {
  const allowed = ['reserved', 'spot', 'on-demand'].filter((each) => allowsCapacityType(claim, each))
  return allowed.length === 1 ? `${allowed[0]} ` : ''
}
