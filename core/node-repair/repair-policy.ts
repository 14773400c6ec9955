import type { Condition } from '../objects.ts'

export const repairActions = ['ReplaceNode', 'RebootNode'] as const
export type RepairAction = (typeof repairActions)[number]

/** A condition that makes a Node unhealthy, and what follows (reference/karpenter-1.15.md 4.8a). */
export interface RepairPolicy {
  readonly type: string
  readonly status: Condition['status']
  /** Pattern that some part of the condition's reason has to match. The one policy without it is the fallback. */
  readonly reasonPattern?: string
  /** How long the condition is tolerated. */
  readonly tolerationMs: number
  /** Longest time that pods have to leave. Unset: that of the NodeClaim. */
  readonly terminationGracePeriodMs?: number
  /** 0 to 100: of several policies the highest decides, and its nodes go first. */
  readonly priority: number
  readonly action: RepairAction
}

export interface RepairRule extends RepairPolicy {
  /** Whether the pattern matches some part of a condition's reason. Nothing matches a policy without one. */
  readonly matches: (reason: string) => boolean
}

/** Name of a policy in messages: its condition, with the reason where there is one. */
function policyName({ type, status, reasonPattern: pattern }: RepairPolicy): string {
  return `${type}=${status}${pattern === undefined ? '' : `/${pattern}`}`
}

/** Returns what is wrong with a set of policies: each with its policy, field, value and remedy. `patternError`: what is wrong with a pattern. */
export function repairPolicyErrors(
  policies: readonly RepairPolicy[],
  patternError: (pattern: string) => string | undefined,
): readonly string[] {
  if (policies.length === 0) return ['has no policy; name at least the fallback, such as Ready=False:10m']
  const fallbacks = policies.filter(({ reasonPattern: pattern }) => pattern === undefined)
  return [
    ...policies.flatMap((policy) => {
      const { reasonPattern = '' } = policy
      const error = patternError(reasonPattern)
      const ofPattern = `has the policy ${policyName(policy)} with reasonRegex "${reasonPattern}"; it ${error}`
      return [...errorsOf(policy), ...(error === undefined ? [] : [ofPattern])]
    }),
    ...fallbackErrors(fallbacks),
  ]
}

function fallbackErrors(fallbacks: readonly RepairPolicy[]): readonly string[] {
  const [first] = fallbacks
  if (first === undefined)
    return ['has no policy without a reasonRegex, which is the fallback; leave it out of exactly one']
  if (fallbacks.length > 1)
    return [
      `has ${fallbacks.length} policies without a reasonRegex (${fallbacks.map(policyName).join(', ')}), and one may be the fallback; give the others one, such as ".*"`,
    ]
  return first.action === 'ReplaceNode'
    ? []
    : [`has the fallback ${policyName(first)} with action ${first.action}; the fallback must be ReplaceNode`]
}

function errorsOf(policy: RepairPolicy): readonly string[] {
  const { reasonPattern: pattern, tolerationMs, terminationGracePeriodMs: grace = 0, priority } = policy
  const errors: string[] = []
  const add = (field: string, value: unknown, remedy: string) =>
    errors.push(`has the policy ${policyName(policy)} with ${field} ${String(value)}; ${remedy}`)
  if (tolerationMs < 0) add('tolerationDuration', `${tolerationMs}ms`, 'use 0s or more')
  if (grace < 0) add('terminationGracePeriod', `${grace}ms`, 'use 0s or more')
  if (!Number.isInteger(priority) || priority < 0 || priority > 100)
    add('priority', priority, 'use a whole number from 0 to 100')
  if (pattern === '') add('reasonRegex', '""', 'leave it out, or use ".*" for any reason')
  return errors
}
