// Evaluates ValidatingAdmissionPolicies as the API server does, without a server.
import { utf8Length } from '../../core/metadata-errors.ts'
import { type CelExpression, CelScope, compileCel } from './cel.ts'

type Json = Readonly<Record<string, unknown>>

/** The parts of a ValidatingAdmissionPolicy that determine the API server's decision. Expressions are CEL. */
export interface AdmissionPolicy {
  readonly metadata: { readonly name: string }
  readonly spec: {
    /** Effect of an expression that fails. `Ignore`: none; `Fail`, the default: the request is denied. */
    readonly failurePolicy?: 'Fail' | 'Ignore'
    readonly matchConstraints: { readonly resourceRules: readonly ResourceRule[] }
    readonly matchConditions?: readonly NamedExpression[]
    readonly variables?: readonly NamedExpression[]
    readonly validations: readonly Validation[]
  }
}

interface ResourceRule {
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly operations: readonly string[]
  /** Plurals in lower case. */
  readonly resources: readonly string[]
}

export interface NamedExpression {
  readonly name: string
  readonly expression: string
}

export interface Validation {
  readonly expression: string
  readonly message?: string
  readonly messageExpression?: string
}

/** A policy with the `validationActions` of its binding. */
export interface BoundPolicy {
  readonly policy: AdmissionPolicy
  readonly actions: readonly string[]
}

/** A request to the API server, as the variable `request` has it. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string }
  /** Unset for objects without a namespace. */
  readonly namespace?: string
  readonly userInfo: { readonly username: string }
  /** As the API server would store it; unset when it is deleted. */
  readonly object?: Json
  /** As it is stored; unset when it is created. */
  readonly oldObject?: Json
}

interface Violation {
  readonly policy: string
  readonly message: string
}

/** The policies' decision on a request. A request that no policy denies is admitted. */
export interface Admission {
  readonly denied: readonly Violation[]
  readonly warnings: readonly Violation[]
}

/** Bytes of UTF-8 beyond which the API server drops the result of a `messageExpression`. */
const longestMessage = 5 * 1024

/** Evaluates policies for a request. Errors: an expression that cannot be parsed, or a part of a policy that only a cluster can evaluate. */
export function admissionOf(request: AdmissionRequest, policies: readonly BoundPolicy[]): Admission {
  const violations = policies.flatMap(({ policy, actions }) =>
    violationsOf(policy, request).map((message) => ({ actions, violation: { policy: policy.metadata.name, message } })),
  )
  const by = (action: string) =>
    violations.filter(({ actions }) => actions.includes(action)).map(({ violation }) => violation)
  return { denied: by('Deny'), warnings: by('Warn') }
}

function violationsOf(policy: AdmissionPolicy, request: AdmissionRequest): readonly string[] {
  requireSupported(policy)
  const { failurePolicy = 'Fail', matchConstraints, matchConditions = [], variables = [], validations } = policy.spec
  if (!matchConstraints.resourceRules.some((rule) => isMatch(rule, request))) return []
  const { object = null, oldObject = null, ...about } = request
  const scope = new CelScope({ object, oldObject, request: about })
  const onFailure = (message: string) => (failurePolicy === 'Ignore' ? [] : [message])
  const match = matchOf(matchConditions, scope)
  if (match.kind === 'failed') return onFailure(match.message)
  if (match.kind === 'other') return []
  for (const { name, expression } of variables) scope.define(name, expression)
  return validations.flatMap((validation) => {
    const result = compileCel(validation.expression).evaluate(scope)
    if (result.kind === 'failed') return onFailure(result.message)
    return result.value === true ? [] : [messageOf(validation, scope)]
  })
}

function isMatch(
  { apiGroups, apiVersions, operations, resources }: ResourceRule,
  { operation, resource: { group, version, resource } }: AdmissionRequest,
): boolean {
  const has = (list: readonly string[], value: string) => list.includes('*') || list.includes(value)
  return has(apiGroups, group) && has(apiVersions, version) && has(operations, operation) && has(resources, resource)
}

type Match = { readonly kind: 'matches' | 'other' } | { readonly kind: 'failed'; readonly message: string }

/** A false condition decides, even where another one fails. */
function matchOf(conditions: readonly NamedExpression[], scope: CelScope): Match {
  const results = conditions.map(({ expression }) => compileCel(expression).evaluate(scope))
  if (results.some((result) => result.kind === 'value' && result.value !== true)) return { kind: 'other' }
  return results.find((result) => result.kind === 'failed') ?? { kind: 'matches' }
}

/** Skips a message expression that fails, is empty, too long or has several lines. */
function messageOf({ expression, message = '', messageExpression }: Validation, scope: CelScope): string {
  const made = messageExpression === undefined ? '' : textOf(compileCel(messageExpression), scope)
  const isUsable = made.trim() !== '' && !made.includes('\n') && utf8Length(made) <= longestMessage
  if (isUsable) return made.trim()
  return message.trim() === '' ? `failed expression: ${expression.trim()}` : message.trim()
}

function textOf(expression: CelExpression, scope: CelScope): string {
  const result = expression.evaluate(scope)
  return result.kind === 'value' && typeof result.value === 'string' ? result.value : ''
}

/** Rejects parts that need a cluster, or that no policy of the chart has. The API server writes selectors that select everything into each policy. */
function requireSupported({ metadata, spec }: AdmissionPolicy): void {
  const { matchConstraints } = spec
  const parts: Json = {
    'spec.paramKind': (spec as Json)['paramKind'],
    ...Object.fromEntries(
      ['namespaceSelector', 'objectSelector', 'excludeResourceRules'].map((name) => [
        `spec.matchConstraints.${name}`,
        (matchConstraints as unknown as Json)[name],
      ]),
    ),
    ...Object.fromEntries(
      matchConstraints.resourceRules.map((rule, index) => [
        `spec.matchConstraints.resourceRules[${index}].resourceNames`,
        (rule as unknown as Json)['resourceNames'],
      ]),
    ),
  }
  for (const [field, value] of Object.entries(parts))
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
      throw new Error(
        `ValidatingAdmissionPolicy "${metadata.name}": ${field} ${JSON.stringify(value)}: cannot be evaluated without a cluster; use kubectl apply --dry-run=server`,
      )
}
