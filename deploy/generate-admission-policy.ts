// The chart's admission policies that warn, made from the tables in `api/warnings`.
import { stringify } from 'yaml'
import { policyOf, warningActions } from '../api/chart-policies.ts'
import type { Validation } from '../api/rules/admission.ts'
import { warningPolicies } from '../api/warnings/policies.ts'
import type { WarningPolicy } from '../api/warnings/policy.ts'

const head = `{{- /*
Generated from api/warnings by deploy/generate-admission-policy.ts; edit the tables there.
Warnings at \`kubectl apply\` about what Karpenter's API accepts and what cannot work here, has no effect, or limits nothing. Nothing is refused: whatever Karpenter
accepts is accepted. A policy that cannot be evaluated says nothing.
*/}}
{{- if .Values.admissionWarnings }}
`

const yaml = (value: unknown, indent: number) =>
  stringify(value, { lineWidth: 0 }).trimEnd().replaceAll(/^/gm, ' '.repeat(indent))

function policy(table: WarningPolicy): string {
  const { metadata, spec } = policyOf(table)
  const { validations, ...rest } = spec
  return [
    ...header('ValidatingAdmissionPolicy', metadata.name),
    yaml(rest, 2),
    '  validations:',
    ...validations.map((validation, index) => validationText(validation, table.warnings[index]?.unlessChartValue)),
    '---',
    ...header('ValidatingAdmissionPolicyBinding', metadata.name),
    yaml({ policyName: metadata.name, validationActions: warningActions }, 2),
    '',
  ].join('\n')
}

function header(kind: string, name: string): readonly string[] {
  return [
    'apiVersion: admissionregistration.k8s.io/v1',
    `kind: ${kind}`,
    'metadata:',
    `  name: ${name}`,
    '  {{- include "joiner.metadata" (list .) | nindent 2 }}',
    'spec:',
  ]
}

function validationText(validation: Validation, unlessChartValue: string | undefined): string {
  const text = yaml([validation], 4)
  return unlessChartValue === undefined ? text : `    {{- if not ${unlessChartValue} }}\n${text}\n    {{- end }}`
}

/** The template of the chart. */
export function admissionPolicyTemplate(): string {
  return `${head}${warningPolicies.map(policy).join('---\n')}{{- end }}\n`
}
