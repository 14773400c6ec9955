import { isObject } from '../../core/values/json.ts'
import { textOf } from '../../core/values/texts.ts'
import { annotationsOf, mapObject, newNodeSpec, nodeClassAnnotation, oldNodeSpec, withAnnotations } from './fields.ts'
import { newNodePool, oldNodePool } from './node-pool.ts'
import { applied, changes, type Groups, type Json, readChanges, without } from './residue.ts'

/** On a v1beta1 object: v1 fields that v1beta1 does not have. */
const newResidue = 'joiner.sh/v1-fields'
/** On a v1 object: v1beta1 fields that v1 does not have, except those for which upstream has annotations. */
const oldResidue = 'joiner.sh/v1beta1-fields'

const group = 'karpenter.sh'
const versions = ['v1', 'v1beta1'] as const
type Version = (typeof versions)[number]

type Change = (object: Json) => Json
const kinds: Readonly<Record<string, Readonly<Record<Version, Change>>>> = {
  NodePool: { v1: newNodePool, v1beta1: oldNodePool },
  NodeClaim: { v1: newNodeClaim, v1beta1: oldNodeClaim },
}

const groups: readonly Groups[] = [{ at: 'spec.disruption', keys: ['consolidationPolicy', 'consolidateAfter'] }]

export type Conversion =
  | { readonly kind: 'converted'; readonly object: Json }
  | { readonly kind: 'refused'; readonly path: string; readonly message: string }

/**
 * Converts a NodePool or NodeClaim to an API version. Fields that the version does not have go into annotations, so that converting back gives the
 * same object. A field that was changed in between keeps the change. In the metadata only annotations change.
 */
export function convert(object: unknown, wanted: string): Conversion {
  const checked = check(object, wanted)
  if (checked.kind === 'refused') return checked
  const { source, change, back, target } = checked
  if (source['apiVersion'] === wanted) return { kind: 'converted', object: source }
  const [carried, carry] = target === 'v1' ? [newResidue, oldResidue] : [oldResidue, newResidue]
  const bare = withAnnotations(source, without(annotationsOf(source), newResidue, oldResidue))
  const plain = { ...applied(change(bare), readChanges(annotationsOf(source)[carried])), apiVersion: wanted }
  const returned = { ...back(plain), apiVersion: source['apiVersion'] }
  const lost = changes(returned, bare, groups)
  if (lost.length === 0) return { kind: 'converted', object: plain }
  return {
    kind: 'converted',
    object: withAnnotations(plain, { ...annotationsOf(plain), [carry]: JSON.stringify(lost) }),
  }
}

/**
 * Returns the newest form of a manifest without annotations for converting back. Undefined for the newest version, and for objects that are not
 * Karpenter's.
 */
export function toNewest(object: Json): Conversion | undefined {
  const { apiVersion, kind } = object
  if (kind === 'AKSNodeClass' && apiVersion === 'karpenter.azure.com/v1alpha2')
    return { kind: 'converted', object: { ...object, apiVersion: 'karpenter.azure.com/v1beta1' } }
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind) || apiVersion !== `${group}/v1beta1`) return undefined
  const conversion = convert(object, `${group}/v1`)
  if (conversion.kind === 'refused') return conversion
  const annotations = without(annotationsOf(conversion.object), oldResidue, nodeClassAnnotation)
  return { kind: 'converted', object: withAnnotations(conversion.object, annotations) }
}

type Checked =
  | {
      readonly kind: 'checked'
      readonly source: Json
      readonly change: Change
      readonly back: Change
      readonly target: Version
    }
  | Extract<Conversion, { kind: 'refused' }>

function check(object: unknown, wanted: string): Checked {
  const refused = (path: string, message: string) => ({ kind: 'refused', path, message }) as const
  if (!isObject(object)) return refused('', 'is not an object')
  const kind = textOf(object['kind'])
  const changers = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (changers === undefined) return refused('kind', `"${kind}" is not converted; NodePool and NodeClaim are`)
  const names: readonly string[] = versions.map((version) => `${group}/${version}`)
  const from = textOf(object['apiVersion'])
  if (!names.includes(from)) return refused('apiVersion', `"${from}" is not known; use ${names.join(' or ')}`)
  if (!names.includes(wanted)) return refused('apiVersion', `there is no "${wanted}"; use ${names.join(' or ')}`)
  for (const path of shapes[kind] ?? []) {
    const value = path.split('.').reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), object)
    if (value !== undefined && !isObject(value)) return refused(path, 'is not an object')
  }
  const target: Version = wanted === `${group}/v1` ? 'v1' : 'v1beta1'
  const other: Version = target === 'v1' ? 'v1beta1' : 'v1'
  return { kind: 'checked', source: object, change: changers[target], back: changers[other], target }
}

const shapes: Readonly<Record<string, readonly string[]>> = {
  NodePool: [
    'metadata',
    'metadata.annotations',
    'spec',
    'spec.disruption',
    'spec.template',
    'spec.template.spec',
    'spec.template.spec.nodeClassRef',
    'spec.template.spec.kubelet',
    'status',
  ],
  NodeClaim: ['metadata', 'metadata.annotations', 'spec', 'spec.nodeClassRef', 'spec.kubelet', 'status'],
}

/**
 * Returns a v1beta1 NodeClaim in v1. In v1beta1 only the pool held the age of replacement. v1's default could end a node whose pool says `Never`, so
 * it is `Never`.
 */
function newNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = newNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations({ ...claim, spec: { ...spec, expireAfter: 'Never' } }, annotations)
}

/** Returns a v1 NodeClaim in v1beta1, without the fields that v1beta1 does not have. */
function oldNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = oldNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations(
    mapObject({ ...claim, spec }, 'status', (status) => without(status, 'lastPodEventTime')),
    annotations,
  )
}
