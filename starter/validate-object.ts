import { z } from 'zod'
import { capacityBufferSpec } from '../api/capacity-buffer.ts'
import { toNewest } from '../api/conversion/convert.ts'
import { isObject, type Json } from '../api/conversion/residue.ts'
import { oldNodeClaimSpec, oldNodePoolSpec } from '../api/conversion/v1beta1.ts'
import { type CrdExtensions, crdExtensions } from '../api/fields.ts'
import { nodeClaimSpec } from '../api/node-claim.ts'
import { nodeClassSpec } from '../api/node-class.ts'
import { nodeOverlaySpec } from '../api/node-overlay.ts'
import { nodePoolSpec } from '../api/node-pool.ts'
import { blockingProblem } from '../core/disruption/budget-check.ts'
import { wellKnownLabels } from '../core/labels.ts'
import { templateErrors } from '../core/node-pool-validation.ts'
import type { Budget, NodePool, RequirementSpec, Taint } from '../core/objects.ts'
import { compileCel } from './validate-cel.ts'

export interface Finding {
  readonly path: readonly (string | number)[]
  readonly message: string
}

export type ObjectResult =
  | { readonly kind: 'skipped' }
  | { readonly kind: 'checked'; readonly errors: readonly Finding[] }

const nodeClassVersion = 'karpenter.azure.com/v1beta1'

type Quantities = readonly string[]
const schemas: Readonly<Record<string, { readonly spec: z.ZodType; readonly quantities: Quantities }>> = {
  'karpenter.sh/v1beta1 NodePool': { spec: oldNodePoolSpec, quantities: ['limits'] },
  'karpenter.sh/v1beta1 NodeClaim': { spec: oldNodeClaimSpec, quantities: ['resources', 'requests'] },
  'karpenter.sh/v1 NodePool': { spec: nodePoolSpec, quantities: ['limits'] },
  'karpenter.sh/v1 NodeClaim': { spec: nodeClaimSpec, quantities: ['resources', 'requests'] },
  'karpenter.sh/v1alpha1 NodeOverlay': { spec: nodeOverlaySpec, quantities: ['capacity'] },
  'karpenter.azure.com/v1beta1 AKSNodeClass': { spec: nodeClassSpec, quantities: [] },
  'autoscaling.x-k8s.io/v1beta1 CapacityBuffer': { spec: capacityBufferSpec, quantities: ['limits'] },
}
const ourGroups = /^(karpenter\.sh|karpenter\.azure\.com)\//

/** What the API server and then Joiner would say of a manifest. Old versions are judged as what they are and as what they become. */
export function validateObject(given: Json): ObjectResult {
  const result = validateVersion(given)
  if (result.kind === 'skipped' || result.errors.length > 0) return result
  const newest = toNewest(given)
  if (newest?.kind === 'refused')
    return { kind: 'checked', errors: [{ path: newest.path.split('.'), message: newest.message }] }
  return newest === undefined ? result : validateVersion(newest.object)
}

function validateVersion(given: Json): ObjectResult {
  const object =
    given['apiVersion'] === 'karpenter.azure.com/v1alpha2' ? { ...given, apiVersion: nodeClassVersion } : given
  const name = `${textOf(object['apiVersion'])} ${textOf(object['kind'])}`
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (schema === undefined) {
    if (!ourGroups.test(name)) return { kind: 'skipped' }
    const message = `"${name}" is not known; there are ${Object.keys(schemas).join(', ')}`
    return { kind: 'checked', errors: [{ path: ['apiVersion'], message }] }
  }
  const errors = [...metadataErrors(object['metadata']), ...specErrors(object, schema.spec, schema.quantities)]
  return { kind: 'checked', errors }
}

/** Never fails, as `String` would on a map with a key such as `toString`. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function metadataErrors(metadata: unknown): Finding[] {
  const name = isObject(metadata) ? (metadata['name'] ?? metadata['generateName']) : undefined
  if (typeof name !== 'string') return [{ path: ['metadata', 'name'], message: 'is missing' }]
  if (/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && name.length <= 253) return []
  const message = `"${name}" is not a name; use lower case letters, digits, "-" and "."`
  return [{ path: ['metadata', 'name'], message }]
}

function specErrors(object: Json, schema: z.ZodType, quantities: Quantities): Finding[] {
  const spec = object['spec'] ?? (object['kind'] === 'AKSNodeClass' ? {} : undefined)
  const given = withoutNulls(quantities.length === 0 ? spec : withTexts(spec, quantities))
  const parsed = schema.safeParse(given)
  if (!parsed.success)
    return parsed.error.issues.map(({ path, message }) => ({ path: ['spec', ...path] as (string | number)[], message }))
  const errors = [...unknownFields(given, parsed.data, ['spec']), ...ruleErrors(rulesOf(schema), parsed.data, ['spec'])]
  // What the CRD refuses, no controller ever sees.
  return errors.length > 0 ? errors : runtimeErrors(object, parsed.data as Json)
}

/** To the API server a null is a field that is not there. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}

/** A quantity may be written as a number. */
function withTexts(value: unknown, [key, ...rest]: Quantities): unknown {
  if (!isObject(value)) return value
  if (key !== undefined) return Object.hasOwn(value, key) ? { ...value, [key]: withTexts(value[key], rest) } : value
  const text = (amount: unknown) => (Number.isInteger(amount) ? String(amount) : amount)
  return Object.fromEntries(Object.entries(value).map(([name, amount]) => [name, text(amount)]))
}

/** kubectl refuses fields that the schema does not know; most are misspelt. */
function unknownFields(given: unknown, known: unknown, path: readonly (string | number)[]): Finding[] {
  if (Array.isArray(given) && Array.isArray(known))
    return given.flatMap((element, index) => unknownFields(element, known[index], [...path, index]))
  if (!isObject(given) || !isObject(known)) return []
  return Object.entries(given).flatMap(([key, value]) =>
    Object.hasOwn(known, key)
      ? unknownFields(value, known[key], [...path, key])
      : [{ path: [...path, key], message: 'is not a field of this object' }],
  )
}

const knownRules = new Map<z.ZodType, object>()

/** The schema as JSON, with what CRDs have beside it. A file may hold thousands of objects. */
function rulesOf(schema: z.ZodType): object {
  const known = knownRules.get(schema)
  if (known !== undefined) return known
  const rules = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', override: withRules })
  knownRules.set(schema, rules)
  return rules
}

function withRules({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: object }): void {
  const extensions = crdExtensions.get(zodSchema as z.ZodType)
  if (extensions !== undefined) (jsonSchema as Record<string, unknown>)['x-extensions'] = extensions
}

/** What zod does not check by itself. Of the CEL rules those about changes are left out: there is no earlier object here. */
function ruleErrors(schema: unknown, value: unknown, path: readonly (string | number)[]): Finding[] {
  if (!isObject(schema) || value === undefined) return []
  const own = [...celErrors(schema, value), ...boundErrors(schema, value)].map((message) => ({ path, message }))
  const { properties, items, additionalProperties, allOf } = schema
  const parts = Array.isArray(allOf) ? allOf.flatMap((part: unknown) => ruleErrors(part, value, path)) : []
  if (Array.isArray(value))
    return [
      ...own,
      ...parts,
      ...value.flatMap((element: unknown, index) => ruleErrors(items, element, [...path, index])),
    ]
  if (!isObject(value)) return [...own, ...parts]
  const inner = Object.entries(value).flatMap(([key, field]) =>
    ruleErrors(isObject(properties) ? properties[key] : additionalProperties, field, [...path, key]),
  )
  return [...own, ...parts, ...inner]
}

function celErrors(schema: Json, value: unknown): readonly string[] {
  const { cel = [] } = (schema['x-extensions'] ?? {}) as CrdExtensions
  return cel.filter(({ rule }) => !rule.includes('oldSelf') && !compileCel(rule)(value)).map(({ message }) => message)
}

function boundErrors(schema: Json, value: unknown): readonly string[] {
  const { listType, listMapKeys = [] } = (schema['x-extensions'] ?? {}) as CrdExtensions
  const most = schema['maxProperties']
  if (isObject(value) && typeof most === 'number' && Object.keys(value).length > most)
    return [`must have at most ${most} entries`]
  if (schema['format'] === 'date-time' && Number.isNaN(Date.parse(textOf(value))))
    return [`"${textOf(value)}" is not a time such as 2026-01-31T12:00:00Z`]
  // Zod checks its own patterns; this is one that only Go's syntax can write.
  const { pattern } = schema
  if (
    typeof pattern === 'string' &&
    pattern.startsWith('(?i)') &&
    !new RegExp(pattern.slice(4), 'i').test(textOf(value))
  )
    return [`"${textOf(value)}" does not match ${pattern}`]
  if (!Array.isArray(value) || (listType !== 'set' && listType !== 'map')) return []
  const seen = new Set<string>()
  const twice = value
    .map((entry: unknown) =>
      JSON.stringify(listType === 'map' && isObject(entry) ? listMapKeys.map((key) => entry[key]) : entry),
    )
    .find((key) => seen.has(key) || !seen.add(key))
  return twice === undefined ? [] : [`has ${twice} more than once`]
}

/** Budgets that block all disruption, since nobody can tell what they mean. */
function budgetErrors({ disruption }: Json): Finding[] {
  const budgets = isObject(disruption) ? ((disruption['budgets'] ?? []) as readonly Budget[]) : []
  return budgets.flatMap((budget, index) => {
    const message = blockingProblem(budget)
    return message === undefined ? [] : [{ path: ['spec', 'disruption', 'budgets', index], message }]
  })
}

/** The checks after admission, part by part, so that each has its place. */
function runtimeErrors({ apiVersion, kind }: Json, spec: Json): Finding[] {
  if (apiVersion !== 'karpenter.sh/v1' || (kind !== 'NodePool' && kind !== 'NodeClaim')) return []
  const template = kind === 'NodePool' && isObject(spec['template']) ? spec['template'] : { spec }
  const prefix = kind === 'NodePool' ? ['spec', 'template'] : []
  const node = template['spec'] as {
    readonly taints?: readonly Taint[]
    readonly startupTaints?: readonly Taint[]
    readonly requirements: readonly RequirementSpec[]
    readonly nodeClassRef: NodePool['template']['spec']['nodeClassRef']
  }
  const labels = (isObject(template['metadata']) ? (template['metadata']['labels'] ?? {}) : {}) as Record<
    string,
    string
  >
  const check = (part: Partial<NodePool['template']['spec']>, path: readonly (string | number)[], some = {}) =>
    templateErrors(
      {
        labels: some,
        annotations: {},
        spec: { taints: [], startupTaints: [], requirements: [], nodeClassRef: node.nodeClassRef, ...part },
      },
      wellKnownLabels,
    ).map((message) => ({ path: [...prefix, ...path], message }))
  return [
    ...Object.entries(labels).flatMap(([key, value]) => check({}, ['metadata', 'labels', key], { [key]: value })),
    ...check({ taints: node.taints ?? [], startupTaints: node.startupTaints ?? [] }, ['spec', 'taints']),
    ...node.requirements.flatMap((entry, index) =>
      kind === 'NodeClaim' && entry.key === 'karpenter.sh/nodepool'
        ? []
        : check({ requirements: [entry] }, ['spec', 'requirements', index]),
    ),
    ...budgetErrors(spec),
    ...(spec['replicas'] === undefined || kind !== 'NodePool'
      ? []
      : [{ path: ['spec', 'replicas'], message: 'static NodePools are not supported yet; remove it' }]),
  ]
}
