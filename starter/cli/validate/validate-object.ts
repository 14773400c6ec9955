import type { z } from 'zod'
import { tagErrors } from '../../../activities/azure/node-class/tag-errors.ts'
import { capacityBufferSpec } from '../../../api/capacity-buffer.ts'
import { toNewest } from '../../../api/conversion/convert.ts'
import type { Json } from '../../../api/conversion/residue.ts'
import { oldNodeClaimSpec, oldNodePoolSpec } from '../../../api/conversion/v1beta1.ts'
import { nodeClaimSpec } from '../../../api/node-claim.ts'
import { nodeClassSpec } from '../../../api/node-class.ts'
import { nodeOverlaySpec } from '../../../api/node-overlay.ts'
import { nodePoolSpec } from '../../../api/node-pool.ts'
import type { Admission } from '../../../api/rules/admission.ts'
import { chartAdmission } from '../../../api/rules/chart-admission.ts'
import { withRemedy } from '../../../api/rules/remedies.ts'
import { judge, withoutNulls } from '../../../api/rules/schema-errors.ts'
import { unknownFields } from '../../../api/rules/unknown-fields.ts'
import type { Served } from '../../../api/served.ts'
import { blockingProblem } from '../../../core/disruption/budgets/budget-check.ts'
import { metadataErrors } from '../../../core/metadata-errors.ts'
import { claimValueErrors } from '../../../core/node-claim/values.ts'
import { kubeletErrors } from '../../../core/node-class/kubelet-conversion.ts'
import { nodeClassErrors } from '../../../core/node-class/node-class-validation.ts'
import { nodePoolFieldErrors, templateErrors } from '../../../core/node-pool/node-pool-validation.ts'
import type { Budget, NodePool } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import type { FieldError } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { entryOf } from '../../../core/values/records.ts'
import { textOf } from '../../../core/values/texts.ts'

export type ObjectResult =
  | { readonly kind: 'skipped'; readonly remark?: string }
  | {
      readonly kind: 'checked'
      readonly errors: readonly FieldError[]
      /** What cannot work or changes nothing, and is no error. */
      readonly warnings: readonly string[]
    }

type Texts = Readonly<Record<string, string>>

const nodeClassGroup = 'karpenter.azure.com'
const nodeClassVersion = `${nodeClassGroup}/v1beta1`

/** Objects of one kind and version: what the API server takes, and what controllers and nodes refuse of that. */
interface Kind {
  readonly schema: z.ZodType
  readonly runtimeErrors: (spec: never, name: string, annotations: Texts) => readonly FieldError[]
}

function kind<Schema extends z.ZodType>(
  schema: Schema,
  runtimeErrors: (spec: Served<Schema>, name: string, annotations: Texts) => readonly FieldError[] = () => [],
): Kind {
  return { schema, runtimeErrors }
}

const kinds: Readonly<Record<string, Kind>> = {
  'karpenter.sh/v1beta1 NodePool': kind(oldNodePoolSpec),
  'karpenter.sh/v1beta1 NodeClaim': kind(oldNodeClaimSpec),
  'karpenter.sh/v1 NodePool': kind(nodePoolSpec, poolErrors),
  'karpenter.sh/v1 NodeClaim': kind(nodeClaimSpec, (spec, name, annotations) =>
    claimValueErrors({ metadata: { name, annotations }, spec: { taints: [], startupTaints: [], ...spec } }),
  ),
  'karpenter.sh/v1alpha1 NodeOverlay': kind(nodeOverlaySpec),
  'karpenter.azure.com/v1beta1 AKSNodeClass': kind(nodeClassSpec, (spec, name) => [
    ...nodeClassErrors(name, spec),
    ...tagErrors({ additionalTags: {} }, spec),
  ]),
  'autoscaling.x-k8s.io/v1beta1 CapacityBuffer': kind(capacityBufferSpec),
}

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
  const known = entryOf(kinds, name)
  if (known === undefined) return ofUnknownKind(name)
  const { errors: ofSpec, spec: stored } = judgeSpec(object, { kind: name, ...known })
  const { denied, warnings } = policiesOn(object, stored)
  const errors = [
    ...metadataErrors(object['metadata']),
    ...ofSpec,
    ...denied.map(({ policy, message }) => ({
      path: [],
      message: `ValidatingAdmissionPolicy "${policy}" denies it: ${message}`,
    })),
  ]
  return { kind: 'checked', errors, warnings: warnings.map(({ message }) => message) }
}

/** Entries of lists that policies look at in a spec that was refused. They compare lists with each other: thousands take minutes. */
const mostEntries = 1000

/** Policies judge what they can of an object that is refused (`stored`: undefined), so that its author corrects all of it at once. */
function policiesOn({ apiVersion, kind, metadata, spec }: Json, stored: unknown): Admission {
  if (stored === undefined && entriesIn(spec) > mostEntries) return { denied: [], warnings: [] }
  return chartAdmission({
    apiVersion,
    kind,
    metadata: withoutNulls(metadata),
    ...(spec === undefined || spec === null ? {} : { spec: stored ?? withoutNulls(spec) }),
  })
}

function entriesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>(
    (sum, one) => sum + entriesIn(one),
    Array.isArray(value) ? value.length : 0,
  )
}

/** What an object of a kind or version is taken for that is not checked. `name`: with the version. */
function ofUnknownKind(name: string): ObjectResult {
  const [, group = '', , kind = ''] = /^([^/ ]+)(\/[^ ]+)? (.+)$/.exec(name) ?? []
  if (/NodeClass$|NodeTemplate$/.test(kind) && group !== 'karpenter.sh' && group !== nodeClassGroup)
    return {
      kind: 'skipped',
      remark: 'it configures nodes of another provider; for nodes of AKS write an AKSNodeClass',
    }
  if (group !== 'karpenter.sh' && group !== nodeClassGroup) return { kind: 'skipped' }
  const known = Object.keys(kinds).filter((one) => one.split(' ')[1]?.toLowerCase() === kind.toLowerCase())
  const remedy =
    kind === 'Provisioner'
      ? 'write a NodePool of karpenter.sh/v1 in its place'
      : `write ${(known.length > 0 ? known.slice(-1) : Object.keys(kinds)).map((one) => one.replace(' ', ' and kind ')).join(', or ')}`
  return refusedFor({ path: ['apiVersion'], message: `there is no "${name}"; ${remedy}` })
}

const refusedFor = (error: FieldError): ObjectResult => ({ kind: 'checked', errors: [error], warnings: [] })

/** `spec`: the spec that the API server would store. */
function judgeSpec(
  object: Json,
  { kind, schema, runtimeErrors }: Kind & { readonly kind: string },
): { readonly errors: readonly FieldError[]; readonly spec?: unknown } {
  const given = withoutNulls(object['spec'] ?? (object['kind'] === 'AKSNodeClass' ? {} : undefined))
  const { errors: refusals, known } = judge(schema, given, ['spec'])
  const unknown = unknownFields({ kind, schema }, given)
  // What the CRD refuses, no controller ever sees.
  if (refusals.length > 0)
    return { errors: [...unknown, ...refusals.map((one) => withRemedy(kind, { spec: given }, one))], spec: known }
  const { metadata } = object
  return {
    errors: [...unknown, ...runtimeErrors(known as never, nameOf(metadata), annotationsOf(metadata))],
    spec: known,
  }
}

/** Those that are strings: the others are errors of the metadata. */
function annotationsOf(metadata: unknown): Texts {
  const given = isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {}
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** What Joiner refuses of a NodePool that the API server takes. */
function poolErrors(
  { template: given, disruption }: Served<typeof nodePoolSpec>,
  name: string,
  annotations: Texts,
): readonly FieldError[] {
  const { labels = {}, annotations: own = {} } = given.metadata ?? {}
  const template = { labels, annotations: own, spec: { taints: [], startupTaints: [], ...given.spec } }
  return [
    ...templateFieldErrors(template),
    ...nodePoolFieldErrors(name, template),
    ...budgetErrors(disruption.budgets),
    // Each of them names the annotation itself.
    ...kubeletErrors(annotations).map((message) => ({ path: [], message })),
  ]
}

/** Budgets that block all disruption, since their meaning is unknown. */
function budgetErrors(budgets: readonly Budget[]): readonly FieldError[] {
  return budgets.flatMap((budget, index) => {
    const message = blockingProblem(budget)
    return message === undefined ? [] : [{ path: ['spec', 'disruption', 'budgets', index], message }]
  })
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
      { labels, annotations: {}, spec: { taints: [], startupTaints: [], requirements: [], nodeClassRef, ...part } },
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
