import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from '@bufbuild/cel'
import { parse as parseYaml } from 'yaml'
import { chartPolicies } from '../api/chart-policies.ts'
import { nodeClaimSpec } from '../api/node-claim.ts'
import { nodeClassSpec } from '../api/node-class.ts'
import { nodePoolSpec } from '../api/node-pool.ts'
import { jsonSchemaOf } from '../api/rules/schema-errors.ts'
import { root } from './build-once.ts'

/** Returns the CEL of the CRDs that a new object is held to, and that of the chart's policies, each text once. */
export function celTexts(): readonly string[] {
  const crds = globSync('deploy/crds/*.yaml', { cwd: root }).map(
    (name): unknown => parseYaml(readFileSync(join(root, name), 'utf8')) as unknown,
  )
  const rules = (valuesOf('x-kubernetes-validations', crds) as readonly (readonly { readonly rule: string }[])[])
    .flat()
    .map(({ rule }) => rule)
    .filter((rule) => !/\boldSelf\b/.test(rule))
  const ofPolicies = chartPolicies.flatMap(({ policy: { spec } }) => [
    ...[...(spec.matchConditions ?? []), ...(spec.variables ?? [])].map(({ expression }) => expression),
    ...spec.validations.flatMap(({ expression, messageExpression = '' }) => [expression, messageExpression]),
  ])
  return [...new Set([...rules, ...ofPolicies])].filter((text) => text !== '')
}

/** Returns all values below a node that have a key. */
export function valuesOf(key: string, node: unknown): readonly unknown[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => [...(name === key ? [value] : []), ...valuesOf(key, value)])
}

/**
 * Returns a JavaScript array of expressions and functions that make their syntax trees, which V8 compiles when a rule is evaluated. Parsing them would
 * take longer than all else that `joiner validate` does. Errors: a text that is no CEL, or a constant that has no literal in JavaScript.
 */
export function parsedAheadCode(): string {
  const entries = celTexts().map((text) => `[${JSON.stringify(text)}, () => ${literalOf(parse(text).expr)}],\n`)
  return `((node, name, constant, call) => [\n${entries.join('')}])(
  (id, kind, value) => ({ id, exprKind: { case: kind, value } }),
  (id, name) => ({ id, exprKind: { case: 'identExpr', value: { name } } }),
  (id, kind, value) => ({ id, exprKind: { case: 'constExpr', value: { constantKind: { case: kind, value } } } }),
  (id, name, ...args) => ({ id, exprKind: { case: 'callExpr', value: { function: name, args } } }),
)`
}

/** Returns the schemas by which most manifests are judged, as JSON without what describes fields, by what exports them. */
export function schemaTexts(): readonly { readonly path: string; readonly name: string; readonly json: string }[] {
  const specs = [
    ['../node-pool.ts', 'nodePoolSpec', nodePoolSpec],
    ['../node-class.ts', 'nodeClassSpec', nodeClassSpec],
    ['../node-claim.ts', 'nodeClaimSpec', nodeClaimSpec],
  ] as const
  const withoutText = (key: string, value: unknown) =>
    key === 'description' && typeof value === 'string' ? undefined : value
  return specs.map(([path, name, spec]) => ({ path, name, json: JSON.stringify(jsonSchemaOf(spec), withoutText) }))
}

/** Returns JavaScript that fills `schemasAhead` of `api/rules/parsed-ahead.ts`: to write a schema as JSON takes ten times as long as to read that. */
export function schemasAheadCode(): string {
  const imports = schemaTexts().map(({ path, name }) => `import { ${name} } from '${path}'\n`)
  const entries = schemaTexts().map(({ name, json }) => `[${name}, () => JSON.parse(${JSON.stringify(json)})]`)
  return `${imports.join('')}export const schemasAhead = new Map([${entries.join()}])`
}

/** The library's planner looks at the cases of a tree's nodes and not at the names of their types. The most frequent ones have a short form. */
function literalOf(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `[${value.map(literalOf).join(',')}]`
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : JSON.stringify(value)
  if (ArrayBuffer.isView(value))
    throw new Error('a CEL rule has a constant of bytes; write deploy/parse-ahead.ts for it')
  const { $typeName: _, ...fields } = value as Readonly<Record<string, unknown>>
  if ('exprKind' in fields) return nodeOf(fields as unknown as TreeNode)
  return `{${Object.entries(fields)
    .map(([key, field]) => `${key}:${literalOf(field)}`)
    .join(',')}}`
}

interface TreeNode {
  readonly id: bigint
  readonly exprKind: { readonly case: string; readonly value: Readonly<Record<string, unknown>> }
}

function nodeOf({ id, exprKind: { case: kind, value } }: TreeNode): string {
  const { name, constantKind, function: called, args, target } = value
  const written = (maker: string, ...parts: readonly unknown[]) => `${maker}(${[id, ...parts].map(literalOf).join()})`
  if (kind === 'identExpr') return written('name', name)
  if (kind === 'callExpr' && target === undefined) return written('call', called, ...(args as readonly unknown[]))
  if (kind !== 'constExpr') return written('node', kind, value)
  const { case: type, value: constant } = constantKind as { readonly case: string; readonly value: unknown }
  return written('constant', type, constant)
}
