import type { AdmissionPolicy, BoundPolicy, NamedExpression } from './rules/admission.ts'
import { warningPolicies } from './warnings/policies.ts'
import type { WarningPolicy } from './warnings/policy.ts'

export const warningActions = ['Warn', 'Audit'] as const

/** Returns a policy of `api/warnings` in Kubernetes' form, with its warnings as validations in the same order. */
export function policyOf(policy: WarningPolicy): AdmissionPolicy {
  const { name, about, matchConditions, variables, warnings } = policy
  return {
    metadata: { name },
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        resourceRules: about.map(({ apiGroup, apiVersions, kind }) => ({
          apiGroups: [apiGroup],
          apiVersions,
          operations: ['CREATE', 'UPDATE'],
          resources: [pluralOf(kind)],
        })),
      },
      ...(matchConditions === undefined ? {} : { matchConditions: named(matchConditions) }),
      ...(variables === undefined ? {} : { variables: named(variables) }),
      validations: warnings.map(({ holds, message }) => ({ expression: holds, messageExpression: message })),
    },
  }
}

function named(expressions: Readonly<Record<string, string>>): readonly NamedExpression[] {
  return Object.entries(expressions).map(([name, expression]) => ({ name, expression }))
}

/** Returns the name of our kind in URLs. */
export function pluralOf(kind: string): string {
  return `${kind}${kind.endsWith('s') ? 'es' : 's'}`.toLowerCase()
}

/** The chart's policies on objects that people apply, with the chart's default values. */
export const chartPolicies: readonly BoundPolicy[] = warningPolicies.map((policy) => ({
  policy: policyOf(policy),
  actions: warningActions,
}))
