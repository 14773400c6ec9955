import { z } from 'zod'
import type { InterruptionRule } from '../core/node-claim/node-health.ts'
import { qualifiedNameErrors } from '../core/requirements/label-syntax.ts'

/**
 * Conditions by which AKS' node problem detector announces the end of a VM (reference/azure-provider.md 8.4). A VM that is frozen, rebooted or moved
 * to another host stays.
 */
const defaultInterruptions =
  'PreemptionScheduled=True,VMEventScheduled=True/PreemptScheduled,VMEventScheduled=True/TerminateScheduled'

const entry = /^(?<type>[^=]+)=(?<status>True|False|Unknown)(?:\/(?<reason>\w+))?(?::(?<toleration>[^:]+))?$/

/** A condition as a setting names it. */
export interface Entry {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string | undefined
  readonly toleration: string | undefined
}

/** Conditions of Nodes that announce the end of their VM: `Type=Status` or `Type=Status/Reason`, separated by commas. */
export const interruptionConditions = z
  .string()
  .default(defaultInterruptions)
  .transform((text, context): readonly InterruptionRule[] =>
    entries(text, context).flatMap(({ type, status, reason, toleration }) => {
      if (toleration === undefined) return [{ type, status, ...(reason === undefined ? {} : { reason }) }]
      context.addIssue(
        `gives ${type}=${status} a duration, which only repair policies have; leave ":${toleration}" out`,
      )
      return []
    }),
  )

function entries(text: string, context: z.RefinementCtx): readonly Entry[] {
  return text.split(',').flatMap((part) => (part.trim() === '' ? [] : (conditionEntry(part.trim(), context) ?? [])))
}

/** Parses one condition; undefined when it is none, which is an issue. */
export function conditionEntry(text: string, context: z.RefinementCtx): Entry | undefined {
  const found = entry.exec(text)?.groups as Entry | undefined
  const wrong = found === undefined ? 'write Type=True, Type=False or Type=Unknown' : qualifiedNameErrors(found.type)[0]
  if (found !== undefined && wrong === undefined) return found
  context.addIssue(`has "${text}", which is no condition: ${wrong}`)
  return undefined
}
