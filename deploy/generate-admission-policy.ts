// The chart's admission policies that warn, made from the table in `api/warnings.ts`.
import { stringify } from 'yaml'
import { type WarnedKind, type Warning, type WarningPolicy, warningPolicies } from '../api/warnings.ts'

const head = `{{- /*
Generated from api/warnings.ts by deploy/generate-admission-policy.ts; edit the table there.
Warnings at \`kubectl apply\` about what Karpenter's API accepts and what cannot work here, or has no effect. Nothing is refused: whatever Karpenter
accepts is accepted. A policy that cannot be evaluated says nothing.
*/}}
{{- if .Values.admissionWarnings }}
`

const named = (entries: Readonly<Record<string, string>>) =>
  Object.entries(entries).map(([name, expression]) => ({ name, expression }))

const yaml = (value: unknown, indent: number) =>
  stringify(value, { lineWidth: 0 }).trimEnd().replaceAll(/^/gm, ' '.repeat(indent))

function policy({ name, about, matchConditions, variables, warnings }: WarningPolicy): string {
  const spec = {
    failurePolicy: 'Ignore',
    matchConstraints: { resourceRules: about.map(resourceRule) },
    ...(matchConditions === undefined ? {} : { matchConditions: named(matchConditions) }),
    ...(variables === undefined ? {} : { variables: named(variables) }),
  }
  return [
    ...header('ValidatingAdmissionPolicy', name),
    yaml(spec, 2),
    '  validations:',
    ...warnings.map(validation),
    '---',
    ...header('ValidatingAdmissionPolicyBinding', name),
    yaml({ policyName: name, validationActions: ['Warn', 'Audit'] }, 2),
    '',
  ].join('\n')
}

function resourceRule({ apiGroup, apiVersions, kind }: WarnedKind): object {
  const plural = kind.endsWith('s') ? `${kind}es` : `${kind}s`
  return {
    apiGroups: [apiGroup],
    apiVersions,
    operations: ['CREATE', 'UPDATE'],
    resources: [plural.toLowerCase()],
  }
}

function header(kind: string, name: string): readonly string[] {
  return [
    'apiVersion: admissionregistration.k8s.io/v1',
    `kind: ${kind}`,
    'metadata:',
    `  name: ${name}`,
    '  labels: {{- include "joiner.labels" . | nindent 4 }}',
    'spec:',
  ]
}

function validation({ holds, message, unlessChartValue }: Warning): string {
  const text = yaml([{ expression: holds, messageExpression: message }], 4)
  return unlessChartValue === undefined ? text : `    {{- if not ${unlessChartValue} }}\n${text}\n    {{- end }}`
}

/** The template of the chart. */
export function admissionPolicyTemplate(): string {
  return `${head}${warningPolicies.map(policy).join('---\n')}{{- end }}\n`
}
