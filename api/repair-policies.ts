import { z } from 'zod'
import { type RepairPolicy, repairActions, repairPolicyErrors } from '../core/node-repair/repair-policy.ts'
import { qualifiedNameErrors } from '../core/requirements/label-syntax.ts'
import { parseGoDuration } from '../core/values/duration.ts'
import { conditionEntry } from './node-rules.ts'
import { reasonPatternError } from './reason-pattern.ts'
import { readOneYaml } from './yaml/read.ts'

/** The policies of Karpenter for Azure (reference/azure-provider.md 8.4). */
const defaultRepairs =
  'Ready=False:10m,Ready=Unknown:10m,kubernetes.azure.com/NodeHealthy=False:0s,PreemptionScheduled=True:0s'

const time = z.string().transform((text, context) => {
  const nanoseconds = parseGoDuration(text)
  if (nanoseconds === undefined) context.addIssue(`"${text}" is not a duration; write such as 0s, 90s or 10m`)
  return Number((nanoseconds ?? 0n) / 1_000_000n)
})

/** A policy with the fields of Karpenter's provider interface. */
const longForm = z.strictObject({
  conditionType: z.string().superRefine((type, context) => {
    for (const error of qualifiedNameErrors(type)) context.addIssue(`"${type}" is no condition: ${error}`)
  }),
  conditionStatus: z.enum(['True', 'False', 'Unknown'], { error: 'must be "True", "False" or "Unknown"' }),
  reasonRegex: z.string().optional(),
  tolerationDuration: time.default(0),
  terminationGracePeriod: time.optional(),
  priority: z.number({ error: 'must be a number from 0 to 100' }).default(0),
  action: z.enum(repairActions, { error: `must be ${repairActions.join(' or ')}` }).default('ReplaceNode'),
})

/** A policy as its author wrote it: `Type=Status:Duration`, or with all fields. */
type Written = { readonly kind: 'short' | 'long'; readonly policy: RepairPolicy }

/**
 * The conditions of Nodes that are repaired: `Type=Status:Duration`, separated by commas, or a YAML list of such texts and of policies with all
 * fields. A short policy gives pods no time and is for any reason; the first one is the fallback where no long one is.
 */
export const repairPolicies = z
  .string()
  .default(defaultRepairs)
  .transform((text, context): readonly RepairPolicy[] => {
    const written = text.trimStart().startsWith('[') ? ofList(text, context) : ofTexts(text.split(','), context)
    const policies = withFallback(written)
    if (context.issues.length === 0 && policies.length > 0)
      for (const error of repairPolicyErrors(policies, reasonPatternError)) context.addIssue(error)
    return policies
  })

function ofTexts(parts: readonly string[], context: z.RefinementCtx): readonly Written[] {
  return parts.flatMap((part) => (part.trim() === '' ? [] : ofText(part.trim(), context)))
}

function ofText(text: string, context: z.RefinementCtx): readonly Written[] {
  const found = conditionEntry(text, context)
  if (found === undefined) return []
  const { type, status, reason, toleration = '' } = found
  const nanoseconds = parseGoDuration(toleration)
  if (reason === undefined && nanoseconds !== undefined && nanoseconds >= 0n) {
    const tolerationMs = Number(nanoseconds / 1_000_000n)
    const policy = {
      type,
      status,
      tolerationMs,
      terminationGracePeriodMs: 0,
      priority: 0,
      action: 'ReplaceNode',
    } as const
    return [{ kind: 'short', policy }]
  }
  context.addIssue(`has no toleration for ${type}=${status}; write ${type}=${status}:10m, without a reason`)
  return []
}

function ofList(text: string, context: z.RefinementCtx): readonly Written[] {
  const read = readOneYaml(text)
  if (read.kind !== 'value' || !Array.isArray(read.value)) {
    context.addIssue(`is not a YAML list of policies${read.kind === 'value' ? '' : `: ${read.message}`}; correct it`)
    return []
  }
  return (read.value as readonly unknown[]).flatMap((item, index) =>
    typeof item === 'string' ? ofText(item, context) : ofFields(item, index, context),
  )
}

function ofFields(item: unknown, index: number, context: z.RefinementCtx): readonly Written[] {
  const parsed = longForm.safeParse(item)
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues)
      context.addIssue(`has the policy [${index}]${path.map((part) => `.${String(part)}`).join('')}: ${message}`)
    return []
  }
  const { conditionType: type, conditionStatus: status, reasonRegex, tolerationDuration, ...rest } = parsed.data
  const { terminationGracePeriod: grace, priority, action } = rest
  const policy = {
    type,
    status,
    ...(reasonRegex === undefined ? {} : { reasonPattern: reasonRegex }),
    tolerationMs: tolerationDuration,
    ...(grace === undefined ? {} : { terminationGracePeriodMs: grace }),
    priority,
    action,
  }
  return [{ kind: 'long', policy }]
}

function withFallback(written: readonly Written[]): readonly RepairPolicy[] {
  const hasLong = written.some(({ kind, policy }) => kind === 'long' && policy.reasonPattern === undefined)
  const first = hasLong ? undefined : written.find(({ kind }) => kind === 'short')
  return written.map((one) =>
    one.kind === 'long' || one === first ? one.policy : { ...one.policy, reasonPattern: '.*' },
  )
}
