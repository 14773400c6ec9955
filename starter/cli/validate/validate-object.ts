import type { z } from 'zod'
import { capacityBufferSpec } from '../../../api/capacity-buffer.ts'
import { toNewest } from '../../../api/conversion/convert.ts'
import { isObject, type Json } from '../../../api/conversion/residue.ts'
import { oldNodeClaimSpec, oldNodePoolSpec } from '../../../api/conversion/v1beta1.ts'
import { nodeClaimSpec } from '../../../api/node-claim.ts'
import { nodeClassSpec } from '../../../api/node-class.ts'
import { nodeOverlaySpec } from '../../../api/node-overlay.ts'
import { nodePoolSpec } from '../../../api/node-pool.ts'
import { chartAdmission } from '../../../api/rules/chart-admission.ts'
import { judge, withoutNulls } from '../../../api/rules/schema-errors.ts'
import { blockingProblem } from '../../../core/disruption/budgets/budget-check.ts'
import { metadataErrors } from '../../../core/metadata-errors.ts'
import { type ClaimValues, claimValueErrors } from '../../../core/node-claim/values.ts'
import { kubeletErrors } from '../../../core/node-class/kubelet-conversion.ts'
import { nodeClassErrors } from '../../../core/node-class/node-class-validation.ts'
import { nodePoolFieldErrors, templateErrors } from '../../../core/node-pool/node-pool-validation.ts'
import type { Budget, NodePool } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import type { FieldError } from '../../../core/values/field-error.ts'

export type ObjectResult =
  | { readonly kind: 'skipped' }
  | {
      readonly kind: 'checked'
      readonly errors: readonly FieldError[]
      /** What cannot work or changes nothing, of an object without errors. */
      readonly warnings: readonly string[]
    }

const nodeClassVersion = 'karpenter.azure.com/v1beta1'

const schemas: Readonly<Record<string, z.ZodType>> = {
  'karpenter.sh/v1beta1 NodePool': oldNodePoolSpec,
  'karpenter.sh/v1beta1 NodeClaim': oldNodeClaimSpec,
  'karpenter.sh/v1 NodePool': nodePoolSpec,
  'karpenter.sh/v1 NodeClaim': nodeClaimSpec,
  'karpenter.sh/v1alpha1 NodeOverlay': nodeOverlaySpec,
  'karpenter.azure.com/v1beta1 AKSNodeClass': nodeClassSpec,
  'autoscaling.x-k8s.io/v1beta1 CapacityBuffer': capacityBufferSpec,
}
const ourGroups = /^(karpenter\.sh|karpenter\.azure\.com)\//

/** What the API server and then Joiner would say of a manifest. Old versions are judged as what they are and as what they become. */
export function validateObject(given: Json): ObjectResult {
  const result = validateVersion(given)
  if (result.kind === 'skipped' || result.errors.length > 0) return result
  const newest = toNewest(given)
  if (newest?.kind === 'refused') return refusedFor({ path: newest.path.split('.'), message: newest.message })
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
    return refusedFor({ path: ['apiVersion'], message })
  }
  const { errors: ofSpec, known } = judgeSpec(object, schema)
  const errors = [...metadataErrors(object['metadata']), ...ofSpec]
  if (errors.length > 0) return { kind: 'checked', errors, warnings: [] }
  const { apiVersion, kind, metadata, spec } = object
  return admitted({
    apiVersion,
    kind,
    metadata: withoutNulls(metadata),
    ...(spec === undefined || spec === null ? {} : { spec: known }),
  })
}

/** What the chart's admission policies make of an object that everything else accepts. */
function admitted(object: Json): ObjectResult {
  const { denied, warnings } = chartAdmission(object)
  return {
    kind: 'checked',
    errors: denied.map(({ policy, message }) => ({
      path: [],
      message: `ValidatingAdmissionPolicy "${policy}" denies it: ${message}`,
    })),
    warnings: warnings.map(({ message }) => message),
  }
}

const refusedFor = (error: FieldError): ObjectResult => ({ kind: 'checked', errors: [error], warnings: [] })

/** `known`: the spec that the API server would store. */
function judgeSpec(
  object: Json,
  schema: z.ZodType,
): { readonly errors: readonly FieldError[]; readonly known?: unknown } {
  const given = withoutNulls(object['spec'] ?? (object['kind'] === 'AKSNodeClass' ? {} : undefined))
  const { errors: refusals, known } = judge(schema, given, ['spec'])
  const errors = [...unknownFields(given, known, ['spec']), ...refusals]
  // What the CRD refuses, no controller ever sees.
  return { errors: errors.length > 0 ? errors : runtimeErrors(object, known as Json), known }
}

/** kubectl refuses fields that the schema does not know; most are misspelt. */
function unknownFields(given: unknown, known: unknown, path: readonly (string | number)[]): FieldError[] {
  if (Array.isArray(given) && Array.isArray(known))
    return given.flatMap((element, index) => unknownFields(element, known[index], [...path, index]))
  if (!isObject(given) || !isObject(known)) return []
  return Object.entries(given).flatMap(([key, value]) =>
    Object.hasOwn(known, key)
      ? unknownFields(value, known[key], [...path, key])
      : [{ path: [...path, key], message: 'is not a field of this object' }],
  )
}

/** What controllers and nodes refuse of an object that the API server takes. */
function runtimeErrors({ apiVersion, kind, metadata }: Json, spec: Json): readonly FieldError[] {
  const name = nameOf(metadata)
  if (apiVersion === nodeClassVersion && kind === 'AKSNodeClass') return nodeClassErrors(name, spec)
  if (apiVersion !== 'karpenter.sh/v1') return []
  const none = { taints: [], startupTaints: [], requirements: [] }
  if (kind === 'NodeClaim')
    return claimValueErrors({ metadata: { name }, spec: { ...none, ...(spec as unknown as ClaimValues['spec']) } })
  if (kind !== 'NodePool' || !isObject(spec['template'])) return []
  const { metadata: own = {}, spec: node } = spec['template'] as {
    readonly metadata?: Partial<Pick<NodePool['template'], 'labels' | 'annotations'>>
    readonly spec: Partial<NodePool['template']['spec']>
  }
  const template = { labels: {}, annotations: {}, ...own, spec: { ...none, ...node } as NodePool['template']['spec'] }
  const annotations = isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {}
  return [
    ...templateFieldErrors(template),
    ...nodePoolFieldErrors(name, template),
    ...budgetErrors(spec),
    // Each of them names the annotation itself.
    ...kubeletErrors(annotations as Record<string, string>).map((message) => ({ path: [], message })),
    ...(spec['replicas'] === undefined
      ? []
      : [{ path: ['spec', 'replicas'], message: 'static NodePools are not supported yet; remove it' }]),
  ]
}

/** Budgets that block all disruption, since nobody can tell what they mean. */
function budgetErrors({ disruption }: Json): readonly FieldError[] {
  const budgets = isObject(disruption) ? ((disruption['budgets'] ?? []) as readonly Budget[]) : []
  return budgets.flatMap((budget, index) => {
    const message = blockingProblem(budget)
    return message === undefined ? [] : [{ path: ['spec', 'disruption', 'budgets', index], message }]
  })
}

/** Never fails, as `String` would on a map with a key such as `toString`. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** The name, or one such as the API server makes of a prefix. */
function nameOf(metadata: unknown): string {
  if (!isObject(metadata)) return ''
  const { name, generateName } = metadata
  return typeof name === 'string' ? name : `${textOf(generateName)}xxxxx`
}

/** Upstream's checks of a template part by part, so that each error has its place. */
function templateFieldErrors(template: NodePool['template']): readonly FieldError[] {
  const { nodeClassRef, taints, startupTaints, requirements } = template.spec
  const check = (part: Partial<NodePool['template']['spec']>, path: FieldError['path'], labels = {}) =>
    templateErrors(
      {
        labels,
        annotations: {},
        spec: { taints: [], startupTaints: [], requirements: [], nodeClassRef, ...part },
      },
      wellKnownLabels,
    ).map((message) => ({ path: ['spec', 'template', ...path], message }))
  return [
    ...Object.entries(template.labels).flatMap(([key, value]) =>
      check({}, ['metadata', 'labels', key], { [key]: value }),
    ),
    ...check({ taints, startupTaints }, ['spec', 'taints']),
    ...requirements.flatMap((entry, index) => check({ requirements: [entry] }, ['spec', 'requirements', index])),
  ]
}
