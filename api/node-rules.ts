import { z } from 'zod'
import type { InterruptionRule, RepairPolicy } from '../core/node-claim/node-health.ts'
import { qualifiedNameErrors } from '../core/requirements/label-syntax.ts'
import { parseGoDuration } from '../core/values/duration.ts'

/**
 * Conditions by which AKS' node problem detector announces the end of a VM (reference/azure-provider.md 8.4). A VM that is frozen, rebooted or moved
 * to another host stays.
 */
const defaultInterruptions =
  'PreemptionScheduled=True,VMEventScheduled=True/PreemptScheduled,VMEventScheduled=True/TerminateScheduled'

/** The policies of Karpenter for Azure (reference/azure-provider.md 8.4). */
const defaultRepairs =
  'Ready=False:10m,Ready=Unknown:10m,kubernetes.azure.com/NodeHealthy=False:0s,PreemptionScheduled=True:0s'

const entry = /^(?<type>[^=]+)=(?<status>True|False|Unknown)(?:\/(?<reason>\w+))?(?::(?<toleration>[^:]+))?$/

interface Entry {
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

/** Conditions of Nodes that are repaired, and for how long each is tolerated: `Type=Status:Duration`, separated by commas. */
export const repairPolicies = z
  .string()
  .default(defaultRepairs)
  .transform((text, context): readonly RepairPolicy[] =>
    entries(text, context).flatMap(({ type, status, reason, toleration = '' }) => {
      const nanoseconds = parseGoDuration(toleration)
      if (reason === undefined && nanoseconds !== undefined && nanoseconds >= 0n)
        return [{ type, status, tolerationMs: Number(nanoseconds / 1_000_000n) }]
      context.addIssue(`has no toleration for ${type}=${status}; write ${type}=${status}:10m, without a reason`)
      return []
    }),
  )

function entries(text: string, context: z.RefinementCtx): readonly Entry[] {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return parts.flatMap((part) => {
    const found = entry.exec(part)?.groups as Entry | undefined
    const wrong =
      found === undefined ? 'write Type=True, Type=False or Type=Unknown' : qualifiedNameErrors(found.type)[0]
    if (found !== undefined && wrong === undefined) return [found]
    context.addIssue(`has "${part}", which is no condition: ${wrong}`)
    return []
  })
}
