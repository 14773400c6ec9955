import { fieldsOf, isGiven, longestText, objectOf, shown, textRefusal } from '../../pauses/operator-requests.ts'
import { isScopeName, type Pause, pausableReasons, scopeOf } from '../../pauses/pauses.ts'
import type { PlanOptions } from './plan.ts'

/** The payload of `plan`. */
export interface PlanRequest extends PlanOptions {
  /** The requester. */
  readonly by?: string
}

/** The payload of `consolidate` and `consolidateNow`: which nodes may be disrupted at once, without waiting for consolidateAfter. */
export interface ConsolidateRequest extends Pick<PlanOptions, 'nodePools' | 'nodes' | 'budget'> {
  /** The requester. */
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
}

/** The payload of `apply`. */
export interface ApplyRequest {
  /** Id of the plan. */
  readonly id: string
  /** Whether commands that still hold are started although others do not. */
  readonly partial?: boolean
  /** The requester. */
  readonly by?: string
  /** When it was made, RFC 3339. */
  readonly at?: string
}

const scopeFields = ['nodePools', 'nodes', 'budget', 'by', 'at']
const mostNames = 1000

/** The reasons that a plan can be for: a sick node is repaired when that is due, and waits for no plan. */
export const plannableReasons = pausableReasons.filter((reason) => reason !== 'Unhealthy')

/** Returns why a `plan` cannot be made as requested; undefined when it can. */
export function planRefusal(request: unknown): string | undefined {
  const fields = fieldsOf(request, 'plan', [...scopeFields, 'reasons', 'now'])
  if (fields.kind === 'refused') return fields.message
  const { reasons, now } = fields.value
  if (now !== undefined && now !== null && typeof now !== 'boolean') return `plan: now ${shown(now)}: not true or false`
  const known: readonly unknown[] = plannableReasons
  if (
    isGiven(reasons) &&
    !(Array.isArray(reasons) && reasons.length > 0 && reasons.every((each) => known.includes(each)))
  )
    return `plan: reasons ${shown(reasons)}: not a list of ${plannableReasons.join(', ')}`
  return scopeRefusal('plan', fields.value)
}

/** Returns why a `consolidate` cannot be carried out as requested; undefined when it can. */
export function consolidateRefusal(request: unknown): string | undefined {
  const fields = fieldsOf(request, 'consolidate', scopeFields)
  return fields.kind === 'refused' ? fields.message : scopeRefusal('consolidate', fields.value)
}

/** Returns why an `apply` cannot be carried out as requested; undefined when it can. */
export function applyRefusal(request: unknown): string | undefined {
  const fields = fieldsOf(request, 'apply', ['id', 'partial', 'by', 'at'])
  if (fields.kind === 'refused') return fields.message
  const { id, partial, by } = fields.value
  if (typeof id !== 'string' || !isPlanId(id))
    return `apply: id ${shown(id)}: not the id of a plan; make one with joiner plan`
  if (isGiven(partial) && typeof partial !== 'boolean') return `apply: partial ${shown(partial)}: not true or false`
  return textRefusal('apply', { by })
}

/** Eight hexadecimal digits; the first one names the place that stores the plan. */
export function isPlanId(text: string): boolean {
  return /^[0-7][0-9a-f]{7}$/.test(text)
}

/** Places for plans: a plan's first digit. Their ConfigMaps have fixed names, so Joiner needs rights on no others. */
export const planPlaces = ['0', '1', '2', '3', '4', '5', '6', '7'] as const

/** Returns the name of a place's ConfigMap. */
export function planMapName(place: string): string {
  return `joiner-plan-${place}`
}

/**
 * Returns what a `consolidateNow` requests, for any payload: a signal cannot be answered, and its handler must not fail. Undefined when its limits
 * cannot be read, so nothing is done.
 */
export function consolidateAskedFor(request: unknown): ConsolidateRequest | undefined {
  if (consolidateRefusal(request) !== undefined) return undefined
  const { nodePools, nodes, budget, by, at } = objectOf(request) as {
    [Key in keyof ConsolidateRequest]: ConsolidateRequest[Key] | null
  }
  return {
    ...(isGiven(nodePools) ? { nodePools } : {}),
    ...(isGiven(nodes) ? { nodes } : {}),
    ...(isGiven(budget) ? { budget } : {}),
    ...(isGiven(by) ? { by: by.slice(0, longestText) } : {}),
    ...(isGiven(at) ? { at } : {}),
  }
}

/** Returns the pause that covers everything a request names: then none of it can be done. */
export function pauseOfRequest({ nodePools, nodes }: ConsolidateRequest, pauses: readonly Pause[]): Pause | undefined {
  const of = (kind: 'nodePool' | 'node', name: string) =>
    pauses.find((pause) => {
      const scope = scopeOf(pause)
      return scope.kind === kind && scope.name === name
    })
  for (const [kind, names] of [['nodePool', nodePools] as const, ['node', nodes] as const]) {
    const found = names?.map((name) => of(kind, name))
    if (found?.every((pause) => pause !== undefined) === true) return found[0]
  }
  return undefined
}

function scopeRefusal(
  name: string,
  { nodePools, nodes, budget, by }: Readonly<Record<string, unknown>>,
): string | undefined {
  for (const [field, value] of Object.entries({ nodePools, nodes })) {
    if (!isGiven(value)) continue
    if (!Array.isArray(value) || value.length === 0)
      return `${name}: ${field} ${shown(value)}: not a list of names; leave it out for all`
    if (value.length > mostNames) return `${name}: ${field}: ${value.length} names, at most ${mostNames}`
    const strange = value.find((each) => typeof each !== 'string' || !isScopeName(each))
    if (strange !== undefined) return `${name}: ${field}: ${shown(strange)}: not the name of an object in Kubernetes`
  }
  if (isGiven(budget) && !(Number.isSafeInteger(budget) && (budget as number) > 0))
    return `${name}: budget ${shown(budget)}: not a whole number of nodes from 1 on`
  return textRefusal(name, { by })
}
