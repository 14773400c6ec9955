import { isObject } from '../../core/values/json.ts'
import type { Json } from './residue.ts'

/** A field that one version alone has, or has with this value. */
interface Mark {
  readonly path: string
  readonly value?: string
}

const policy = 'spec.disruption.consolidationPolicy'

const marks: Readonly<Record<string, readonly Mark[]>> = {
  'karpenter.sh/v1beta1': [
    { path: 'spec.disruption.expireAfter' },
    { path: policy, value: 'WhenUnderutilized' },
    { path: 'spec.template.spec.kubelet' },
    { path: 'spec.template.spec.nodeClassRef.apiVersion' },
  ],
  'karpenter.sh/v1': [
    { path: 'spec.replicas' },
    { path: policy, value: 'WhenEmptyOrUnderutilized' },
    { path: policy, value: 'Balanced' },
    { path: 'spec.template.spec.expireAfter' },
    { path: 'spec.template.spec.terminationGracePeriod' },
    { path: 'spec.template.spec.nodeClassRef.group' },
  ],
}

const reference = 'spec.template.spec.nodeClassRef'

/** v1 requires group and kind. */
function isNamedAlone(object: Json): boolean {
  const found = at(object, reference)
  return isObject(found) && found['group'] === undefined && found['kind'] === undefined
}

function at(object: Json, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), object)
}

/** The fields of a NodePool that are of another version than its own. */
export interface MixedVersions {
  readonly own: string
  readonly other: string
  /** Paths, with the value where that is what the other version has. */
  readonly fields: readonly string[]
}

/** Returns the fields of a NodePool of v1 or v1beta1 that the other of both has; undefined: it has none, or is none. */
export function mixedVersions(object: Json): MixedVersions | undefined {
  const { apiVersion: own, kind } = object
  const other = own === 'karpenter.sh/v1' ? 'karpenter.sh/v1beta1' : 'karpenter.sh/v1'
  if (kind !== 'NodePool' || typeof own !== 'string' || !Object.hasOwn(marks, own)) return undefined
  const fields = (marks[other] ?? []).flatMap(({ path, value }) => {
    const found = at(object, path)
    if (found === undefined || found === null || (value !== undefined && found !== value)) return []
    return [value === undefined ? path : `${path} ${value}`]
  })
  if (other === 'karpenter.sh/v1beta1' && fields.length === 0 && isNamedAlone(object))
    fields.push(`${reference} of a name alone`)
  return fields.length === 0 ? undefined : { own, other, fields }
}
