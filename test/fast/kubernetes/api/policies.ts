import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import { CelScope, compileCel } from '../../../../api/rules/cel.ts'
import { metaOf, type ObjectStore } from './objects.ts'

interface PolicySpec {
  readonly matchConstraints?: {
    readonly resourceRules?: readonly {
      readonly apiGroups: readonly string[]
      readonly operations: readonly string[]
      readonly resources: readonly string[]
    }[]
  }
  readonly matchConditions?: readonly { readonly expression: string }[]
  readonly validations?: readonly { readonly expression: string; readonly message?: string }[]
}

interface BindingSpec {
  readonly policyName: string
  readonly validationActions: readonly string[]
}

interface Creation {
  readonly list: string
  readonly resource: string
  readonly object: Json
}

/** What ValidatingAdmissionPolicies with a binding that denies say of an object that is to be created. Errors: 422 where one denies it. */
export function heldToPolicies(objects: ObjectStore, creation: Creation): void {
  for (const binding of objects.of('validatingadmissionpolicybindings')) {
    const { policyName, validationActions } = binding['spec'] as BindingSpec
    if (!validationActions.includes('Deny')) continue
    const policy = objects.of('validatingadmissionpolicies').find((one) => metaOf(one).name === policyName)
    const problem = policy && denial(policy['spec'] as PolicySpec, creation)
    if (problem === undefined) continue
    const which = `ValidatingAdmissionPolicy '${policyName}' with binding '${metaOf(binding).name}'`
    const { list, object } = creation
    throw new ApiError(
      422,
      'Invalid',
      `POST ${list}: 422 ${creation.resource} "${metaOf(object).name}" is forbidden: ${which} denied request: ${problem}`,
    )
  }
}

function denial({ matchConstraints, matchConditions = [], validations = [] }: PolicySpec, creation: Creation) {
  const [, group = ''] = /^\/apis\/([^/]+)\//.exec(creation.list) ?? []
  const isMeant = (matchConstraints?.resourceRules ?? []).some(
    ({ apiGroups, operations, resources }) =>
      has(apiGroups, group) && has(operations, 'CREATE') && has(resources, creation.resource),
  )
  if (!isMeant) return undefined
  const scope = new CelScope({ object: creation.object })
  if (!matchConditions.every(({ expression }) => compileCel(expression).holds(scope))) return undefined
  const violated = validations.find(({ expression }) => !compileCel(expression).holds(scope))
  return violated && (violated.message ?? `failed expression: ${violated.expression}`)
}

const has = (values: readonly string[], value: string) => values.includes('*') || values.includes(value)
