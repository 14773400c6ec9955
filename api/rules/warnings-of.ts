import { type WarningPolicy, warningPolicies } from '../warnings.ts'
import { compileCel } from './cel.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns what `kubectl apply` would warn of with the chart's admission policies, for an object that the API server accepts. */
export function warningsOf(object: Json): readonly string[] {
  return warningPolicies.filter((policy) => isAbout(policy, object)).flatMap((policy) => warningsBy(policy, object))
}

function isAbout({ about, matchConditions = {} }: WarningPolicy, object: Json): boolean {
  const { apiVersion } = object
  const [group, version = ''] = typeof apiVersion === 'string' ? apiVersion.split('/') : []
  return (
    about.some(
      ({ apiGroup, apiVersions, kind }) =>
        apiGroup === group && kind === object['kind'] && (apiVersions.includes('*') || apiVersions.includes(version)),
    ) && Object.values(matchConditions).every((condition) => compileCel(condition).holds({ object }))
  )
}

/** As in a policy with `failurePolicy: Ignore`, what cannot be evaluated says nothing. */
function warningsBy({ variables = {}, warnings }: WarningPolicy, object: Json): readonly string[] {
  const names = { object, variables: {} }
  for (const [name, expression] of Object.entries(variables))
    Object.defineProperty(names.variables, name, { enumerable: true, get: () => compileCel(expression).valueOf(names) })
  return warnings.flatMap(({ holds, message }) => {
    try {
      return compileCel(holds).valueOf(names) === false ? [String(compileCel(message).valueOf(names))] : []
    } catch {
      return []
    }
  })
}
