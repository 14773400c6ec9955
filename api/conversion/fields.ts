// Conversion of the fields that NodePools and NodeClaims share.
import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { isObject } from '../../core/values/json.ts'
import { isEqual, type Json, parsed, without } from './residue.ts'

/** Annotation in which upstream keeps a v1beta1 `nodeClassRef` as written. */
export const nodeClassAnnotation = 'compatibility.karpenter.sh/v1beta1-nodeclass-reference'

const defaultGroup = 'karpenter.azure.com'
const defaultKind = 'AKSNodeClass'

/** Calls the function on the value of the key, if it has that shape. */
export function mapObject(object: Json, key: string, change: (value: Json) => Json): Json {
  const value = object[key]
  return isObject(value) ? { ...object, [key]: change(value) } : object
}

export function mapList(object: Json, key: string, change: (value: Json) => Json): Json {
  const value = object[key]
  if (!Array.isArray(value)) return object
  return { ...object, [key]: value.map((element: unknown) => (isObject(element) ? change(element) : element)) }
}

export function annotationsOf(object: Json): Json {
  const metadata = object['metadata']
  return isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {}
}

/** Returns the object with these annotations, and without the field when there are none. */
export function withAnnotations(object: Json, annotations: Json): Json {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const rest = without(metadata, 'annotations')
  return { ...object, metadata: Object.keys(annotations).length === 0 ? rest : { ...rest, annotations } }
}

/** A `name` alone means the AKSNodeClass of that name. */
function newReference(reference: Json): Json {
  const { kind, apiVersion } = reference
  const group = typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion.split('/')[0] : defaultGroup
  const { name } = reference
  return {
    group,
    kind: kind === undefined || kind === '' ? defaultKind : kind,
    ...(name === undefined ? {} : { name }),
  }
}

function oldReference({ group, kind, name }: Json): Json {
  return { apiVersion: `${typeof group === 'string' ? group : 'undefined'}/v1beta1`, kind, name }
}

interface Converted {
  readonly spec: Json
  readonly annotations: Json
}

/** Returns the spec of a v1beta1 template or NodeClaim in v1, and the annotations for fields that v1 does not have. */
export function newNodeSpec(spec: Json, annotations: Json): Converted {
  const { kubelet, nodeClassRef } = spec
  const reference = isObject(nodeClassRef) ? newReference(nodeClassRef) : undefined
  const isPlain = reference === undefined || isEqual(oldReference(reference), nodeClassRef)
  return {
    spec: { ...without(spec, 'kubelet'), ...(reference === undefined ? {} : { nodeClassRef: reference }) },
    annotations: {
      ...annotations,
      ...(kubelet === undefined ? {} : { [kubeletAnnotation]: JSON.stringify(kubelet) }),
      ...(isPlain ? {} : { [nodeClassAnnotation]: JSON.stringify(nodeClassRef) }),
    },
  }
}

/** Converts back. An annotation about another node class than the spec's is out of date and stays unchanged. */
export function oldNodeSpec(spec: Json, annotations: Json): Converted {
  const kubelet = parsed(annotations[kubeletAnnotation])
  const { nodeClassRef } = spec
  const written = parsed(annotations[nodeClassAnnotation])
  const plain = isObject(nodeClassRef) ? oldReference(nodeClassRef) : undefined
  const isWritten = isObject(written) && !isEqual(written, plain) && isEqual(newReference(written), nodeClassRef)
  return {
    spec: {
      ...mapList(without(spec, 'terminationGracePeriod', 'expireAfter'), 'requirements', oldRequirement),
      ...(plain === undefined ? {} : { nodeClassRef: isWritten ? written : plain }),
      ...(isObject(kubelet) ? { kubelet } : {}),
    },
    annotations: without(
      annotations,
      ...(isObject(kubelet) ? [kubeletAnnotation] : []),
      ...(isWritten ? [nodeClassAnnotation] : []),
    ),
  }
}

/** v1beta1 does not have Gte and Lte; for whole numbers Gt and Lt are equivalent. */
function oldRequirement(entry: Json): Json {
  const { operator, values } = entry
  if (operator !== 'Gte' && operator !== 'Lte') return entry
  const [text] = Array.isArray(values) ? values : []
  if (typeof text !== 'string' || !/^[0-9]+$/.test(text)) return entry
  const bound = BigInt(text)
  if (operator === 'Lte') return { ...entry, operator: 'Lt', values: [String(bound + 1n)] }
  // No number is below 0, and v1beta1 accepts no negative bound.
  if (bound === 0n) return { ...without(entry, 'values'), operator: 'Exists' }
  return { ...entry, operator: 'Gt', values: [String(bound - 1n)] }
}
